package amd64

import (
	"github.com/jalon-trace/jalon/internal/ir"
)

func init() {
	for op, f := range map[ir.Op]func(*gen, *ir.Instr){
		ir.Add: (*gen).lowerAdd, ir.Sub: (*gen).lowerSub, ir.Mul: (*gen).lowerMul,
		ir.And: (*gen).lowerAnd, ir.Or: aluLower(iOR), ir.Xor: aluLower(iXOR),
		ir.Shl: (*gen).lowerShift, ir.Shr: (*gen).lowerShift, ir.Sar: (*gen).lowerShift,
		ir.Neg: (*gen).lowerUnary, ir.Not: (*gen).lowerUnary,
		ir.SExt: (*gen).lowerExt, ir.ZExt: (*gen).lowerExt,
	} {
		lower[op] = f
	}
}

func (g *gen) lowerAdd(in *ir.Instr) {
	m, ok := g.an.modes[in]
	if !ok {
		g.alu(iADD, in, true)
		return
	}
	d := g.dst(in.Dst)
	defer g.setDst(in.Dst, d)
	if m.index == ir.None && !g.isRSP(m.base) {
		o := g.val(m.base, in.W)
		if o.kind == opdReg && o.r != d {
			g.lea(in.W, d, at(o.r, m.disp))
			return
		}
		g.moveAny(d, in.W, o)
		g.mi(iADD, in.W, rmReg(d), int64(m.disp))
		return
	}
	if m.index != ir.None && m.scale == 1 && m.disp == 0 {
		b, x := g.val(m.base, in.W), g.val(m.index, in.W)
		if x.isReg(d) {
			b, x = x, b
		}
		if b.isReg(d) {
			g.rmo(iADD, in.W, d, x)
			return
		}
		if b.kind == opdMem && !x.uses(d) {
			g.move(d, in.W, b)
			g.rmo(iADD, in.W, d, x)
			return
		}
	}
	g.lea(in.W, d, g.sumMem(m, 0))
}

func aluLower(op insnOp) func(*gen, *ir.Instr) {
	return func(g *gen, in *ir.Instr) { g.alu(op, in, true) }
}

func (g *gen) lowerSub(in *ir.Instr) { g.alu(iSUB, in, false) }

// alu emits a two-address operation: d = A, then d op= B.
func (g *gen) alu(op insnOp, in *ir.Instr, commutes bool) {
	d := g.dst(in.Dst)
	a, b := g.val(in.A, in.W), g.val(in.B, in.W)
	if commutes && (b.isReg(d) || a.kind == opdImm || a.kind == opdMem && b.kind == opdReg || b.uses(d)) {
		a, b = b, a
	}
	if !a.isReg(d) && b.uses(d) {
		if op == iSUB && b.kind == opdReg {
			g.m(iNEG, in.W, b)
			g.rmo(iADD, in.W, d, a)
			g.setDst(in.Dst, d)
			return
		}
		s := g.scratch()
		g.move(s, in.W, b)
		b = regOpd(s)
	}
	if op == iIMUL && b.kind == opdImm {
		b = regOpd(g.constReg(b.imm))
	}
	g.moveAny(d, in.W, a)
	g.rmo(op, in.W, d, b)
	g.setDst(in.Dst, d)
}

func (g *gen) lowerAnd(in *ir.Instr) {
	k, ok := g.an.constant(in.B)
	// A folded load must be read in its whole width.
	if k &= widthMask(in.W); ok && !g.an.folded[in.A] && (k == 0xff || k == 0xffff || k == 0xffffffff) {
		d, a := g.dst(in.Dst), g.regm(in.A, in.W)
		switch k {
		case 0xff:
			g.rmo(iMOVZB, 4, d, a)
		case 0xffff:
			g.rmo(iMOVZW, 4, d, a)
		default:
			g.rmo(iMOV, 4, d, a)
		}
		g.setDst(in.Dst, d)
		return
	}
	g.alu(iAND, in, true)
}

func widthMask(w uint8) int64 {
	if w >= 8 {
		return -1
	}
	return 1<<(8*w) - 1
}

