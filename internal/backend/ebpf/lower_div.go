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
func (g *gen) signedDivision(in *ir.Instr) {
	if !g.c.Features.V4 {
		g.divideUnsigned(in)
		return
	}
	d := g.dest(in.Dst)
	if k, ok := g.small(in.B, in.W); ok {
		g.load(d, in.A)
		g.divideImm(in, d, k)
		g.store(in.Dst, d)
		return
	}
	if g.at(in.B) == g.al.loc[in.Dst] && g.at(in.A) != g.at(in.B) {
		d = scratch
	}
	tmp := scratch
	if d == scratch && g.at(in.B).kind != locReg {
		tmp = g.extra()
	}
	g.load(d, in.A)
	b := g.reg(in.B, tmp)
	if b == d { // x/x
		b = scratch
		g.mov(b, d)
	}
	one, done := g.newLabel(), g.newLabel()
	g.jumpIfImm(asm.JEq, in.W, b, -1, one)
	g.alu(signedOps[in.Op], in.W, d, b)
	g.bind(done)
	g.store(in.Dst, d)
	g.rare(func() {
		g.bind(one)
		g.divideImm(in, d, -1)
		g.jump(done)
	})
}

var signedOps = map[ir.Op]asm.ALUOp{ir.SDiv: asm.SDiv, ir.SRem: asm.SMod}

// divideImm does d = d op k.
func (g *gen) divideImm(in *ir.Instr, d asm.Register, k int32) {
	switch {
	case k == -1 && in.Op == ir.SDiv:
		g.aluImm(asm.Neg, in.W, d, 0)
	case k == -1, k == 0 && in.Op == ir.SDiv:
		g.movImm(d, 0)
	case k == 0:
		if in.W == 4 {
			g.emit(asm.Mov.Reg32(d, d))
		}
	default:
		g.aluImm(signedOps[in.Op], in.W, d, k)
	}
}

// divideUnsigned divides the absolute values and gives the result its sign:
// that of the product for a quotient, that of A for a remainder. r1 to r3 are
// free (see calls).
func (g *gen) divideUnsigned(in *ir.Instr) {
	g.arguments(argument{asm.R1, in.A}, argument{asm.R2, in.B})
	if in.W == 4 {
		g.signExtend(asm.R1, 4)
		g.signExtend(asm.R2, 4)
	}
	g.mov(asm.R3, asm.R1)
	op := asm.Mod
	if in.Op == ir.SDiv {
		g.emit(asm.Xor.Reg(asm.R3, asm.R2))
		op = asm.Div
	}
	g.negateIf(asm.R1, asm.R1)
	g.negateIf(asm.R2, asm.R2)
	g.emit(op.Reg(asm.R1, asm.R2))
	g.negateIf(asm.R1, asm.R3)
	if in.W == 4 {
		g.emit(asm.Mov.Reg32(asm.R1, asm.R1))
	}
	g.store(in.Dst, asm.R1)
}

// negateIf negates d when sign is negative.
func (g *gen) negateIf(d, sign asm.Register) {
	positive := g.newLabel()
	g.jumpIfImm(asm.JSGE, 8, sign, 0, positive)
	g.emit(asm.Neg.Imm(d, 0))
	g.bind(positive)
}
