package amd64

import (
	"github.com/jalon-trace/jalon/internal/ir"
)

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
func (g *gen) copyFault(in *ir.Instr, src mem) label {
	if in.Fault == ir.NoBlock {
		return noLabel
	}
	return g.faultEdge(in.Fault, src)
}

// unrolledMax is the largest copy without a loop.
const unrolledMax = 128

func (g *gen) lowerCopy(in *ir.Instr) {
	n := in.Aux
	if n == 0 {
		return
	}
	src, dst := g.pointer(in.A, 0, n), at(g.rec(), int32(in.Imm))
	fix := g.copyFault(in, src)
	if fix != noLabel {
		g.nullTest(in.A, src.base, fix)
	}
	whole := int64(0)
	if n > unrolledMax {
		whole = n &^ 31
		i := g.scratch()
		g.movImm(i, 0)
		g.blocks32(src.indexed(i), dst.indexed(i), i, immOpd(whole-32), fix)
		g.release(i)
	}
	if n > whole {
		// The last pieces may overlap what the loop did, but not precede the source.
		g.copyPieces(src.plus(int32(whole)), dst.plus(int32(whole)), n-whole, fix)
	}
}

// copyPieces copies n bytes with straight code.
func (g *gen) copyPieces(src, dst mem, n int64, fix label) {
	if n <= 32 {
		t := g.scratch()
		for _, p := range pieces(n, 8) {
			o := memOpd(src.plus(p.off))
			o.fix = fix
			g.extend(t, p.w, false, o)
			g.mr(iMOV, p.w, rmMem(dst.plus(p.off)), t)
		}
		g.release(t)
		return
	}
	x := g.scratchX()
	for _, p := range pieces(n, 16) {
		if p.w < 16 {
			p = piece{int32(n - 16), 16} // overlaps
		}
		g.copy16(src.plus(p.off), dst.plus(p.off), x, fix)
		if int64(p.off)+16 == n {
			break
		}
	}
}

func (g *gen) copy16(src, dst mem, x Reg, fix label) {
	o := memOpd(src)
	o.fix = fix
	g.rmo(iMOVUPS, 4, x, o)
	g.mr(iMOVUPS, 4, rmMem(dst), x)
}

// blocks32 copies 32 bytes at a time while i <= last, i from where it is.
func (g *gen) blocks32(src, dst mem, i Reg, last opd, fix label) {
	x, y := g.scratchX(), g.scratchX()
	loop := g.a.newLabel()
	g.a.bind(loop)
	lo, hi := memOpd(src), memOpd(src.plus(16))
	lo.fix, hi.fix = fix, fix
	g.rmo(iMOVUPS, 4, x, lo)
	g.rmo(iMOVUPS, 4, y, hi)
	g.mr(iMOVUPS, 4, rmMem(dst), x)
	g.mr(iMOVUPS, 4, rmMem(dst.plus(16)), y)
	g.mi(iADD, 8, rmReg(i), 32)
	g.rmo(iCMP, 8, i, last)
	g.a.jcc(ccLE, loop)
}

// copyLoop copies bytes from i on up to n (both in registers) and leaves i == n.
func (g *gen) copyLoop(src, dst mem, i, n Reg, fix label) {
	t := g.scratch()
	words, bytes, done := g.a.newLabel(), g.a.newLabel(), g.a.newLabel()
	src, dst = src.indexed(i), dst.indexed(i)
	g.lea(8, t, at(n, -32))
	g.rmo(iCMP, 8, i, regOpd(t))
	g.a.jcc(ccG, words)
	g.blocks32(src, dst, i, regOpd(t), fix)
	g.a.bind(words)
	eight := g.a.newLabel()
	g.a.bind(eight)
	g.lea(8, t, at(i, 8))
	g.rmo(iCMP, 8, t, regOpd(n))
	g.a.jcc(ccG, bytes)
	o := memOpd(src)
	o.fix = fix
	g.rmo(iMOV, 8, t, o)
	g.mr(iMOV, 8, rmMem(dst), t)
	g.mi(iADD, 8, rmReg(i), 8)
	g.a.jmp(eight)
	g.a.bind(bytes)
	g.byteLoop(src, dst, i, n, t, fix, done)
	g.a.bind(done)
	g.release(t)
}

