package ebpf

import (
	"math"

	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/ir"
)

func init() {
	for op := range aluOps {
		lower[op] = (*gen).binary
	}
	lower[ir.Neg], lower[ir.Not] = (*gen).neg, (*gen).not
	lower[ir.SExt], lower[ir.ZExt] = (*gen).sext, (*gen).zext
}

// aluOps are the operations that one instruction does. The processor takes
// shift counts modulo the width (RFC 9669, 4.1); x/0 is 0 and x%0 is x.
var aluOps = map[ir.Op]asm.ALUOp{
	ir.Add: asm.Add, ir.Sub: asm.Sub, ir.Mul: asm.Mul, ir.UDiv: asm.Div, ir.URem: asm.Mod,
	ir.And: asm.And, ir.Or: asm.Or, ir.Xor: asm.Xor, ir.Shl: asm.LSh, ir.Shr: asm.RSh, ir.Sar: asm.ArSh,
}

func (g *gen) alu(op asm.ALUOp, w uint8, d, s asm.Register) {
	if w == 4 {
		g.emit(op.Reg32(d, s))
		return
	}
	g.emit(op.Reg(d, s))
}

func (g *gen) aluImm(op asm.ALUOp, w uint8, d asm.Register, k int32) {
	if w == 4 {
		g.emit(op.Imm32(d, k))
		return
	}
	g.emit(op.Imm(d, k))
}

func (g *gen) binary(in *ir.Instr) {
	a, b := in.A, in.B
	if _, ok := g.number(a); ok && in.Op.Info().Commutes {
		a, b = b, a
	}
	d := g.dest(in.Dst)
	if k, ok := g.small(b, in.W); ok {
		if r := g.at(a); r.kind == locReg && r.r != d && (in.Op == ir.Add || in.Op == ir.Sub) {
			if in.Op == ir.Sub {
				g.movImm(d, -int64(k))
			} else {
				g.movImm(d, int64(k))
			}
			g.alu(asm.Add, in.W, d, r.r) // see sum
		} else {
			g.load(d, a)
			g.binaryImm(in, d, k)
		}
		g.store(in.Dst, d)
		return
	}
	if g.at(b).kind == locReg && g.at(b).r == d && g.at(a) != g.at(b) {
		if in.Op.Info().Commutes {
			a, b = b, a
		} else {
			d = scratch
		}
	}
	tmp := scratch
	if d == scratch && g.at(b).kind != locReg {
		tmp = g.extra()
	}
	g.load(d, a)
	g.alu(aluOps[in.Op], in.W, d, g.reg(b, tmp))
	g.store(in.Dst, d)
}

// binaryImm does d = d op k. Numbers that the verifier refuses are done by hand.
func (g *gen) binaryImm(in *ir.Instr, d asm.Register, k int32) {
	op := aluOps[in.Op]
	switch in.Op {
	case ir.Add:
		if k != math.MinInt32 { // see sum
			op, k = asm.Sub, -k
		}
	case ir.Shl, ir.Shr, ir.Sar:
		k &= int32(in.W)*8 - 1
	case ir.UDiv:
		if k == 0 {
			g.movImm(d, 0)
			return
		}
	}
	if k == 0 && (in.Op == ir.URem || in.Op == ir.Shl || in.Op == ir.Shr || in.Op == ir.Sar) {
		if in.W == 4 {
			g.emit(asm.Mov.Reg32(d, d))
		}
		return
	}
	g.aluImm(op, in.W, d, k)
}

func (g *gen) neg(in *ir.Instr) {
	d := g.dest(in.Dst)
	g.load(d, in.A)
	g.aluImm(asm.Neg, in.W, d, 0)
	g.store(in.Dst, d)
}

func (g *gen) not(in *ir.Instr) {
	d := g.dest(in.Dst)
	g.load(d, in.A)
	g.aluImm(asm.Xor, in.W, d, -1)
	g.store(in.Dst, d)
}

func (g *gen) zext(in *ir.Instr) {
	d := g.dest(in.Dst)
	if in.W == 4 && g.at(in.A).kind == locReg {
		g.emit(asm.Mov.Reg32(d, g.at(in.A).r))
	} else {
		g.load(d, in.A)
		g.zeroExtend(d, in.W)
	}
	g.store(in.Dst, d)
}

func (g *gen) zeroExtend(d asm.Register, w uint8) {
	switch w {
	case 1:
		g.emit(asm.And.Imm(d, 0xff))
	case 2:
		g.emit(asm.And.Imm(d, 0xffff))
	case 4:
		g.emit(asm.Mov.Reg32(d, d))
	}
}

func (g *gen) sext(in *ir.Instr) {
	d := g.dest(in.Dst)
	g.load(d, in.A)
	g.signExtend(d, in.W)
	g.store(in.Dst, d)
}

// signExtend makes 64 bits of the low w bytes of d.
func (g *gen) signExtend(d asm.Register, w uint8) {
	if w == 8 {
		return
	}
	if g.c.Features.V4 {
		op := map[uint8]asm.ALUOp{1: asm.MovSX8, 2: asm.MovSX16, 4: asm.MovSX32}[w]
		g.emit(op.Reg(d, d))
		return
	}
	n := 64 - 8*int32(w)
	g.emit(asm.LSh.Imm(d, n))
	g.emit(asm.ArSh.Imm(d, n))
}
