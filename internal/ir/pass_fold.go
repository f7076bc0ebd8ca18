package ir

import "math/bits"

// foldPass evaluates constant operations and applies the algebraic rules in foldRules. A product by a power
// of two is not changed: the backend chooses its instruction.
func foldPass(p *Program) bool {
	f := &folder{rewriter: newRewriter(p)}
	return f.run(f.instr, nil)
}

type folder struct{ *rewriter }

// rule looks at *i and either changes it, or names a value to take its place.
// It returns whether it did.
type rule func(f *folder, i *Instr) bool

// instr applies rules until none fits. Each rule brings i nearer to a
// canonical form, so that ends soon; the bound is for a mistake in the rules.
func (f *folder) instr(i Instr) {
	before := i
	for range 16 {
		if !f.once(&i) {
			break
		}
		if i.Op == Invalid { // replaced
			return
		}
	}
	if i != before {
		f.changed = true
	}
	f.keep(i)
}

func (f *folder) once(i *Instr) bool {
	if f.compute(i) {
		return true
	}
	if _, bConst := f.isConst(i.B); i.Op.Info().Commutes && !bConst {
		if _, aConst := f.isConst(i.A); aConst {
			i.A, i.B = i.B, i.A
			return true
		}
	}
	for _, r := range foldRules[i.Op] {
		if r(f, i) {
			return true
		}
	}
	return false
}

// compute replaces an operation whose operands are constants by its result.
func (f *folder) compute(i *Instr) bool {
	info := i.Op.Info()
	if !info.Pure || info.A == NoOperand {
		return false
	}
	a, ok := f.bits(i.A)
	if !ok {
		return false
	}
	var b uint64
	if info.B != NoOperand {
		if b, ok = f.bits(i.B); !ok {
			return false
		}
	}
	v, ok := Compute(i.Op, i.W, f.p.OpClass(i), a, b)
	if !ok {
		return false
	}
	op := Const
	if f.p.Classes[i.Dst] != I64 {
		op = FConst
	}
	*i = Instr{Op: op, Dst: i.Dst, A: None, B: None, Imm: int64(v), Fault: NoBlock}
	return true
}

// bits are those of a constant of any class.
func (f *folder) bits(v Value) (uint64, bool) {
	d := f.def(v)
	return uint64(d.Imm), d.Op == Const || d.Op == FConst
}

// become replaces the result of i by v, which must have the same bits.
func (f *folder) become(i *Instr, v Value) bool {
	f.replace(i.Dst, v)
	i.Op = Invalid
	return true
}

// same lets the low i.W bytes of v, zero-extended, be the result of i.
func (f *folder) same(i *Instr, v Value) bool {
	if i.W >= 8 || f.facts[v].u <= 8*i.W {
		return f.become(i, v)
	}
	return f.to(i, ZExt, i.W, v, None)
}

// to makes i another operation with the same result.
func (f *folder) to(i *Instr, op Op, w uint8, a, b Value) bool {
	*i = Instr{Op: op, W: w, Dst: i.Dst, A: a, B: b, Fault: NoBlock}
	return true
}

// number makes i the constant n.
func (f *folder) number(i *Instr, n int64) bool {
	*i = Instr{Op: Const, Dst: i.Dst, A: None, B: None, Imm: n, Fault: NoBlock}
	return true
}

// imm makes the constant n for an operation of width w, in its shortest form:
// only the low bytes count, so a negative one is as good.
func (f *folder) imm(w uint8, n int64) Value {
	return f.constant(signed(w, uint64(n)))
}

// byConst is a rule for a constant B.
func byConst(r func(f *folder, i *Instr, c int64) bool) rule {
	return func(f *folder, i *Instr) bool {
		c, ok := f.isConst(i.B)
		return ok && r(f, i, c)
	}
}

// ifB is a rule for one certain constant B.
func ifB(n int64, r rule) rule {
	return func(f *folder, i *Instr) bool { return f.is(i.B, i.W, n) && r(f, i) }
}

// ifSame is a rule for equal operands.
func ifSame(r rule) rule {
	return func(f *folder, i *Instr) bool { return i.A == i.B && r(f, i) }
}

func toA(f *folder, i *Instr) bool { return f.same(i, i.A) }

func toNumber(n int64) rule {
	return func(f *folder, i *Instr) bool { return f.number(i, n) }
}

func toOp(op Op) rule {
	return func(f *folder, i *Instr) bool { return f.to(i, op, i.W, i.A, None) }
}

// countZero is the rule for a shift by no bit.
var countZero = byConst(func(f *folder, i *Instr, c int64) bool {
	return count(i.W, uint64(c)) == 0 && f.same(i, i.A)
})