// byteLoop copies the rest byte by byte; src and dst are indexed by i.
func (g *gen) byteLoop(src, dst mem, i, n, t Reg, fix, done label) {
	one := g.a.newLabel()
	g.a.bind(one)
	g.rmo(iCMP, 8, i, regOpd(n))
	g.a.jcc(ccGE, done)
	o := memOpd(src)
	o.fix = fix
	g.rmo(iMOVZB, 4, t, o)
	g.mr(iMOV, 1, rmMem(dst), t)
	g.mi(iADD, 8, rmReg(i), 1)
	g.a.jmp(one)
}

func (g *gen) lowerCopyN(in *ir.Instr) {
	src, dst := g.pointer(in.A, 0, in.Aux), at(g.rec(), int32(in.Imm))
	fix := g.copyFault(in, src)
	n, i := g.scratch(), g.scratch()
	g.move(n, 8, g.val(in.B, 8))
	// More than fits: all of the slot, and flag 1.
	g.mi(iCMP, 8, rmReg(n), in.Aux)
	within := g.a.newLabel()
	g.mi(iMOV, 4, rmMem(dst.plus(slotFlags)), 0)
	g.a.jcc(ccBE, within)
	g.movImm(n, in.Aux)
	g.mi(iMOV, 4, rmMem(dst.plus(slotFlags)), ir.FlagTruncated)
	g.a.bind(within)
	g.mr(iMOV, 4, rmMem(dst.plus(slotLen)), n)
	g.movImm(i, 0)
	g.copyLoop(src, dst.plus(slotBytes), i, n, fix)
}

// lowerCopyMax copies by blocks. If a block cannot be read, memory ends at the next page boundary or here: it
// copies the bytes up to the boundary and no more.
func (g *gen) lowerCopyMax(in *ir.Instr) {
	src, dst := g.pointer(in.A, 0, in.Aux), at(g.rec(), int32(in.Imm))
	n, i := g.scratch(), g.scratch()
	wide, end := g.a.newLabel(), g.a.newLabel()
	g.movImm(i, 0)
	if g.pointsNowhere(in, src.base, end) {
		g.movImm(n, in.Aux)
		g.copyLoop(src, dst.plus(slotBytes), i, n, wide)
	}
	g.a.bind(end)
	g.mr(iMOV, 4, rmMem(dst.plus(slotLen)), i)
	g.mi(iMOV, 4, rmMem(dst.plus(slotFlags)), 0)
	t := g.scratch()
	g.later(func() {
		g.a.bind(wide)
		border := g.a.newLabel()
		g.lea(8, t, src.indexed(i))
		g.m(iNEG, 8, regOpd(t))
		g.mi(iAND, 4, rmReg(t), 4095)
		g.rmo(iADD, 8, t, regOpd(i)) // where the page ends
		g.rmo(iCMP, 8, t, regOpd(n))
		g.a.jcc(ccGE, border)
		g.rmo(iMOV, 8, n, regOpd(t))
		g.a.bind(border)
		// A block within one page has no readable beginning.
		g.rmo(iMOV, 8, t, regOpd(n))
		g.rmo(iSUB, 8, t, regOpd(i))
		g.mi(iCMP, 8, rmReg(t), 32)
		g.a.jcc(ccAE, end)
		g.byteLoop(src.indexed(i), dst.plus(slotBytes).indexed(i), i, n, t, end, end)
	})
}

// pointsNowhere emits the null test of a copy that cannot fail; it reports
// whether anything is to be copied.
func (g *gen) pointsNowhere(in *ir.Instr, base Reg, end label) bool {
	if in.Aux == 0 {
		return false
	}
	g.nullTest(in.A, base, end)
	return true
}
