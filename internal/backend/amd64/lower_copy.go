package amd64

import (
	"github.com/jalon-trace/jalon/internal/ir"
)

// copies copies memory to the record, and compares it with texts.
type copies struct {
	*planner
	*emitter
	*pool
	*stubs
	*operands
	rec func() Reg // the record's address
}

func init() {
	lower[ir.Copy] = (*gen).lowerCopy
	lower[ir.CopyN] = (*gen).lowerCopyN
	lower[ir.CopyMax] = (*gen).lowerCopyMax
}

// Layout of a Counted slot.
const (
	slotLen   = 0
	slotFlags = 4
	slotBytes = ir.CountedHeader
)

// copyFault is where a copy goes when it cannot read.
func (cp *copies) copyFault(in *ir.Instr, src mem) label {
	if in.Fault == ir.NoBlock {
		return noLabel
	}
	return cp.faultEdge(in.Fault, src)
}

// unrolledMax is the largest copy without a loop.
const unrolledMax = 128

func (cp *copies) lowerCopy(in *ir.Instr) {
	n := in.Aux
	if n == 0 {
		return
	}
	src, dst := cp.pointer(in.A, 0, n), at(cp.rec(), int32(in.Imm))
	fix := cp.copyFault(in, src)
	if fix != noLabel {
		cp.nullTest(in.A, src.base, fix)
	}
	whole := int64(0)
	if n > unrolledMax {
		whole = n &^ 31
		i := cp.scratch()
		cp.movImm(i, 0)
		cp.blocks32(src.indexed(i), dst.indexed(i), i, immOpd(whole-32), fix)
		cp.release(i)
	}
	if n > whole {
		// The last pieces may overlap what the loop did, but not precede the source.
		cp.copyPieces(src.plus(int32(whole)), dst.plus(int32(whole)), n-whole, fix)
	}
}

// copyPieces copies n bytes with straight code.
func (cp *copies) copyPieces(src, dst mem, n int64, fix label) {
	if n <= 32 {
		t := cp.scratch()
		for _, p := range pieces(n, 8) {
			o := memOpd(src.plus(p.off))
			o.fix = fix
			cp.extend(t, p.w, false, o)
			cp.mr(iMOV, p.w, rmMem(dst.plus(p.off)), t)
		}
		cp.release(t)
		return
	}
	x := cp.scratchX()
	for _, p := range pieces(n, 16) {
		if p.w < 16 {
			p = piece{int32(n - 16), 16} // overlaps
		}
		cp.copy16(src.plus(p.off), dst.plus(p.off), x, fix)
		if int64(p.off)+16 == n {
			break
		}
	}
}

func (cp *copies) copy16(src, dst mem, x Reg, fix label) {
	o := memOpd(src)
	o.fix = fix
	cp.rmo(iMOVUPS, 4, x, o)
	cp.mr(iMOVUPS, 4, rmMem(dst), x)
}

// blocks32 copies 32 bytes at a time while i <= last, from the present i.
func (cp *copies) blocks32(src, dst mem, i Reg, last opd, fix label) {
	x, y := cp.scratchX(), cp.scratchX()
	loop := cp.a.newLabel()
	cp.a.bind(loop)
	lo, hi := memOpd(src), memOpd(src.plus(16))
	lo.fix, hi.fix = fix, fix
	cp.rmo(iMOVUPS, 4, x, lo)
	cp.rmo(iMOVUPS, 4, y, hi)
	cp.mr(iMOVUPS, 4, rmMem(dst), x)
	cp.mr(iMOVUPS, 4, rmMem(dst.plus(16)), y)
	cp.mi(iADD, 8, rmReg(i), 32)
	cp.rmo(iCMP, 8, i, last)
	cp.a.jcc(ccLE, loop)
}

// copyLoop copies bytes from i on up to n (both in registers) and leaves i == n.
func (cp *copies) copyLoop(src, dst mem, i, n Reg, fix label) {
	t := cp.scratch()
	words, bytes, done := cp.a.newLabel(), cp.a.newLabel(), cp.a.newLabel()
	src, dst = src.indexed(i), dst.indexed(i)
	cp.lea(8, t, at(n, -32))
	cp.rmo(iCMP, 8, i, regOpd(t))
	cp.a.jcc(ccG, words)
	cp.blocks32(src, dst, i, regOpd(t), fix)
	cp.a.bind(words)
	eight := cp.a.newLabel()
	cp.a.bind(eight)
	cp.lea(8, t, at(i, 8))
	cp.rmo(iCMP, 8, t, regOpd(n))
	cp.a.jcc(ccG, bytes)
	o := memOpd(src)
	o.fix = fix
	cp.rmo(iMOV, 8, t, o)
	cp.mr(iMOV, 8, rmMem(dst), t)
	cp.mi(iADD, 8, rmReg(i), 8)
	cp.a.jmp(eight)
	cp.a.bind(bytes)
	cp.byteLoop(src, dst, i, n, t, fix, done)
	cp.a.bind(done)
	cp.release(t)
}

