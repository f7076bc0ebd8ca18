// Package line reads DWARF line tables. Of a unit's line number program it makes
// what GDB 13 makes: a table for each source file, so that places resolve to the same
// addresses.
//
// ParseHeader reads the header with its table of files, New runs the program,
// Table.Find gives the line of a pc, Source.Statements the addresses of a line. The
// number of rows kept is bounded.
//
// Import rule: line imports debuginfo/dwarf/raw only.
package line
