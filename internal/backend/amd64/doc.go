// Package amd64 compiles hit programs (package ir) to x86-64 code that runs at
// a patched site inside the traced process.
//
// A program goes through these files, in this order. Package ebpf has files of the same
// names for the same topics (test/backends_test.go lists those that only one backend has):
//
//	compile.go   the entry; what is checked before
//	rewrite.go   changes of the program for this backend
//	analyse.go   what is known of a program: uses, constants, reachability
//	fold.go      which values are computed inside their users (addresses, compares, loads)
//	needs.go     what an instruction reads and destroys, and whether it is emitted
//	live.go      when values live (package regalloc)
//	regalloc.go  what the allocator (package regalloc) must know of the registers
//	gen.go       blocks to instructions, again and again until the saves are right
//	order.go     the place of each block: hot, cold, tail
//	save.go      which program registers are saved where; saver.go saves them and gives them back
//	stackedge.go what is done where the stack has no room for the saves
//	moves.go     parameters (parallel moves)
//	operand.go   where a value is at an instruction; address.go the forms of addresses
//	scratch.go   registers for intermediate results
//	lower_*.go   one file for each family of operations; lower_term.go ends blocks
//	emit.go      emission with a note of what each instruction destroys
//	asm.go       instructions, labels, sections; insn.go is the table, encode.go
//	             writes bytes, link.go chooses the sizes of jumps
//	listing.go   the code as text (text.go formats one instruction)
//
// The generated code assumes lahf in 64-bit mode and SSE2, as every processor
// since 2006 has. It makes no call and no system call, uses no string
// instruction (DF may be set), no AVX (the upper halves of ymm stay), and
// writes nothing below rsp without lowering rsp first, by more than the red zone.
//
// Import rule: amd64 imports arch/amd64, regalloc, ir, maps, ring and unwind only.
package amd64
