// Package patch decides how a place in x86-64 machine code can jump to a trampoline, and what the
// trampoline must contain so that the program is not affected. It is pure: bytes in, bytes out; it neither
// reads nor writes a process.
//
//   - [Decode] decodes one instruction: length, branch target, rip-relative operand, registers and flags.
//     Anything uncertain is an error.
//   - [DeadAt] returns the registers and flags whose values are not needed at a place.
//   - [Make] chooses a tactic for one address of a function and returns why the better ones were refused;
//     [Plan.Emit] relocates the displaced instructions and [Plan.Edits] lists the bytes to change in the
//     program.
//
// The rule of every decision: refuse rather than guess. A refused tactic costs time at the hit, a wrong one
// corrupts the traced program.
//
// Import rule: patch imports arch/amd64 only.
package patch
