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
// Files: abbrev, unit, die: the raw format (numbers and forms: package raw). line*, prologue,
// site*: places. block, scope, vars, loc*: variables. types*: C types. cfi*:
// call frames. lsda, rseq: where no patch may go. module: the public face.
//
// index*, cache: which unit has a name, a source file, an address. The index of a
// large file is kept under $XDG_CACHE_HOME/jalon between runs.
//
// Import rule: dwarf imports ctype, debuginfo, debuginfo/elf and the packages below it only.
package dwarf
