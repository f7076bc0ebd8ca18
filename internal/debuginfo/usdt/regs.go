package usdt

import (
	"strconv"

	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// register is what a register's name in an operand stands for.
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

// registers are the names of x86-64 registers without their "%".
var registers = makeRegisters()

func makeRegisters() map[string]register {
	m := map[string]register{"rip": {num: regIP, bits: 64}, "eip": {num: regIP, bits: 32}}
	gpr := func(num, bits int, name string) { m[name] = register{num: num, bits: bits, index: bits >= 32} }
	for i, n := range []string{"ax", "dx", "cx", "bx", "si", "di", "bp", "sp"} {
		gpr(i, 64, "r"+n)
		gpr(i, 32, "e"+n)
		gpr(i, 16, n)
		if i < 4 {
			gpr(i, 8, n[:1]+"l")
			m[n[:1]+"h"] = register{num: i, bits: 8, high: true}
		} else {
			gpr(i, 8, n+"l")
		}
	}
	for i := 8; i < 16; i++ {
		n := "r" + strconv.Itoa(i)
		gpr(i, 64, n)
		gpr(i, 32, n+"d")
		gpr(i, 16, n+"w")
		gpr(i, 8, n+"b")
	}
	for i := range 16 { // the low part is the same register under three names
		n := strconv.Itoa(i)
		for _, x := range []string{"xmm", "ymm", "zmm"} {
			m[x+n] = register{num: firstXMM + i, bits: 128}
		}
	}
	return m
}

// firstXMM is the DWARF number of xmm0.
const firstXMM = 17

func (r register) xmm() bool { return r.num >= firstXMM }

// push is the operation that puts an address register on the stack.
func (r register) push() []debuginfo.Op {
	ops := []debuginfo.Op{{Code: debuginfo.OpReg, Arg: int64(r.num)}}
	if r.bits == 32 {
		ops = append(ops, debuginfo.Op{Code: debuginfo.OpConvert, Arg: 4})
	}
	return ops
}