func (g *gen) lowerMul(in *ir.Instr) {
	k, ok := g.an.constant(in.B)
	a := in.A
	if !ok {
		k, ok = g.an.constant(in.A)
		a = in.B
	}
	if in.W == 4 {
		k = int64(int32(k))
	}
	if !ok || k != int64(int32(k)) {
		g.alu(iIMUL, in, true)
		return
	}
	d := g.dst(in.Dst)
	g.mulConst(d, in.W, a, k)
	g.setDst(in.Dst, d)
}

// mulConst multiplies by lea and shl where one or two of them do.
func (g *gen) mulConst(d Reg, w uint8, a ir.Value, k int64) {
	n := 0
	odd := k
	for ; odd != 0 && odd&1 == 0; odd >>= 1 {
		n++
	}
	switch {
	case k == 0:
		g.movImm(d, 0)
		return
	case k == -1:
		g.moveAny(d, w, g.val(a, w))
		g.m(iNEG, w, regOpd(d))
		return
	case k == 2:
		r := g.indexReg(a, w)
		g.lea(w, d, atIdx(r, r, 1, 0))
		return
	case odd == 3 || odd == 5 || odd == 9:
		r := g.indexReg(a, w)
		g.lea(w, d, atIdx(r, r, uint8(odd-1), 0))
	case odd == 1:
		g.move(d, w, g.val(a, w))
	default:
		g.effects(iIMULI, d, false)
		o := g.regm(a, w)
		g.guard(o.fix)
		g.a.rmi(w, d, o.rm(), k)
		return
	}
	if n > 0 {
		g.mi(iSHL, w, rmReg(d), int64(n))
	}
}

var shiftOps = map[ir.Op][2]insnOp{ir.Shl: {iSHL, iSHLCL}, ir.Shr: {iSHR, iSHRCL}, ir.Sar: {iSAR, iSARCL}}

func (g *gen) lowerShift(in *ir.Instr) {
	ops, d := shiftOps[in.Op], g.dst(in.Dst)
	if k, ok := g.an.constant(in.B); ok {
		n := k & int64(8*in.W-1)
		a := g.val(in.A, in.W)
		if in.Op == ir.Shl && n == 1 && a.kind == opdReg && a.r != d && a.r != RSP {
			g.lea(in.W, d, atIdx(a.r, a.r, 1, 0))
		} else {
			g.move(d, in.W, a)
			if n != 0 {
				g.mi(ops[0], in.W, rmReg(d), n)
			}
		}
		g.setDst(in.Dst, d)
		return
	}
	g.take(RCX)
	a := g.val(in.A, in.W)
	g.moveAny(RCX, 4, g.val(in.B, 4))
	t := d
	if d == RCX {
		t = g.scratch()
	}
	g.moveAny(t, in.W, a)
	g.m(ops[1], in.W, regOpd(t))
	if t != d {
		g.rmo(iMOV, 8, d, regOpd(t))
	}
	g.setDst(in.Dst, d)
}

func (g *gen) lowerUnary(in *ir.Instr) {
	d := g.dst(in.Dst)
	g.moveAny(d, in.W, g.val(in.A, in.W))
	op := iNEG
	if in.Op == ir.Not {
		op = iNOT
	}
	g.m(op, in.W, regOpd(d))
	g.setDst(in.Dst, d)
}

func (g *gen) lowerExt(in *ir.Instr) {
	d := g.dst(in.Dst)
	o := g.regm(in.A, in.W)
	g.extend(d, in.W, in.Op == ir.SExt, o)
	g.setDst(in.Dst, d)
}

// extend loads the low w bytes of o into d, extended to 64 bits.
func (g *gen) extend(d Reg, w uint8, signed bool, o opd) {
	switch {
	case w == 8:
		g.rmo(iMOV, 8, d, o)
	case w == 4 && signed:
		g.rmo(iMOVSL, 8, d, o)
	case w == 4:
		g.rmo(iMOV, 4, d, o)
	case w == 2 && signed:
		g.rmo(iMOVSW, 8, d, o)
	case w == 2:
		g.rmo(iMOVZW, 4, d, o)
	case signed:
		g.rmo(iMOVSB, 8, d, o)
	default:
		g.rmo(iMOVZB, 4, d, o)
	}
}