// byteLoop copies the rest byte by byte; src and dst are indexed by i.
func (cp *copies) byteLoop(src, dst mem, i, n, t Reg, fix, done label) {
	one := cp.a.newLabel()
	cp.a.bind(one)
	cp.rmo(iCMP, 8, i, regOpd(n))
	cp.a.jcc(ccGE, done)
	o := memOpd(src)
	o.fix = fix
	cp.rmo(iMOVZB, 4, t, o)
	cp.mr(iMOV, 1, rmMem(dst), t)
	cp.mi(iADD, 8, rmReg(i), 1)
	cp.a.jmp(one)
}

func (cp *copies) lowerCopyN(in *ir.Instr) {
	src, dst := cp.pointer(in.A, 0, in.Aux), at(cp.rec(), int32(in.Imm))
	fix := cp.copyFault(in, src)
	n, i := cp.scratch(), cp.scratch()
	cp.move(n, 8, cp.val(in.B, 8))
	// More than fits: all of the slot, and flag 1.
	cp.mi(iCMP, 8, rmReg(n), in.Aux)
	within := cp.a.newLabel()
	cp.mi(iMOV, 4, rmMem(dst.plus(slotFlags)), 0)
	cp.a.jcc(ccBE, within)
	cp.movImm(n, in.Aux)
	cp.mi(iMOV, 4, rmMem(dst.plus(slotFlags)), ir.FlagTruncated)
	cp.a.bind(within)
	cp.mr(iMOV, 4, rmMem(dst.plus(slotLen)), n)
	cp.movImm(i, 0)
	cp.copyLoop(src, dst.plus(slotBytes), i, n, fix)
}

// lowerCopyMax copies by blocks. If a block cannot be read, memory ends at the next page boundary or here: it
// copies the bytes up to the boundary and no more.
func (cp *copies) lowerCopyMax(in *ir.Instr) {
	src, dst := cp.pointer(in.A, 0, in.Aux), at(cp.rec(), int32(in.Imm))
	n, i := cp.scratch(), cp.scratch()
	wide, end := cp.a.newLabel(), cp.a.newLabel()
	cp.movImm(i, 0)
	if cp.pointsNowhere(in, src.base, end) {
		cp.movImm(n, in.Aux)
		cp.copyLoop(src, dst.plus(slotBytes), i, n, wide)
	}
	cp.a.bind(end)
	cp.mr(iMOV, 4, rmMem(dst.plus(slotLen)), i)
	cp.mi(iMOV, 4, rmMem(dst.plus(slotFlags)), 0)
	t := cp.scratch()
	cp.later(func() {
		cp.a.bind(wide)
		border := cp.a.newLabel()
		cp.lea(8, t, src.indexed(i))
		cp.m(iNEG, 8, regOpd(t))
		cp.mi(iAND, 4, rmReg(t), 4095)
		cp.rmo(iADD, 8, t, regOpd(i)) // where the page ends
		cp.rmo(iCMP, 8, t, regOpd(n))
		cp.a.jcc(ccGE, border)
		cp.rmo(iMOV, 8, n, regOpd(t))
		cp.a.bind(border)
		// A block within one page has no readable beginning.
		cp.rmo(iMOV, 8, t, regOpd(n))
		cp.rmo(iSUB, 8, t, regOpd(i))
		cp.mi(iCMP, 8, rmReg(t), 32)
		cp.a.jcc(ccAE, end)
		cp.byteLoop(src.indexed(i), dst.plus(slotBytes).indexed(i), i, n, t, end, end)
	})
}

// pointsNowhere emits the null test of a copy that cannot fail; it reports
// whether anything is to be copied.
func (cp *copies) pointsNowhere(in *ir.Instr, base Reg, end label) bool {
	if in.Aux == 0 {
		return false
	}
	cp.nullTest(in.A, base, end)
	return true
}
