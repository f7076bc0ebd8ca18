package ebpf

import (
	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/ir"
)

func init() {
	lower[ir.SDiv] = (*gen).signedDivision
	lower[ir.SRem] = (*gen).signedDivision
}

// signedDivision leaves division to the processor where the instruction set
// has it. MIN/-1 is done as a negation: kernels before 6.12 let the processor
// trap there.
func (ig *integers) signedDivision(in *ir.Instr) {
	if !ig.c.Features.V4 {
		ig.divideUnsigned(in)
		return
	}
	d := ig.dest(in.Dst)
	if k, ok := ig.small(in.B, in.W); ok {
		ig.load(d, in.A)
		ig.divideImm(in, d, k)
		ig.store(in.Dst, d)
		return
	}
	if ig.at(in.B) == ig.al.loc[in.Dst] && ig.at(in.A) != ig.at(in.B) {
		d = scratch
	}
	tmp := scratch
	if d == scratch && ig.at(in.B).kind != locReg {
		tmp = ig.extra()
	}
	ig.load(d, in.A)
	b := ig.reg(in.B, tmp)
	if b == d { // x/x
		b = scratch
		ig.mov(b, d)
	}
	one, done := ig.newLabel(), ig.newLabel()
	ig.jumpIfImm(asm.JEq, in.W, b, -1, one)
	ig.alu(signedOps[in.Op], in.W, d, b)
	ig.bind(done)
	ig.store(in.Dst, d)
	ig.rare(func() {
		ig.bind(one)
		ig.divideImm(in, d, -1)
		ig.jump(done)
	})
}

var signedOps = map[ir.Op]asm.ALUOp{ir.SDiv: asm.SDiv, ir.SRem: asm.SMod}

// divideImm does d = d op k.
func (ig *integers) divideImm(in *ir.Instr, d asm.Register, k int32) {
	switch {
	case k == -1 && in.Op == ir.SDiv:
		ig.aluImm(asm.Neg, in.W, d, 0)
	case k == -1, k == 0 && in.Op == ir.SDiv:
		ig.movImm(d, 0)
	case k == 0:
		if in.W == 4 {
			ig.emit(asm.Mov.Reg32(d, d))
		}
	default:
		ig.aluImm(signedOps[in.Op], in.W, d, k)
	}
}

// divideUnsigned divides the absolute values and gives the result its sign:
// that of the product for a quotient, that of A for a remainder. r1 to r3 are
// free (see calls).
func (ig *integers) divideUnsigned(in *ir.Instr) {
	ig.arguments(argument{asm.R1, in.A}, argument{asm.R2, in.B})
	if in.W == 4 {
		ig.signExtend(asm.R1, 4)
		ig.signExtend(asm.R2, 4)
	}
	ig.mov(asm.R3, asm.R1)
	op := asm.Mod
	if in.Op == ir.SDiv {
		ig.emit(asm.Xor.Reg(asm.R3, asm.R2))
		op = asm.Div
	}
	ig.negateIf(asm.R1, asm.R1)
	ig.negateIf(asm.R2, asm.R2)
	ig.emit(op.Reg(asm.R1, asm.R2))
	ig.negateIf(asm.R1, asm.R3)
	if in.W == 4 {
		ig.emit(asm.Mov.Reg32(asm.R1, asm.R1))
	}
	ig.store(in.Dst, asm.R1)
}

// negateIf negates d when sign is negative.
func (ig *integers) negateIf(d, sign asm.Register) {
	positive := ig.newLabel()
	ig.jumpIfImm(asm.JSGE, 8, sign, 0, positive)
	ig.emit(asm.Neg.Imm(d, 0))
	ig.bind(positive)
}
