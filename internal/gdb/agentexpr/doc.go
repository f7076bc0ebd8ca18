// Package agentexpr takes GDB's agent expressions, the bytecode that GDB sends
// for the conditions and actions of tracepoints, and lowers them to package ir, so
// that they run as native code or eBPF like jalon's own expressions.
//
// The way of an expression through the package, in the order of the files:
//
//	opcode.go    the table of operations (GDB's ax.def)
//	decode.go    bytes to instructions and back
//	text.go      instructions as text, as GDB's "maint agent" prints them, and back
//	validate.go  what is accepted: depths, jumps, ends, registers, sizes
//	printf.go    the formats of the printf operation
//	register.go  GDB's numbers of x86-64 registers
//	interp.go    the direct interpreter: the reference that the rest is tested against
//	site.go      a tracepoint: its condition and actions
//	lower.go     a tracepoint to a program of package ir; lower_*.go the operations
//	layout.go    what is where in the record, and the trace frame made of it again
//
// Differences from gdbserver's interpreter are listed in docs/agentexpr.md.
//
// Import rule: agentexpr imports ir and ring only.
package agentexpr
