package amd64

import "github.com/jalon-trace/jalon/internal/ir"

// comparisons sets the flags, and makes values of them.
type comparisons struct {
	*planner
	*emitter
	*pool
	*stubs
	*operands
	*vectors
}

var intCC = map[ir.Op]cc{ir.Eq: ccE, ir.Ne: ccNE, ir.SLt: ccL, ir.SLe: ccLE, ir.ULt: ccB, ir.ULe: ccBE}

func init() {
	for op := range intCC {
		lower[op] = (*gen).lowerCompare
	}
}

// compare sets the flags for an integer comparison and returns its condition.
func (cm *comparisons) compare(in *ir.Instr) cc {
	a, b, c := in.A, in.B, intCC[in.Op]
	if x := cm.an.instr(a); x != nil && x.Op == ir.And && cm.an.folded[a] {
		cm.test(x)
		return c
	}
	oa := cm.val(a, in.W)
	if oa.kind == opdImm {
		ob := cm.val(b, in.W)
		if ob.kind == opdImm {
			ob = regOpd(cm.constReg(ob.imm))
		}
		cm.compareOpds(in.W, ob, oa)
		return c.swapped()
	}
	cm.compareOpds(in.W, oa, cm.val(b, in.W))
	return c
}

func (cm *comparisons) compareOpds(w uint8, a, b opd) {
	switch {
	case b.kind == opdImm && b.imm == 0 && a.kind == opdReg:
		cm.mr(iTEST, w, a.rm(), a.r)
	case b.kind == opdImm:
		cm.mio(iCMP, w, a, b.imm)
	case a.kind == opdMem && b.kind == opdReg:
		cm.effects(iCMP, NoReg, false)
		cm.guard(a.fix)
		cm.a.mr(iCMP, w, a.rm(), b.r)
	case a.kind == opdMem:
		s := cm.scratch()
		cm.move(s, w, a)
		cm.rmo(iCMP, w, s, b)
	default:
		cm.rmo(iCMP, w, a.r, b)
	}
}

// test sets the flags for A & B compared with zero.
func (cm *comparisons) test(in *ir.Instr) {
	a, b := cm.val(in.A, in.W), cm.val(in.B, in.W)
	if a.kind != opdReg && b.kind == opdReg || a.kind == opdImm {
		a, b = b, a
	}
	if a.kind == opdImm {
		a = regOpd(cm.constReg(a.imm))
	}
	switch b.kind {
	case opdImm:
		cm.mio(iTEST, in.W, a, b.imm)
		return
	case opdReg:
		cm.effects(iTEST, NoReg, false)
		cm.guard(a.fix)
		cm.a.mr(iTEST, in.W, a.rm(), b.r)
		return
	}
	if a.kind == opdMem {
		s := cm.scratch()
		cm.move(s, in.W, a)
		a = regOpd(s)
	}
	cm.effects(iTEST, NoReg, false)
	cm.guard(b.fix)
	cm.a.mr(iTEST, in.W, b.rm(), a.r)
}

func (cm *comparisons) lowerCompare(in *ir.Instr) {
	c := cm.compare(in)
	cm.materialise(in.Dst, c)
}

// materialise turns the condition in the flags into 0 or 1.
func (cm *comparisons) materialise(v ir.Value, c cc) {
	d := cm.dst(v)
	cm.setcc(c, d)
	cm.rmo(iMOVZB, 4, d, regOpd(d))
	cm.setDst(v, d)
}

// compareFloat sets the flags and returns the condition; for FEq and FNe the
// parity flag must be looked at besides. The operands of FLt and FLe are
// exchanged so that unordered gives false.
func (cm *comparisons) compareFloat(in *ir.Instr) cc {
	w := cm.wide(in.A)
	op := fop(w, iUCOMISD, iUCOMISS)
	switch in.Op {
	case ir.FLt, ir.FLe:
		x := cm.xreg(in.B, w)
		cm.rmo(op, 4, x, cm.xval(in.A, w))
		if in.Op == ir.FLt {
			return ccA
		}
		return ccAE
	}
	x := cm.xreg(in.A, w)
	cm.rmo(op, 4, x, cm.xval(in.B, w))
	return ccE
}

func (cm *comparisons) lowerFCompare(in *ir.Instr) {
	c := cm.compareFloat(in)
	if in.Op == ir.FLt || in.Op == ir.FLe {
		cm.materialise(in.Dst, c)
		return
	}
	d, s := cm.dst(in.Dst), cm.scratch()
	if in.Op == ir.FEq {
		cm.setcc(ccE, d)
		cm.setcc(ccNP, s)
		cm.mr(iAND, 1, rmReg(d), s)
	} else {
		cm.setcc(ccNE, d)
		cm.setcc(ccP, s)
		cm.mr(iOR, 1, rmReg(d), s)
	}
	cm.rmo(iMOVZB, 4, d, regOpd(d))
	cm.setDst(in.Dst, d)
}
