package amd64

import (
	"github.com/jalon-trace/jalon/internal/ir"
)

// integers computes with integers.
type integers struct {
	*planner
	*emitter
	*pool
	*stubs
	*operands
}

func init() {
	for op, f := range map[ir.Op]func(*gen, *ir.Instr){
		ir.Add: (*gen).lowerAdd, ir.Sub: (*gen).lowerSub, ir.Mul: (*gen).lowerMul,
		ir.And: (*gen).lowerAnd, ir.Or: aluLower(iOR), ir.Xor: aluLower(iXOR),
		ir.Shl: (*gen).lowerShift, ir.Shr: (*gen).lowerShift, ir.Sar: (*gen).lowerShift,
		ir.Neg: (*gen).lowerUnary, ir.Not: (*gen).lowerUnary,
		ir.BitLen: (*gen).lowerBitLen,
		ir.SExt:   (*gen).lowerExt, ir.ZExt: (*gen).lowerExt,
	} {
		lower[op] = f
	}
}

func (ig *integers) lowerAdd(in *ir.Instr) {
	m, ok := ig.an.modes[in]
	if !ok {
		ig.alu(iADD, in, true)
		return
	}
	d := ig.dst(in.Dst)
	defer ig.setDst(in.Dst, d)
	if m.index == ir.None && !ig.isRSP(m.base) {
		o := ig.val(m.base, in.W)
		if o.kind == opdReg && o.r != d {
			ig.lea(in.W, d, at(o.r, m.disp))
			return
		}
		ig.moveAny(d, in.W, o)
		ig.mi(iADD, in.W, rmReg(d), int64(m.disp))
		return
	}
	if m.index != ir.None && m.scale == 1 && m.disp == 0 {
		b, x := ig.val(m.base, in.W), ig.val(m.index, in.W)
		if x.isReg(d) {
			b, x = x, b
		}
		if b.isReg(d) {
			ig.rmo(iADD, in.W, d, x)
			return
		}
		if b.kind == opdMem && !x.uses(d) {
			ig.move(d, in.W, b)
			ig.rmo(iADD, in.W, d, x)
			return
		}
	}
	ig.lea(in.W, d, ig.sumMem(m, 0))
}

func aluLower(op insnOp) func(*gen, *ir.Instr) {
	return func(g *gen, in *ir.Instr) { g.alu(op, in, true) }
}

func (ig *integers) lowerSub(in *ir.Instr) { ig.alu(iSUB, in, false) }

// alu emits a two-address operation: d = A, then d op= B.
func (ig *integers) alu(op insnOp, in *ir.Instr, commutes bool) {
	d := ig.dst(in.Dst)
	a, b := ig.val(in.A, in.W), ig.val(in.B, in.W)
	if commutes && (b.isReg(d) || a.kind == opdImm || a.kind == opdMem && b.kind == opdReg || b.uses(d)) {
		a, b = b, a
	}
	if !a.isReg(d) && b.uses(d) {
		if op == iSUB && b.kind == opdReg {
			ig.m(iNEG, in.W, b)
			ig.rmo(iADD, in.W, d, a)
			ig.setDst(in.Dst, d)
			return
		}
		s := ig.scratch()
		ig.move(s, in.W, b)
		b = regOpd(s)
	}
	if op == iIMUL && b.kind == opdImm {
		b = regOpd(ig.constReg(b.imm))
	}
	ig.moveAny(d, in.W, a)
	ig.rmo(op, in.W, d, b)
	ig.setDst(in.Dst, d)
}

func (ig *integers) lowerAnd(in *ir.Instr) {
	k, ok := ig.an.constant(in.B)
	// A folded load must be read in its whole width.
	if k &= widthMask(in.W); ok && !ig.an.folded[in.A] && (k == 0xff || k == 0xffff || k == 0xffffffff) {
		d, a := ig.dst(in.Dst), ig.regm(in.A, in.W)
		switch k {
		case 0xff:
			ig.rmo(iMOVZB, 4, d, a)
		case 0xffff:
			ig.rmo(iMOVZW, 4, d, a)
		default:
			ig.rmo(iMOV, 4, d, a)
		}
		ig.setDst(in.Dst, d)
		return
	}
	ig.alu(iAND, in, true)
}

func widthMask(w uint8) int64 {
	if w >= 8 {
		return -1
	}
	return 1<<(8*w) - 1
}

