// Package amd64 compiles hit programs (package ir) to x86-64 code that runs at
// a patched site inside the traced process.
//
// The way of a program through the package, in the order of the files:
//
//	select.go    which values are folded into their users (addresses, compares, loads)
//	live.go      positions and live intervals
//	regalloc.go  registers for values (linear scan; control flow is forward only)
//	emit.go      blocks to instructions; edges and parallel moves
//	operand.go   where a value is at an instruction; scratch registers
//	lower_*.go   one file per family of operations; record.go, copy.go, streq.go
//	save.go      which program registers are saved where, and given back
//	asm.go       encoder, labels, fault table, jump sizes; insn.go is its table
//	listing.go   the code as text
//
// Import rule: amd64 imports ir and ring only.
package amd64
