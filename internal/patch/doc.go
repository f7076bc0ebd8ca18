// Package patch decides how one place in x86-64 machine code can be made to
// jump to a trampoline, and what the trampoline must contain so that the program
// does not notice. It is pure: bytes in, bytes out; it reads no process and
// writes none.
//
//   - [Decode] knows one instruction: length, branch target, rip-relative
//     operand, registers and flags. What it is not sure of is an error.
//   - [DeadAt] knows which registers and flags hold nothing of value at a place.
//   - [Make] chooses a tactic for one address of a function and says why the
//     better ones were refused; [Plan.Emit] relocates the displaced instructions
//     and [Plan.Edits] lists the bytes to change in the program.
//
// The rule of every decision: refuse rather than guess. A refused tactic costs
// time at the hit, a wrong one corrupts the traced program.
//
// Import rule: patch imports arch/amd64 only.
package patch
