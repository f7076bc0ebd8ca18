// Package index is the format of the index over a module's units, and the files that
// keep it between runs: which unit has a name, a source file, an address.
//
// An index is bytes, just made (Parts.Encode) or read from a file (Load). Open checks
// the checksum and the counts; the numbers in the rows are not checked here, so the
// reader compares them with its units.
//
// Import rule: index imports debuginfo only.
package index
