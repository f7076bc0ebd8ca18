// Package dwarf says what places and names mean in one ELF module: addresses of
// functions and source lines, variables in scope at an address and where their
// values are, types, call frame information.
//
// The reader is lazy: the sections stay in the memory map, a unit is looked at
// when an address or a name needs it. Nothing in a file can make it panic or
// loop: every read is bounds-checked (cursor), every recursion is bounded, and
// the exported methods recover in one place (guard) should that be wrong.
//
// Where places and prologues are concerned the rules are those of GDB 13, so
// that `jalon trace f` and GDB's `break f` mean the same addresses.
//
// The packages below it each read one kind of data, given as bytes: raw (numbers,
// attribute forms), line (line tables), loc (location lists and expressions), frame
// (call frames), index (which unit has a name, a source file, an address).
//
// Files: abbrev, unit, die: entries. lines, prologue, site*: places. block, scope,
// vars: variables. types*: C types. frames, lsda: call frames. rseq: where no patch
// may go. index*, cache: the index is made, and kept under $XDG_CACHE_HOME/jalon
// between runs if the file is large. module: Module and the parts that it is made of.
// object, info: what all parts read.
//
// Import rule: dwarf imports ctype, debuginfo, debuginfo/elf and the packages below it only.
package dwarf
