package unwind

import (
	"bytes"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/frame"
)

// contextRegs is how far the struct sigcontext lies above the stack pointer in code that a signal handler
// returns to: uc_flags, uc_link and uc_stack are before it (struct ucontext).
const contextRegs = 40

// Where the interrupted registers are, from the stack pointer.
var (
	signalSP = signalOffset(regSP)
	signalPC = signalOffset(regPC)
	signalFP = signalOffset(regFP)
)

func signalOffset(dwarf int) uint64 {
	for i := range host.Processor.Registers {
		if r := &host.Processor.Registers[i]; int(r.DWARF) == dwarf && r.Sigcontext >= 0 {
			return contextRegs + uint64(r.Sigcontext)
		}
	}
	return 0
}

// signalRule is Signal where a row says what the kernel does, as glibc's does.
func signalRule(r *frame.Row, ra, fp frame.Column, hasFP bool) Rule {
	atSP := func(off uint64, more ...byte) []byte {
		return append(append([]byte{opBreg0 + byte(regSP)}, sleb(off)...), more...)
	}
	if signalSP == 0 || !bytes.Equal(r.CFAExpr, atSP(signalSP, opDeref)) || !hasFP ||
		ra.Kind != frame.AtExpr || !bytes.Equal(ra.Expr, atSP(signalPC)) ||
		fp.Kind != frame.AtExpr || !bytes.Equal(fp.Expr, atSP(signalFP)) {
		return Rule(General)
	}
	return Rule(Signal)
}

// sleb is a number from 0 to 8191 as SLEB128.
func sleb(n uint64) []byte {
	if n < 64 {
		return []byte{byte(n)}
	}
	return []byte{byte(n&0x7f | 0x80), byte(n >> 7)}
}
