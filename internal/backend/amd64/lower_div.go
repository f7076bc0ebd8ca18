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

func (ig *integers) lowerDiv(in *ir.Instr) {
	d := ig.dst(in.Dst)
	defer ig.setDst(in.Dst, d)
	k, isConst := ig.an.constant(in.B)
	if isConst && divIsSimple(in.Op, in.W, k) {
		ig.divSimple(d, in, uint64(k&widthMask(in.W)))
		return
	}
	if in.W == 4 {
		k = int64(int32(k))
	}
	signed := in.Op == ir.SDiv || in.Op == ir.SRem
	rem := in.Op == ir.SRem || in.Op == ir.URem
	ig.take(RAX)
	ig.take(RDX)
	divisor := ig.regm(in.B, in.W)
	ig.moveAny(RAX, in.W, ig.val(in.A, in.W))
	done := ig.a.newLabel()
	if !isConst {
		ig.divGuard(divisor, in.W, 0, done, func() { // x/0 = 0, x%0 = x
			if rem {
				ig.rmo(iMOV, in.W, RDX, regOpd(RAX))
			} else {
				ig.zero(RAX)
			}
		})
	}
	minusOne := func() { // MIN/-1 traps in the divider; x/-1 = -x, x%-1 = 0
		if rem {
			ig.zero(RDX)
		} else {
			ig.m(iNEG, in.W, regOpd(RAX))
		}
	}
	if signed && !isConst {
		ig.divGuard(divisor, in.W, -1, done, minusOne)
	}
	if signed && isConst && k == -1 {
		minusOne()
	} else {
		ig.divide(divisor, in.W, signed)
	}
	ig.a.bind(done)
	from := RAX
	if rem {
		from = RDX
	}
	ig.rmo(iMOV, in.W, d, regOpd(from))
}

func (ig *integers) divide(divisor opd, w uint8, signed bool) {
	ig.clobber(item(RAX))
	ig.clobber(item(RDX))
	switch {
	case !signed:
		ig.zero(RDX)
		ig.m(iDIV, w, divisor)
		return
	case w == 4:
		ig.a.plain(iCDQ)
	default:
		ig.a.plain(iCQO)
	}
	ig.m(iIDIV, w, divisor)
}

// divGuard handles the divisor k out of line.
func (ig *integers) divGuard(divisor opd, w uint8, k int64, done label, f func()) {
	if divisor.kind == opdReg && k == 0 {
		ig.mr(iTEST, w, rmReg(divisor.r), divisor.r)
	} else {
		ig.mio(iCMP, w, divisor, k)
	}
	special := ig.a.newLabel()
	ig.a.jcc(ccE, special)
	ig.later(func() {
		ig.a.bind(special)
		f()
		ig.a.jmp(done)
	})
}

func (ig *integers) divSimple(d Reg, in *ir.Instr, k uint64) {
	rem := in.Op == ir.SRem || in.Op == ir.URem
	switch {
	case k == 0 && !rem, k == 1 && rem:
		ig.movImm(d, 0)
		return
	}
	ig.move(d, in.W, ig.val(in.A, in.W))
	switch n := bits.TrailingZeros64(k); {
	case k <= 1: // x%0 = x, x/1 = x
	case !rem:
		ig.mi(iSHR, in.W, rmReg(d), int64(n))
	case k-1 <= 0x7fffffff:
		ig.mi(iAND, in.W, rmReg(d), int64(k-1))
	default:
		s := ig.constReg(int64(k - 1))
		ig.rmo(iAND, in.W, d, regOpd(s))
	}
}
