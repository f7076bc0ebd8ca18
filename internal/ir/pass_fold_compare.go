package ir

// Rules of foldPass for comparisons.

// isTruth reports whether v is known to be 0 or 1.
func (f *folder) isTruth(v Value) bool { return f.facts[v].u <= 1 }

// truthItself: x != 0 and x == 1 are x when x is 0 or 1.
func truthItself(f *folder, i *Instr) bool { return f.isTruth(i.A) && f.become(i, i.A) }

// notTruth: x ^ 1 and x != 1 are x == 0 when x is 0 or 1.
func notTruth(f *folder, i *Instr) bool {
	return f.isTruth(i.A) && f.to(i, Eq, 4, i.A, f.constant(0))
}

// negateCompare: (a < b) == 0 is b <= a. Floats have that for == and != only,
// because of NaN.
func negateCompare(f *folder, i *Instr) bool {
	d := f.def(i.A)
	info := d.Op.Info()
	if info.Negated == Invalid {
		return false
	}
	a, b := d.A, d.B
	if info.Swapped {
		a, b = b, a
	}
	return f.to(i, info.Negated, d.W, a, b)
}

// compareMoved: x + c1 == c2 is x == c2 - c1 (modulo 2^n).
func compareMoved(f *folder, i *Instr, c int64) bool {
	d := f.def(i.A)
	if d.Op != Add || d.W < i.W {
		return false
	}
	k, ok := f.isConst(d.B)
	return ok && f.to(i, i.Op, i.W, d.A, f.imm(i.W, c-k))
}

// compareDifference: x - y == 0 and x ^ y == 0 are x == y.
func compareDifference(f *folder, i *Instr) bool {
	d := f.def(i.A)
	if d.Op != Sub && d.Op != Xor || d.W < i.W {
		return false
	}
	return f.to(i, i.Op, i.W, d.A, d.B)
}

// outOfRange: x == c cannot be when c is more than x can be.
func outOfRange(result int64) func(f *folder, i *Instr, c int64) bool {
	return func(f *folder, i *Instr, c int64) bool {
		u := f.facts[i.A].u
		return u < 8*i.W && low(i.W, uint64(c))>>u != 0 && f.number(i, result)
	}
}

// belowOne: x < 1 and x <= 0, unsigned, are x == 0.
func belowOne(f *folder, i *Instr) bool {
	return f.to(i, Eq, i.W, i.A, f.constant(0))
}

// zeroBelow: 0 < x, unsigned, is x != 0.
func zeroBelow(f *folder, i *Instr) bool {
	return f.is(i.A, i.W, 0) && f.to(i, Ne, i.W, i.B, f.constant(0))
}

// zeroAtMost: 0 <= x, unsigned, always.
func zeroAtMost(f *folder, i *Instr) bool { return f.is(i.A, i.W, 0) && f.number(i, 1) }

// alwaysBelow: x < c, x <= c, unsigned, when c is more than x can be.
func alwaysBelow(f *folder, i *Instr, c int64) bool {
	u := f.facts[i.A].u
	return u < 8*i.W && low(i.W, uint64(c))>>u != 0 && f.number(i, 1)
}
