package ir

import "math"

// Floating point is IEEE 754 as SSE2 does it with the default MXCSR (round to
// nearest even, no flush to zero). A backend runs with the traced program's
// MXCSR; a program that changed its rounding mode gets its own rounding.
//
// NaNs, bit for bit (Intel SDM vol. 1, 4.8.3.5 and table 4-7): an arithmetic
// operation with NaN operands gives A if A is a NaN, else B, made quiet. An
// invalid operation without a NaN operand gives the default NaN, whose sign
// bit is set. FNeg flips the sign bit of anything. FToF keeps the sign and the
// high bits of the payload and makes the NaN quiet.
const (
	defaultNaN64 = 0xfff8000000000000
	defaultNaN32 = 0xffc00000
	quiet64      = 1 << 51
	quiet32      = 1 << 22
	// indefinite is what cvttsd2si gives for what is no int64.
	indefinite = 1 << 63
)

var float64Ops = map[Op]pure{
	FAdd: arith64(func(x, y float64) float64 { return x + y }),
	FSub: arith64(func(x, y float64) float64 { return x - y }),
	FMul: arith64(func(x, y float64) float64 { return x * y }),
	FDiv: arith64(func(x, y float64) float64 { return x / y }),
	FNeg: func(_ uint8, a, _ uint64) uint64 { return a ^ 1<<63 },
	FEq:  compare64(func(x, y float64) bool { return x == y }),
	FNe:  compare64(func(x, y float64) bool { return x != y }),
	FLt:  compare64(func(x, y float64) bool { return x < y }),
	FLe:  compare64(func(x, y float64) bool { return x <= y }),

	FToF:  func(_ uint8, a, _ uint64) uint64 { return narrow(a) },
	SToF:  func(_ uint8, a, _ uint64) uint64 { return math.Float64bits(float64(int64(a))) },
	UToF:  func(_ uint8, a, _ uint64) uint64 { return math.Float64bits(float64(a)) },
	FToS:  func(_ uint8, a, _ uint64) uint64 { return toSigned(math.Float64frombits(a)) },
	FToU:  func(_ uint8, a, _ uint64) uint64 { return toUnsigned(math.Float64frombits(a)) },
	FBits: func(_ uint8, a, _ uint64) uint64 { return a },
	BitsF: func(_ uint8, a, _ uint64) uint64 { return a },
}

var float32Ops = map[Op]pure{
	FAdd: arith32(func(x, y float32) float32 { return x + y }),
	FSub: arith32(func(x, y float32) float32 { return x - y }),
	FMul: arith32(func(x, y float32) float32 { return x * y }),
	FDiv: arith32(func(x, y float32) float32 { return x / y }),
	FNeg: func(_ uint8, a, _ uint64) uint64 { return a ^ 1<<31 },
	FEq:  compare32(func(x, y float32) bool { return x == y }),
	FNe:  compare32(func(x, y float32) bool { return x != y }),
	FLt:  compare32(func(x, y float32) bool { return x < y }),
	FLe:  compare32(func(x, y float32) bool { return x <= y }),

	FToF:  func(_ uint8, a, _ uint64) uint64 { return widen(a) },
	SToF:  func(_ uint8, a, _ uint64) uint64 { return uint64(math.Float32bits(float32(int64(a)))) },
	UToF:  func(_ uint8, a, _ uint64) uint64 { return uint64(math.Float32bits(float32(a))) },
	FToS:  func(_ uint8, a, _ uint64) uint64 { return toSigned(float64(f32(a))) },
	FToU:  func(_ uint8, a, _ uint64) uint64 { return toUnsigned(float64(f32(a))) },
	FBits: func(_ uint8, a, _ uint64) uint64 { return low(4, a) },
	BitsF: func(_ uint8, a, _ uint64) uint64 { return low(4, a) },
}

func f32(bits uint64) float32 { return math.Float32frombits(uint32(bits)) }

func isNaN64(a uint64) bool { return a&^(1<<63) > 0x7ff0000000000000 }
func isNaN32(a uint64) bool { return a&0x7fffffff > 0x7f800000 }

// arith64 wraps f with the rules for NaNs: Go may exchange the operands of an
// addition, so f is never given a NaN.
func arith64(f func(x, y float64) float64) pure {
	return func(_ uint8, a, b uint64) uint64 {
		switch {
		case isNaN64(a):
			return a | quiet64
		case isNaN64(b):
			return b | quiet64
		}
		r := math.Float64bits(f(math.Float64frombits(a), math.Float64frombits(b)))
		if isNaN64(r) {
			return defaultNaN64
		}
		return r
	}
}

func arith32(f func(x, y float32) float32) pure {
	return func(_ uint8, a, b uint64) uint64 {
		switch {
		case isNaN32(a):
			return low(4, a) | quiet32
		case isNaN32(b):
			return low(4, b) | quiet32
		}
		r := uint64(math.Float32bits(f(f32(a), f32(b))))
		if isNaN32(r) {
			return defaultNaN32
		}
		return r
	}
}

func compare64(f func(x, y float64) bool) pure {
	return func(_ uint8, a, b uint64) uint64 {
		return truth(f(math.Float64frombits(a), math.Float64frombits(b)))
	}
}

func compare32(f func(x, y float32) bool) pure {
	return func(_ uint8, a, b uint64) uint64 { return truth(f(f32(a), f32(b))) }
}

// narrow is F64 to F32 (cvtsd2ss).
func narrow(a uint64) uint64 {
	if isNaN64(a) {
		return a>>63<<31 | 0x7f800000 | quiet32 | a>>29&(1<<22-1)
	}
	return uint64(math.Float32bits(float32(math.Float64frombits(a))))
}

// widen is F32 to F64 (cvtss2sd).
func widen(a uint64) uint64 {
	if isNaN32(a) {
		return a>>31&1<<63 | 0x7ff0000000000000 | quiet64 | a&(1<<22-1)<<29
	}
	return math.Float64bits(float64(f32(a)))
}

// toSigned truncates as cvttsd2si: what is no int64 (NaN too) gives 1<<63.
func toSigned(x float64) uint64 {
	if x >= -(1<<63) && x < 1<<63 {
		return uint64(int64(x))
	}
	return indefinite
}

// toUnsigned is the sequence compilers emit: from 2^63 on, subtract first. A
// NaN takes the first way, as the carry after comisd has it.
func toUnsigned(x float64) uint64 {
	if x >= 1<<63 {
		return toSigned(x-1<<63) ^ indefinite
	}
	return toSigned(x)
}