func (ig *integers) lowerMul(in *ir.Instr) {
	k, ok := ig.an.constant(in.B)
	a := in.A
	if !ok {
		k, ok = ig.an.constant(in.A)
		a = in.B
	}
	if in.W == 4 {
		k = int64(int32(k))
	}
	if !ok || k != int64(int32(k)) {
		ig.alu(iIMUL, in, true)
		return
	}
	d := ig.dst(in.Dst)
	ig.mulConst(d, in.W, a, k)
	ig.setDst(in.Dst, d)
}

// mulConst multiplies by lea and shl where one or two of them do.
func (ig *integers) mulConst(d Reg, w uint8, a ir.Value, k int64) {
	n := 0
	odd := k
	for ; odd != 0 && odd&1 == 0; odd >>= 1 {
		n++
	}
	switch {
	case k == 0:
		ig.movImm(d, 0)
		return
	case k == -1:
		ig.moveAny(d, w, ig.val(a, w))
		ig.m(iNEG, w, regOpd(d))
		return
	case k == 2:
		r := ig.indexReg(a, w)
		ig.lea(w, d, atIdx(r, r, 1, 0))
		return
	case odd == 3 || odd == 5 || odd == 9:
		r := ig.indexReg(a, w)
		ig.lea(w, d, atIdx(r, r, uint8(odd-1), 0))
	case odd == 1:
		ig.move(d, w, ig.val(a, w))
	default:
		ig.effects(iIMULI, d, false)
		o := ig.regm(a, w)
		ig.guard(o.fix)
		ig.a.rmi(w, d, o.rm(), k)
		return
	}
	if n > 0 {
		ig.mi(iSHL, w, rmReg(d), int64(n))
	}
}

var shiftOps = map[ir.Op][2]insnOp{ir.Shl: {iSHL, iSHLCL}, ir.Shr: {iSHR, iSHRCL}, ir.Sar: {iSAR, iSARCL}}

func (ig *integers) lowerShift(in *ir.Instr) {
	ops, d := shiftOps[in.Op], ig.dst(in.Dst)
	if k, ok := ig.an.constant(in.B); ok {
		n := k & int64(8*in.W-1)
		a := ig.val(in.A, in.W)
		if in.Op == ir.Shl && n == 1 && a.kind == opdReg && a.r != d && a.r != RSP {
			ig.lea(in.W, d, atIdx(a.r, a.r, 1, 0))
		} else {
			ig.move(d, in.W, a)
			if n != 0 {
				ig.mi(ops[0], in.W, rmReg(d), n)
			}
		}
		ig.setDst(in.Dst, d)
		return
	}
	ig.take(RCX)
	a := ig.val(in.A, in.W)
	ig.moveAny(RCX, 4, ig.val(in.B, 4))
	t := d
	if d == RCX {
		t = ig.scratch()
	}
	ig.moveAny(t, in.W, a)
	ig.m(ops[1], in.W, regOpd(t))
	if t != d {
		ig.rmo(iMOV, 8, d, regOpd(t))
	}
	ig.setDst(in.Dst, d)
}

func (ig *integers) lowerUnary(in *ir.Instr) {
	d := ig.dst(in.Dst)
	ig.moveAny(d, in.W, ig.val(in.A, in.W))
	op := iNEG
	if in.Op == ir.Not {
		op = iNOT
	}
	ig.m(op, in.W, regOpd(d))
	ig.setDst(in.Dst, d)
}

// lowerBitLen: bsr gives the number of the highest bit, and leaves an undefined result for 0.
func (ig *integers) lowerBitLen(in *ir.Instr) {
	d := ig.dst(in.Dst)
	o := ig.regm(in.A, 8)
	t := d
	if o.uses(d) {
		t = ig.scratch()
	}
	some := ig.a.newLabel()
	ig.rmo(iBSR, 8, t, o)
	ig.a.jcc(ccNE, some)
	ig.movImm(t, -1)
	ig.a.bind(some)
	ig.lea(8, d, at(t, 1))
	ig.setDst(in.Dst, d)
}

func (ig *integers) lowerExt(in *ir.Instr) {
	d := ig.dst(in.Dst)
	o := ig.regm(in.A, in.W)
	ig.extend(d, in.W, in.Op == ir.SExt, o)
	ig.setDst(in.Dst, d)
}
