package amd64

import (
	"math/bits"

	"github.com/jalon-trace/jalon/internal/ir"
)

func init() {
	for _, op := range []ir.Op{ir.SDiv, ir.UDiv, ir.SRem, ir.URem} {
		lower[op] = (*gen).lowerDiv
	}
}

// divIsSimple reports whether a division by the constant k needs no div
// instruction: by zero, and unsigned by a power of two.
func divIsSimple(op ir.Op, w uint8, k int64) bool {
	u := uint64(k & widthMask(w))
	return u == 0 || (op == ir.UDiv || op == ir.URem) && u&(u-1) == 0
}

func (g *gen) lowerDiv(in *ir.Instr) {
	d := g.dst(in.Dst)
	defer g.setDst(in.Dst, d)
	k, isConst := g.an.constant(in.B)
	if isConst && divIsSimple(in.Op, in.W, k) {
		g.divSimple(d, in, uint64(k&widthMask(in.W)))
		return
	}
	if in.W == 4 {
		k = int64(int32(k))
	}
	signed := in.Op == ir.SDiv || in.Op == ir.SRem
	rem := in.Op == ir.SRem || in.Op == ir.URem
	g.take(RAX)
	g.take(RDX)
	divisor := g.regm(in.B, in.W)
	g.moveAny(RAX, in.W, g.val(in.A, in.W))
	done := g.a.newLabel()
	if !isConst {
		g.divGuard(divisor, in.W, 0, done, func() { // x/0 = 0, x%0 = x
			if rem {
				g.rmo(iMOV, in.W, RDX, regOpd(RAX))
			} else {
				g.zero(RAX)
			}
		})
	}
	minusOne := func() { // MIN/-1 traps in the divider; x/-1 = -x, x%-1 = 0
		if rem {
			g.zero(RDX)
		} else {
			g.m(iNEG, in.W, regOpd(RAX))
		}
	}
	if signed && !isConst {
		g.divGuard(divisor, in.W, -1, done, minusOne)
	}
	if signed && isConst && k == -1 {
		minusOne()
	} else {
		g.divide(divisor, in.W, signed)
	}
	g.a.bind(done)
	from := RAX
	if rem {
		from = RDX
	}
	g.rmo(iMOV, in.W, d, regOpd(from))
}

func (g *gen) divide(divisor opd, w uint8, signed bool) {
	g.clobber(item(RAX))
	g.clobber(item(RDX))
	switch {
	case !signed:
		g.zero(RDX)
		g.m(iDIV, w, divisor)
		return
	case w == 4:
		g.a.plain(iCDQ)
	default:
		g.a.plain(iCQO)
	}
	g.m(iIDIV, w, divisor)
}

// divGuard handles the divisor k out of line.
func (g *gen) divGuard(divisor opd, w uint8, k int64, done label, f func()) {
	if divisor.kind == opdReg && k == 0 {
		g.mr(iTEST, w, rmReg(divisor.r), divisor.r)
	} else {
		g.mio(iCMP, w, divisor, k)
	}
	special := g.a.newLabel()
	g.a.jcc(ccE, special)
	g.later(func() {
		g.a.bind(special)
		f()
		g.a.jmp(done)
	})
}

func (g *gen) divSimple(d Reg, in *ir.Instr, k uint64) {
	rem := in.Op == ir.SRem || in.Op == ir.URem
	switch {
	case k == 0 && !rem, k == 1 && rem:
		g.movImm(d, 0)
		return
	}
	g.move(d, in.W, g.val(in.A, in.W))
	switch n := bits.TrailingZeros64(k); {
	case k <= 1: // x%0 = x, x/1 = x
	case !rem:
		g.mi(iSHR, in.W, rmReg(d), int64(n))
	case k-1 <= 0x7fffffff:
		g.mi(iAND, in.W, rmReg(d), int64(k-1))
	default:
		s := g.constReg(int64(k - 1))
		g.rmo(iAND, in.W, d, regOpd(s))
	}
}
