package ir

import "math/bits"

// fact is what is known of a value's size: it is below 2^u, and it is the
// sign extension of its low s bits. The zero fact belongs to a value
// that nothing has defined yet (it is the neutral element of join).
type fact struct{ u, s uint8 }

var (
	unknownFact = fact{64, 64}
	boolFact    = fact{1, 2}
)

// unsignedFact is a number below 2^n.
func unsignedFact(n uint8) fact {
	n = min(n, 64)
	return fact{n, min(n+1, 64)}
}

// signedFact is a number of n bits with sign.
func signedFact(n uint8) fact { return fact{64, min(max(n, 1), 64)} }

func (f fact) join(g fact) fact { return fact{max(f.u, g.u), max(f.s, g.s)} }

// both is the fact when f and g both hold.
func (f fact) both(g fact) fact { return fact{min(f.u, g.u), min(f.s, g.s)} }

// low is the fact of the low w bytes, zero-extended.
func (f fact) low(w uint8) fact { return unsignedFact(min(f.u, 8*w)) }

func constFact(v int64) fact {
	u := uint8(bits.Len64(uint64(v)))
	s := uint8(bits.Len64(uint64(v^v>>63))) + 1
	return fact{u, s}
}

// factOf computes what is known of the result of i from the facts of its operands.
func (rw *rewriter) factOf(i *Instr) fact {
	f, ok := factRules[i.Op]
	if !ok {
		return unknownFact
	}
	var a, b fact
	if i.A != None {
		a = rw.facts[i.A]
	}
	if i.B != None {
		b = rw.facts[i.B]
	}
	got := f(rw, i, a, b)
	if info := i.Op.Info(); i.W == 4 && info.Widths == w48 {
		got = got.both(unsignedFact(32))
	}
	return got
}

// factRules computes the fact of a result before it is cut to the width. With W 4
// the rules for u start from the low 32 bits of the operands; what they say
// of s holds for W 8 only, so there they start from unknown.
var factRules = map[Op]func(rw *rewriter, i *Instr, a, b fact) fact{
	Const: func(_ *rewriter, i *Instr, _, _ fact) fact { return constFact(i.Imm) },
	Add: func(_ *rewriter, i *Instr, a, b fact) fact {
		return wide(i, fact{max(cut(a, i), cut(b, i)) + 1, max(a.s, b.s) + 1})
	},
	Sub: func(_ *rewriter, i *Instr, a, b fact) fact { return wide(i, fact{64, max(a.s, b.s) + 1}) },
	Mul: func(_ *rewriter, i *Instr, a, b fact) fact {
		return wide(i, fact{cut(a, i) + cut(b, i), a.s + b.s})
	},
	BitLen: func(_ *rewriter, _ *Instr, a, _ fact) fact { return unsignedFact(uint8(bits.Len8(a.u))) },
	SDiv: func(_ *rewriter, i *Instr, a, b fact) fact {
		if top := 8*i.W - 1; a.u <= top && b.u <= top {
			return unsignedFact(a.u)
		}
		return wide(i, fact{64, a.s + 1})
	},
	SRem: func(_ *rewriter, i *Instr, a, _ fact) fact {
		if a.u <= 8*i.W-1 {
			return unsignedFact(a.u)
		}
		return wide(i, fact{64, a.s})
	},
	UDiv: func(_ *rewriter, i *Instr, a, _ fact) fact { return unsignedFact(cut(a, i)) },
	URem: func(_ *rewriter, i *Instr, a, _ fact) fact { return unsignedFact(cut(a, i)) },
	And: func(_ *rewriter, i *Instr, a, b fact) fact {
		return wide(i, fact{min(cut(a, i), cut(b, i)), max(a.s, b.s)})
	},
	Or:  orFact,
	Xor: orFact,
	Shl: func(rw *rewriter, i *Instr, a, _ fact) fact {
		if k, ok := rw.isConst(i.B); ok {
			n := uint8(count(i.W, uint64(k)))
			return wide(i, fact{cut(a, i) + n, a.s + n})
		}
		return unknownFact
	},
	Shr: func(rw *rewriter, i *Instr, a, _ fact) fact { return unsignedFact(less(cut(a, i), rw, i)) },
	Sar: func(rw *rewriter, i *Instr, a, _ fact) fact {
		if a.u <= 8*i.W-1 {
			return unsignedFact(less(a.u, rw, i))
		}
		return wide(i, signedFact(max(less(a.s, rw, i), 1)))
	},
	Neg: func(_ *rewriter, i *Instr, a, _ fact) fact { return wide(i, fact{64, a.s + 1}) },
	Not: func(_ *rewriter, i *Instr, a, _ fact) fact { return wide(i, fact{64, a.s}) },
	SExt: func(_ *rewriter, i *Instr, a, _ fact) fact {
		if a.u <= 8*i.W-1 {
			return unsignedFact(a.u)
		}
		return signedFact(min(8*i.W, a.s))
	},
	ZExt: func(_ *rewriter, i *Instr, a, _ fact) fact { return a.low(i.W) },

	Eq: boolRule, Ne: boolRule, SLt: boolRule, SLe: boolRule, ULt: boolRule, ULe: boolRule,
	FEq: boolRule, FNe: boolRule, FLt: boolRule, FLe: boolRule, StrEq: boolRule,
	FBits: func(rw *rewriter, i *Instr, _, _ fact) fact {
		return unsignedFact(8 * uint8(rw.p.Classes[i.A].Bytes()))
	},
	Load: func(_ *rewriter, i *Instr, _, _ fact) fact {
		if i.Signed {
			return signedFact(8 * i.W)
		}
		return unsignedFact(8 * i.W)
	},
}

func boolRule(*rewriter, *Instr, fact, fact) fact { return boolFact }

func orFact(_ *rewriter, i *Instr, a, b fact) fact {
	return wide(i, fact{max(cut(a, i), cut(b, i)), max(a.s, b.s)})
}

// cut is the bits of an operand that an operation of i's width sees.
func cut(f fact, i *Instr) uint8 { return min(f.u, 8*i.W) }

// less is n bits shifted right by i's count, if that is known.
func less(n uint8, rw *rewriter, i *Instr) uint8 {
	k, ok := rw.isConst(i.B)
	if !ok {
		return n
	}
	return n - min(n, uint8(count(i.W, uint64(k))))
}

// wide completes a fact: sizes over 64 mean unknown, small unsigned numbers are
// small signed ones, and with W 4 nothing is known of the sign extension to 64 bits.
func wide(i *Instr, f fact) fact {
	f.u, f.s = min(f.u, 64), min(f.s, 64)
	if i.W == 4 {
		f.s = 64
	}
	if f.u < 64 {
		f.s = min(f.s, f.u+1)
	}
	return f
}
