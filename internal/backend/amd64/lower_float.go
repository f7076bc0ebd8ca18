package amd64

import "github.com/jalon-trace/jalon/internal/ir"

func init() {
	for op := ir.FAdd; op <= ir.FDiv; op++ {
		lower[op] = (*gen).lowerFBin
	}
	for op := ir.FEq; op <= ir.FLe; op++ {
		lower[op] = (*gen).lowerFCompare
	}
	lower[ir.FNeg] = (*gen).lowerFNeg
	lower[ir.FToF] = (*gen).lowerFToF
	lower[ir.SToF] = (*gen).lowerSToF
	lower[ir.UToF] = (*gen).lowerUToF
	lower[ir.FToS] = (*gen).lowerFToS
	lower[ir.FToU] = (*gen).lowerFToU
	lower[ir.FBits] = (*gen).lowerFBits
	lower[ir.BitsF] = (*gen).lowerBitsF
}

func (g *gen) wide(v ir.Value) uint8 {
	if g.an.p.Classes[v] == ir.F32 {
		return 4
	}
	return 8
}

// fop picks the double or single form of an instruction.
func fop(w uint8, d, s insnOp) insnOp {
	if w == 4 {
		return s
	}
	return d
}

func fmov(w uint8) insnOp { return fop(w, iMOVSD, iMOVSS) }

// xval is val for floating-point values.
func (g *gen) xval(v ir.Value, w uint8) opd {
	in := g.an.instr(v)
	if in != nil && g.an.folded[v] {
		return g.loadOpd(in)
	}
	if in != nil && in.Op == ir.FReg {
		if it := itemXMM + item(in.Imm); !g.physical(it) {
			return g.saved(it)
		}
		return regOpd(Reg(in.Imm))
	}
	if in != nil && in.Op == ir.FConst {
		x := g.scratchX()
		g.constX(x, w, in.Imm)
		return regOpd(x)
	}
	switch l := g.al.loc[v]; l.kind {
	case locReg:
		return regOpd(l.r)
	case locSpill:
		return memOpd(g.spillSlot(l.slot))
	}
	panic("BUG: amd64: floating-point value without a place")
}

// constX loads the floating-point constant with the given bits.
func (g *gen) constX(x Reg, w uint8, bits int64) {
	if bits&widthMask(w) == 0 {
		g.rmo(iXORPS, 4, x, regOpd(x))
		return
	}
	s := g.constReg(bits & widthMask(w))
	g.rmo(iMOVQ, w, x, regOpd(s))
	g.release(s)
}

// xreg returns v in an xmm register.
func (g *gen) xreg(v ir.Value, w uint8) Reg {
	o := g.xval(v, w)
	if o.kind == opdReg {
		return o.r
	}
	x := g.scratchX()
	g.moveX(x, w, o)
	return x
}

func (g *gen) moveX(d Reg, w uint8, o opd) {
	switch {
	case o.kind == opdMem:
		g.rmo(fmov(w), 4, d, o)
	case o.r != d:
		g.rmo(iMOVAPS, 4, d, o)
	}
}

func (g *gen) dstX(v ir.Value) Reg {
	if l := g.al.loc[v]; l.kind == locReg {
		return l.r
	}
	return g.scratchX()
}

func (g *gen) setDstX(v ir.Value, x Reg) {
	if l := g.al.loc[v]; l.kind == locSpill {
		g.mr(iMOVSD, 4, rmMem(g.spillSlot(l.slot)), x)
	}
}

var fbinOps = map[ir.Op][2]insnOp{ir.FAdd: {iADDSD, iADDSS}, ir.FSub: {iSUBSD, iSUBSS}, ir.FMul: {iMULSD, iMULSS}, ir.FDiv: {iDIVSD, iDIVSS}}

// lowerFBin keeps the order of the operands even where the operation commutes:
// of two NaNs the first gives the result.
func (g *gen) lowerFBin(in *ir.Instr) {
	w, ops := g.wide(in.Dst), fbinOps[in.Op]
	d := g.dstX(in.Dst)
	a, b := g.xval(in.A, w), g.xval(in.B, w)
	t := d
	if !a.isReg(d) && b.isReg(d) {
		t = g.scratchX()
	}
	g.moveX(t, w, a)
	g.rmo(fop(w, ops[0], ops[1]), 4, t, b)
	g.moveX(d, w, regOpd(t))
	g.setDstX(in.Dst, d)
}

func (g *gen) lowerFNeg(in *ir.Instr) {
	w, d := g.wide(in.Dst), g.dstX(in.Dst)
	sign := g.scratchX()
	g.constX(sign, w, -1<<(8*w-1))
	g.moveX(d, w, g.xval(in.A, w))
	g.rmo(iXORPS, 4, d, regOpd(sign))
	g.setDstX(in.Dst, d)
}

// compareFloat sets the flags and returns the condition; for FEq and FNe the
// parity flag must be looked at besides. The operands of FLt and FLe are
// exchanged so that unordered gives false.
func (g *gen) compareFloat(in *ir.Instr) cc {
	w := g.wide(in.A)
	op := fop(w, iUCOMISD, iUCOMISS)
	switch in.Op {
	case ir.FLt, ir.FLe:
		x := g.xreg(in.B, w)
		g.rmo(op, 4, x, g.xval(in.A, w))
		if in.Op == ir.FLt {
			return ccA
		}
		return ccAE
	}
	x := g.xreg(in.A, w)
	g.rmo(op, 4, x, g.xval(in.B, w))
	return ccE
}

