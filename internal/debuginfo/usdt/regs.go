package usdt

import (
	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// register describes a register's name in an operand.
type register struct {
	num   int  // DWARF number, as in debuginfo.Piece; regIP for the instruction pointer
	bits  int  // width of the name: 8, 16, 32, 64, 128 and more
	high  bool // ah, bh, ch, dh: bits 8 to 15
	index bool // may be a base or an index of an address
	vec   bool // a vector register
}

const (
	regIP   = -1
	regNone = -2
)

// generalRegisters are the assembler's names of a processor's registers.
func generalRegisters(proc *arch.Processor) map[string]register {
	m := map[string]register{}
	for _, p := range proc.Parts {
		if p.Spelled&arch.ByAssembler != 0 {
			m[p.Name] = register{num: int(p.Reg), bits: p.Bits, high: p.Shift != 0, index: p.Bits >= 32}
		}
	}
	return m
}

// vector: one of the vector registers.
func (r register) vector() bool { return r.vec }

// push returns the operation that pushes an address register.
func (r register) push() []debuginfo.Op {
	ops := []debuginfo.Op{{Code: debuginfo.OpReg, Arg: int64(r.num)}}
	if r.bits == 32 {
		ops = append(ops, debuginfo.Op{Code: debuginfo.OpConvert, Arg: 4})
	}
	return ops
}
