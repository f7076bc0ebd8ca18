package usdt

import (
	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// register describes a register's name in an operand.
type register struct {
	num   int  // DWARF number, as in debuginfo.Piece; regIP for the instruction pointer
	bits  int  // width of the name: 8, 16, 32, 64, 128 and more
	high  bool // ah, bh, ch, dh: bits 8 to 15
	index bool // may be a base or an index of an address
}

const (
	regIP   = -1
	regNone = -2
)

// registers has the assembler's names of registers, without "%".
var registers = makeRegisters()

func makeRegisters() map[string]register {
	m := map[string]register{}
	for _, p := range host.Processor.Parts {
		if p.Spelled&arch.ByAssembler != 0 {
			m[p.Name] = register{num: int(p.Reg), bits: p.Bits, high: p.Shift != 0, index: p.Bits >= 32}
		}
	}
	moreRegisters(m)
	return m
}

// vector: one of the vector registers.
func (r register) vector() bool {
	_, ok := host.Processor.Vector(arch.Reg(r.num))
	return ok
}

// push returns the operation that pushes an address register.
func (r register) push() []debuginfo.Op {
	ops := []debuginfo.Op{{Code: debuginfo.OpReg, Arg: int64(r.num)}}
	if r.bits == 32 {
		ops = append(ops, debuginfo.Op{Code: debuginfo.OpConvert, Arg: 4})
	}
	return ops
}