func (g *gen) lowerFCompare(in *ir.Instr) {
	c := g.compareFloat(in)
	if in.Op == ir.FLt || in.Op == ir.FLe {
		g.materialise(in.Dst, c)
		return
	}
	d, s := g.dst(in.Dst), g.scratch()
	if in.Op == ir.FEq {
		g.setcc(ccE, d)
		g.setcc(ccNP, s)
		g.mr(iAND, 1, rmReg(d), s)
	} else {
		g.setcc(ccNE, d)
		g.setcc(ccP, s)
		g.mr(iOR, 1, rmReg(d), s)
	}
	g.rmo(iMOVZB, 4, d, regOpd(d))
	g.setDst(in.Dst, d)
}

func (g *gen) lowerFToF(in *ir.Instr) {
	from, to := g.wide(in.A), g.wide(in.Dst)
	d := g.dstX(in.Dst)
	a := g.xval(in.A, from)
	switch {
	case from == to:
		g.moveX(d, to, a)
	case from == 4:
		g.rmo(iCVTSS2SD, 4, d, a)
	default:
		g.rmo(iCVTSD2SS, 4, d, a)
	}
	g.setDstX(in.Dst, d)
}

func (g *gen) lowerSToF(in *ir.Instr) {
	w, d := g.wide(in.Dst), g.dstX(in.Dst)
	g.rmo(iXORPS, 4, d, regOpd(d)) // no wait for the old upper half
	g.rmo(fop(w, iCVTSI2SD, iCVTSI2SS), 8, d, g.regm(in.A, 8))
	g.setDstX(in.Dst, d)
}

// lowerUToF: a number from 2^63 on is halved, its lost bit kept so that
// rounding is right, converted and doubled.
func (g *gen) lowerUToF(in *ir.Instr) {
	w, d := g.wide(in.Dst), g.dstX(in.Dst)
	cvt := fop(w, iCVTSI2SD, iCVTSI2SS)
	r := g.reg(in.A, 8)
	g.rmo(iXORPS, 4, d, regOpd(d))
	g.mr(iTEST, 8, rmReg(r), r)
	big, done := g.a.newLabel(), g.a.newLabel()
	g.a.jcc(ccS, big)
	g.rmo(cvt, 8, d, regOpd(r))
	g.a.bind(done)
	s, t := g.scratch(), g.scratch()
	g.later(func() {
		g.a.bind(big)
		g.rmo(iMOV, 8, s, regOpd(r))
		g.rmo(iMOV, 4, t, regOpd(r))
		g.mi(iSHR, 8, rmReg(s), 1)
		g.mi(iAND, 4, rmReg(t), 1)
		g.rmo(iOR, 8, s, regOpd(t))
		g.rmo(cvt, 8, d, regOpd(s))
		g.rmo(fop(w, iADDSD, iADDSS), 4, d, regOpd(d))
		g.a.jmp(done)
	})
	g.setDstX(in.Dst, d)
}

func (g *gen) lowerFToS(in *ir.Instr) {
	w, d := g.wide(in.A), g.dst(in.Dst)
	g.rmo(fop(w, iCVTTSD2SI, iCVTTSS2SI), 8, d, g.xval(in.A, w))
	g.setDst(in.Dst, d)
}

func (g *gen) lowerFToU(in *ir.Instr) {
	w, d := g.wide(in.A), g.dst(in.Dst)
	cvt := fop(w, iCVTTSD2SI, iCVTTSS2SI)
	x := g.xreg(in.A, w)
	limit := g.scratchX()
	bits := int64(0x43e0000000000000)
	if w == 4 {
		bits = 0x5f000000
	}
	g.constX(limit, w, bits)
	g.rmo(fop(w, iUCOMISD, iUCOMISS), 4, x, regOpd(limit))
	big, done := g.a.newLabel(), g.a.newLabel()
	g.a.jcc(ccAE, big) // not taken by a NaN
	g.rmo(cvt, 8, d, regOpd(x))
	g.a.bind(done)
	y, s := g.scratchX(), g.scratch()
	g.later(func() {
		g.a.bind(big)
		g.moveX(y, w, regOpd(x))
		g.rmo(fop(w, iSUBSD, iSUBSS), 4, y, regOpd(limit))
		g.rmo(cvt, 8, d, regOpd(y))
		g.movImm(s, -1<<63)
		g.rmo(iXOR, 8, d, regOpd(s))
		g.a.jmp(done)
	})
	g.setDst(in.Dst, d)
}

func (g *gen) lowerFBits(in *ir.Instr) {
	w, d := g.wide(in.A), g.dst(in.Dst)
	if o := g.xval(in.A, w); o.kind == opdMem {
		g.rmo(iMOV, w, d, o)
	} else {
		g.mr(iMOVQ, w, rmReg(d), o.r)
	}
	g.setDst(in.Dst, d)
}

func (g *gen) lowerBitsF(in *ir.Instr) {
	w, d := g.wide(in.Dst), g.dstX(in.Dst)
	g.rmo(iMOVQ, w, d, g.regm(in.A, w))
	g.setDstX(in.Dst, d)
}
