package ir

import "math/bits"

// This file and float.go give the meaning of the pure operations. The evaluator
// and the constant folder both use them, so there is one place to read.

// pure computes a result from the bits of the operands. F32 operands and
// results are in the low 32 bits, the others zero.
type pure func(w uint8, a, b uint64) uint64

// Compute returns the bits of the result of a pure operation with operands
// (Const, FConst, Reg and FReg have none: ok is false, as for all others).
// c is the class that selects between F64 and F32; see Program.OpClass.
func Compute(op Op, w uint8, c Class, a, b uint64) (result uint64, ok bool) {
	if op >= NumOps || c > F32 {
		return 0, false
	}
	f := pures[op][c]
	if f == nil {
		return 0, false
	}
	return f(w, a, b), true
}

// OpClass returns the class that selects the meaning of i: that of A when A is
// a float, else that of Dst, else I64.
func (p *Program) OpClass(i *Instr) Class {
	if i.A != None && p.Classes[i.A] != I64 {
		return p.Classes[i.A]
	}
	if i.Dst != None {
		return p.Classes[i.Dst]
	}
	return I64
}

// pures is indexed by operation and class. It is filled by init because the
// tables of the two files are merged.
var pures [NumOps][F32 + 1]pure

func init() {
	for op, f := range intOps {
		pures[op][I64] = f
	}
	for op, f := range float64Ops {
		pures[op][F64] = f
	}
	for op, f := range float32Ops {
		pures[op][F32] = f
	}
}

var intOps = map[Op]pure{
	Add:  func(w uint8, a, b uint64) uint64 { return low(w, a+b) },
	Sub:  func(w uint8, a, b uint64) uint64 { return low(w, a-b) },
	Mul:  func(w uint8, a, b uint64) uint64 { return low(w, a*b) },
	SDiv: func(w uint8, a, b uint64) uint64 { q, _ := sdiv(w, a, b); return q },
	SRem: func(w uint8, a, b uint64) uint64 { _, r := sdiv(w, a, b); return r },
	UDiv: func(w uint8, a, b uint64) uint64 { q, _ := udiv(w, a, b); return q },
	URem: func(w uint8, a, b uint64) uint64 { _, r := udiv(w, a, b); return r },
	And:  func(w uint8, a, b uint64) uint64 { return low(w, a&b) },
	Or:   func(w uint8, a, b uint64) uint64 { return low(w, a|b) },
	Xor:  func(w uint8, a, b uint64) uint64 { return low(w, a^b) },
	Shl:  func(w uint8, a, b uint64) uint64 { return low(w, a<<count(w, b)) },
	Shr:  func(w uint8, a, b uint64) uint64 { return low(w, a) >> count(w, b) },
	Sar:  func(w uint8, a, b uint64) uint64 { return low(w, uint64(signed(w, a)>>count(w, b))) },
	Neg:  func(w uint8, a, _ uint64) uint64 { return low(w, -a) },
	Not:  func(w uint8, a, _ uint64) uint64 { return low(w, ^a) },

	BitLen: func(_ uint8, a, _ uint64) uint64 { return uint64(bits.Len64(a)) },

	SExt: func(w uint8, a, _ uint64) uint64 { return uint64(signed(w, a)) },
	ZExt: func(w uint8, a, _ uint64) uint64 { return low(w, a) },

	Eq:  func(w uint8, a, b uint64) uint64 { return truth(low(w, a) == low(w, b)) },
	Ne:  func(w uint8, a, b uint64) uint64 { return truth(low(w, a) != low(w, b)) },
	SLt: func(w uint8, a, b uint64) uint64 { return truth(signed(w, a) < signed(w, b)) },
	SLe: func(w uint8, a, b uint64) uint64 { return truth(signed(w, a) <= signed(w, b)) },
	ULt: func(w uint8, a, b uint64) uint64 { return truth(low(w, a) < low(w, b)) },
	ULe: func(w uint8, a, b uint64) uint64 { return truth(low(w, a) <= low(w, b)) },
}

// low is the low w bytes of x, zero-extended.
func low(w uint8, x uint64) uint64 {
	if w >= 8 {
		return x
	}
	return x & (1<<(8*w) - 1)
}

// signed is the low w bytes of x, sign-extended.
func signed(w uint8, x uint64) int64 {
	if w >= 8 {
		return int64(x)
	}
	n := 64 - 8*w
	return int64(x<<n) >> n
}

// count is a shift count modulo the width in bits.
func count(w uint8, b uint64) uint64 { return b & (8*uint64(w) - 1) }

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// sdiv divides as in C, towards zero, with x/0 = 0, x%0 = x. As the IR requires, Go wraps MIN/-1 to MIN, and
// MIN%-1 is 0.
func sdiv(w uint8, a, b uint64) (q, r uint64) {
	x, y := signed(w, a), signed(w, b)
	if y == 0 {
		return 0, low(w, a)
	}
	return low(w, uint64(x/y)), low(w, uint64(x%y))
}

func udiv(w uint8, a, b uint64) (q, r uint64) {
	x, y := low(w, a), low(w, b)
	if y == 0 {
		return 0, x
	}
	q, r = bits.Div64(0, x, y)
	return q, r
}
