package amd64

import "github.com/jalon-trace/jalon/internal/ir"

// vectors is operands for floating point.
type vectors struct {
	*planner
	*emitter
	*pool
	*stubs
	*operands
}

// floats computes with floating point.
type floats struct {
	*planner
	*emitter
	*pool
	*stubs
	*operands
	*vectors
}

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

func (vx *vectors) wide(v ir.Value) uint8 {
	if vx.an.p.Classes[v] == ir.F32 {
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
func (vx *vectors) xval(v ir.Value, w uint8) opd {
	in := vx.an.instr(v)
	if in != nil && vx.an.folded[v] {
		return vx.loadOpd(in)
	}
	if in != nil && in.Op == ir.FReg {
		if it := itemXMM + item(in.Imm); !vx.physical(it) {
			return vx.saved(it)
		}
		return regOpd(Reg(in.Imm))
	}
	if in != nil && in.Op == ir.FConst {
		x := vx.scratchX()
		vx.constX(x, w, in.Imm)
		return regOpd(x)
	}
	switch l := vx.al.loc[v]; l.kind {
	case locReg:
		return regOpd(l.r)
	case locSpill:
		return memOpd(vx.spillSlot(l.slot))
	}
	panic("BUG: amd64: floating-point value without a place")
}

// constX loads the floating-point constant with the given bits.
func (vx *vectors) constX(x Reg, w uint8, bits int64) {
	if bits&widthMask(w) == 0 {
		vx.rmo(iXORPS, 4, x, regOpd(x))
		return
	}
	s := vx.constReg(bits & widthMask(w))
	vx.rmo(iMOVQ, w, x, regOpd(s))
	vx.release(s)
}

// xreg returns v in an xmm register.
func (vx *vectors) xreg(v ir.Value, w uint8) Reg {
	o := vx.xval(v, w)
	if o.kind == opdReg {
		return o.r
	}
	x := vx.scratchX()
	vx.moveX(x, w, o)
	return x
}

func (vx *vectors) moveX(d Reg, w uint8, o opd) {
	switch {
	case o.kind == opdMem:
		vx.rmo(fmov(w), 4, d, o)
	case o.r != d:
		vx.rmo(iMOVAPS, 4, d, o)
	}
}

func (vx *vectors) dstX(v ir.Value) Reg {
	if l := vx.al.loc[v]; l.kind == locReg {
		return l.r
	}
	return vx.scratchX()
}

func (vx *vectors) setDstX(v ir.Value, x Reg) {
	if l := vx.al.loc[v]; l.kind == locSpill {
		vx.mr(iMOVSD, 4, rmMem(vx.spillSlot(l.slot)), x)
	}
}

var fbinOps = map[ir.Op][2]insnOp{ir.FAdd: {iADDSD, iADDSS}, ir.FSub: {iSUBSD, iSUBSS}, ir.FMul: {iMULSD, iMULSS}, ir.FDiv: {iDIVSD, iDIVSS}}

// lowerFBin keeps the order of the operands even where the operation commutes:
// of two NaNs the first gives the result.
func (fl *floats) lowerFBin(in *ir.Instr) {
	w, ops := fl.wide(in.Dst), fbinOps[in.Op]
	d := fl.dstX(in.Dst)
	a, b := fl.xval(in.A, w), fl.xval(in.B, w)
	t := d
	if !a.isReg(d) && b.isReg(d) {
		t = fl.scratchX()
	}
	fl.moveX(t, w, a)
	fl.rmo(fop(w, ops[0], ops[1]), 4, t, b)
	fl.moveX(d, w, regOpd(t))
	fl.setDstX(in.Dst, d)
}

func (fl *floats) lowerFNeg(in *ir.Instr) {
	w, d := fl.wide(in.Dst), fl.dstX(in.Dst)
	sign := fl.scratchX()
	fl.constX(sign, w, -1<<(8*w-1))
	fl.moveX(d, w, fl.xval(in.A, w))
	fl.rmo(iXORPS, 4, d, regOpd(sign))
	fl.setDstX(in.Dst, d)
}

func (fl *floats) lowerFToF(in *ir.Instr) {
	from, to := fl.wide(in.A), fl.wide(in.Dst)
	d := fl.dstX(in.Dst)
	a := fl.xval(in.A, from)
	switch {
	case from == to:
		fl.moveX(d, to, a)
	case from == 4:
		fl.rmo(iCVTSS2SD, 4, d, a)
	default:
		fl.rmo(iCVTSD2SS, 4, d, a)
	}
	fl.setDstX(in.Dst, d)
}

func (fl *floats) lowerSToF(in *ir.Instr) {
	w, d := fl.wide(in.Dst), fl.dstX(in.Dst)
	fl.rmo(iXORPS, 4, d, regOpd(d)) // no wait for the old upper half
	fl.rmo(fop(w, iCVTSI2SD, iCVTSI2SS), 8, d, fl.regm(in.A, 8))
	fl.setDstX(in.Dst, d)
}

// lowerUToF: a number from 2^63 on is halved, its lost bit kept so that
// rounding is right, converted and doubled.
func (fl *floats) lowerUToF(in *ir.Instr) {
	w, d := fl.wide(in.Dst), fl.dstX(in.Dst)
	cvt := fop(w, iCVTSI2SD, iCVTSI2SS)
	r := fl.reg(in.A, 8)
	fl.rmo(iXORPS, 4, d, regOpd(d))
	fl.mr(iTEST, 8, rmReg(r), r)
	big, done := fl.a.newLabel(), fl.a.newLabel()
	fl.a.jcc(ccS, big)
	fl.rmo(cvt, 8, d, regOpd(r))
	fl.a.bind(done)
	s, t := fl.scratch(), fl.scratch()
	fl.later(func() {
		fl.a.bind(big)
		fl.rmo(iMOV, 8, s, regOpd(r))
		fl.rmo(iMOV, 4, t, regOpd(r))
		fl.mi(iSHR, 8, rmReg(s), 1)
		fl.mi(iAND, 4, rmReg(t), 1)
		fl.rmo(iOR, 8, s, regOpd(t))
		fl.rmo(cvt, 8, d, regOpd(s))
		fl.rmo(fop(w, iADDSD, iADDSS), 4, d, regOpd(d))
		fl.a.jmp(done)
	})
	fl.setDstX(in.Dst, d)
}

func (fl *floats) lowerFToS(in *ir.Instr) {
	w, d := fl.wide(in.A), fl.dst(in.Dst)
	fl.rmo(fop(w, iCVTTSD2SI, iCVTTSS2SI), 8, d, fl.xval(in.A, w))
	fl.setDst(in.Dst, d)
}

func (fl *floats) lowerFToU(in *ir.Instr) {
	w, d := fl.wide(in.A), fl.dst(in.Dst)
	cvt := fop(w, iCVTTSD2SI, iCVTTSS2SI)
	x := fl.xreg(in.A, w)
	limit := fl.scratchX()
	bits := int64(0x43e0000000000000)
	if w == 4 {
		bits = 0x5f000000
	}
	fl.constX(limit, w, bits)
	fl.rmo(fop(w, iUCOMISD, iUCOMISS), 4, x, regOpd(limit))
	big, done := fl.a.newLabel(), fl.a.newLabel()
	fl.a.jcc(ccAE, big) // not taken by a NaN
	fl.rmo(cvt, 8, d, regOpd(x))
	fl.a.bind(done)
	y, s := fl.scratchX(), fl.scratch()
	fl.later(func() {
		fl.a.bind(big)
		fl.moveX(y, w, regOpd(x))
		fl.rmo(fop(w, iSUBSD, iSUBSS), 4, y, regOpd(limit))
		fl.rmo(cvt, 8, d, regOpd(y))
		fl.movImm(s, -1<<63)
		fl.rmo(iXOR, 8, d, regOpd(s))
		fl.a.jmp(done)
	})
	fl.setDst(in.Dst, d)
}

func (fl *floats) lowerFBits(in *ir.Instr) {
	w, d := fl.wide(in.A), fl.dst(in.Dst)
	if o := fl.xval(in.A, w); o.kind == opdMem {
		fl.rmo(iMOV, w, d, o)
	} else {
		fl.mr(iMOVQ, w, rmReg(d), o.r)
	}
	fl.setDst(in.Dst, d)
}

func (fl *floats) lowerBitsF(in *ir.Instr) {
	w, d := fl.wide(in.Dst), fl.dstX(in.Dst)
	fl.rmo(iMOVQ, w, d, fl.regm(in.A, w))
	fl.setDstX(in.Dst, d)
}