// foldRules are tried in order after constants went to the right.
var foldRules = map[Op][]rule{
	Add: {ifB(0, toA), chain(Add)},
	Sub: {ifB(0, toA), ifSame(toNumber(0)), byConst(subToAdd)},
	Mul: {ifB(0, toNumber(0)), ifB(1, toA), ifB(-1, toOp(Neg)), chain(Mul)},

	SDiv: {ifB(0, toNumber(0)), ifB(1, toA), ifB(-1, toOp(Neg))},
	SRem: {ifB(0, toA), ifB(1, toNumber(0)), ifB(-1, toNumber(0))},
	UDiv: {ifB(0, toNumber(0)), ifB(1, toA), byConst(udivToShr)},
	URem: {ifB(0, toA), ifB(1, toNumber(0)), byConst(uremToAnd)},

	And: {ifB(0, toNumber(0)), ifB(-1, toA), ifSame(toA), byConst(maskAll), byConst(maskToExt), chain(And)},
	Or:  {ifB(0, toA), ifB(-1, orOnes), ifSame(toA), chain(Or)},
	Xor: {ifB(0, toA), ifB(-1, toOp(Not)), ifSame(toNumber(0)), ifB(1, notTruth), chain(Xor)},
	Shl: {countZero, byConst(countCanonical)},
	Shr: {countZero, byConst(countCanonical), shiftsToExt(ZExt)},
	Sar: {countZero, byConst(countCanonical), shiftsToExt(SExt)},
	Neg: {twice(Neg)},
	Not: {twice(Not)},

	Eq:  {ifSame(toNumber(1)), ifB(0, negateCompare), ifB(1, truthItself), byConst(compareMoved), ifB(0, compareDifference), byConst(outOfRange(0))},
	Ne:  {ifSame(toNumber(0)), ifB(0, truthItself), ifB(1, notTruth), byConst(compareMoved), ifB(0, compareDifference), byConst(outOfRange(1))},
	SLt: {ifSame(toNumber(0))},
	SLe: {ifSame(toNumber(1))},
	ULt: {ifSame(toNumber(0)), ifB(0, toNumber(0)), ifB(1, belowOne), zeroBelow, byConst(alwaysBelow)},
	ULe: {ifSame(toNumber(1)), ifB(0, belowOne), zeroAtMost, byConst(alwaysBelow)},

	FNeg:  {twice(FNeg)},
	FBits: {bitsOfBits},
	BitsF: {bitsOfBits},
	Load:  {wholeLoad},
}

// chain joins (x op c1) op c2 to x op (c1 op c2). The inner operation must
// compute at least the bytes that the outer one sees.
func chain(op Op) rule {
	return byConst(func(f *folder, i *Instr, c int64) bool {
		d := f.def(i.A)
		if d.Op != op || d.W < i.W {
			return false
		}
		inner, ok := f.isConst(d.B)
		if !ok {
			return false
		}
		v, _ := Compute(op, i.W, I64, uint64(inner), uint64(c))
		return f.to(i, op, i.W, d.A, f.imm(i.W, int64(v)))
	})
}

func subToAdd(f *folder, i *Instr, c int64) bool {
	return f.to(i, Add, i.W, i.A, f.imm(i.W, -c))
}

// udivToShr and uremToAnd are for powers of two.
func udivToShr(f *folder, i *Instr, c int64) bool {
	u := low(i.W, uint64(c))
	if bits.OnesCount64(u) != 1 {
		return false
	}
	return f.to(i, Shr, i.W, i.A, f.constant(int64(bits.TrailingZeros64(u))))
}

func uremToAnd(f *folder, i *Instr, c int64) bool {
	u := low(i.W, uint64(c))
	if bits.OnesCount64(u) != 1 {
		return false
	}
	return f.to(i, And, i.W, i.A, f.imm(i.W, int64(u-1)))
}

// maskAll drops a mask that keeps every bit that A can have.
func maskAll(f *folder, i *Instr, c int64) bool {
	u := f.facts[i.A].u
	return u <= 8*i.W && u < 64 && uint64(c)&(1<<u-1) == 1<<u-1 && f.become(i, i.A)
}

// maskToExt: a mask of 1, 2 or 4 whole bytes is an extension.
func maskToExt(f *folder, i *Instr, c int64) bool {
	switch low(i.W, uint64(c)) {
	case 0xff:
		return f.to(i, ZExt, 1, i.A, None)
	case 0xffff:
		return f.to(i, ZExt, 2, i.A, None)
	case 0xffffffff:
		return f.to(i, ZExt, 4, i.A, None)
	}
	return false
}

func orOnes(f *folder, i *Instr) bool { return f.number(i, int64(low(i.W, 1<<64-1))) }

// countCanonical brings a shift count into range.
func countCanonical(f *folder, i *Instr, c int64) bool {
	n := int64(count(i.W, uint64(c)))
	return n != c && f.to(i, i.Op, i.W, i.A, f.constant(n))
}

// shiftsToExt: (x << k) >> k is an extension when k leaves 1, 2 or 4 bytes.
// With W 4 a signed one would need cutting to 32 bits afterwards.
func shiftsToExt(op Op) rule {
	return byConst(func(f *folder, i *Instr, k int64) bool {
		d := f.def(i.A)
		if d.Op != Shl || d.W != i.W || !f.is(d.B, 8, k) || op == SExt && i.W != 8 {
			return false
		}
		switch left := 8*int64(i.W) - k; left {
		case 8, 16, 32:
			return f.to(i, op, uint8(left/8), d.A, None)
		}
		return false
	})
}

// twice: two of these undo each other.
func twice(op Op) rule {
	return func(f *folder, i *Instr) bool {
		d := f.def(i.A)
		return d.Op == op && d.W == i.W && f.same2(i, d.A)
	}
}

// same2 is same for operations without a width too.
func (f *folder) same2(i *Instr, v Value) bool {
	if i.W == 0 {
		return f.become(i, v)
	}
	return f.same(i, v)
}

// bitsOfBits: the bits of a number made from bits, and the reverse.
func bitsOfBits(f *folder, i *Instr) bool {
	d := f.def(i.A)
	switch {
	case i.Op == BitsF && d.Op == FBits && f.p.Classes[d.A] == f.p.Classes[i.Dst]:
		return f.become(i, d.A)
	case i.Op == FBits && d.Op == BitsF && f.p.Classes[i.A] == F64:
		return f.become(i, d.A)
	case i.Op == FBits && d.Op == BitsF:
		i.W = 4
		return f.same(i, d.A)
	}
	return false
}

// wholeLoad: all 8 bytes have no sign to extend.
func wholeLoad(_ *folder, i *Instr) bool {
	if i.W != 8 || !i.Signed {
		return false
	}
	i.Signed = false
	return true
}
