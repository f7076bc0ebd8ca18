package loc

import (
	"math/bits"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/raw"
)

// Typed operations of DWARF 5 section 2.5.1.1. Integers up to 64 bits, float and double are translated. A typed
// integer is always held extended to 64 bits by its sign.

// BaseType is the type of a stack entry. Size 0 is DWARF's generic type.
type BaseType struct {
	Size   int64
	Signed bool
	Float  bool
}

var generic = BaseType{}

const mixes = "its location mixes types"

// opType resolves the base type that a typed operation names; 0 is generic.
func (x *xlate) opType(off uint64) (BaseType, bool) {
	if off == 0 {
		return generic, true
	}
	if x.env.Unit == nil {
		x.fail("its location is malformed (type)")
		return generic, false
	}
	t, why := x.env.Unit.BaseType(off)
	if why != "" {
		x.lose(why)
	}
	return t, why == ""
}

// extend brings the top back into its type after an operation.
func (x *xlate) extend(t BaseType) {
	if t.Size > 0 && t.Size < 8 {
		n := t.Size
		if t.Signed {
			n = -n
		}
		x.emit(debuginfo.OpConvert, n)
	}
}

// needInteger checks that the top is no number in floating point.
func (x *xlate) needInteger() bool {
	if !x.need(1) {
		return false
	}
	if x.top().Float {
		x.lose("its location takes a number in floating point for an address")
		return false
	}
	return true
}

func (x *xlate) unary(code debuginfo.OpCode) {
	if !x.need(1) {
		return
	}
	t := *x.top()
	switch {
	case code == debuginfo.OpTLS:
		if x.needInteger() {
			x.emit(code, 0)
			*x.top() = generic
		}
		return
	case t.Float:
		x.unaryFloat(code, t)
		return
	case code == debuginfo.OpAbs && t.Size == 8 && !t.Signed:
		return
	}
	x.emit(code, 0)
	x.extend(t)
}

// unaryFloat changes the sign, which is the highest bit.
func (x *xlate) unaryFloat(code debuginfo.OpCode, t BaseType) {
	sign := int64(1) << (t.Size*8 - 1)
	switch code {
	case debuginfo.OpNeg:
		x.emit(debuginfo.OpConst, sign)
		x.emit(debuginfo.OpXor, 0)
	case debuginfo.OpAbs:
		x.emit(debuginfo.OpConst, ^sign)
		x.emit(debuginfo.OpAnd, 0)
	default:
		x.lose("its location takes the bits of a number in floating point")
	}
}

// common is the type of an operation on words of the types a and b; low: each bit of the result depends on no higher bits of the
// operands, so that it is the same for signed and unsigned ones. GDB has no other generic words than signed ones. LLVM
// describes sums of a converted value and generic constants.
func common(a, b BaseType, low bool) (t BaseType, ok bool) {
	whole := func(t BaseType) bool { return t == generic || t.Size == 8 && !t.Float && (t.Signed || low) }
	switch {
	case a == b:
		return a, true
	case (a == generic || b == generic) && whole(a) && whole(b):
		if a == generic {
			a = b
		}
		return a, true
	}
	return a, false
}

// lowBits are the operations of which each bit depends on no higher bits of the operands.
var lowBits = map[debuginfo.OpCode]bool{
	debuginfo.OpAdd: true, debuginfo.OpSub: true, debuginfo.OpMul: true, debuginfo.OpAnd: true, debuginfo.OpOr: true, debuginfo.OpXor: true,
}

var floating = map[debuginfo.OpCode]debuginfo.OpCode{
	debuginfo.OpAdd: debuginfo.OpFAdd, debuginfo.OpSub: debuginfo.OpFSub, debuginfo.OpMul: debuginfo.OpFMul, debuginfo.OpDiv: debuginfo.OpFDiv,
	debuginfo.OpEq: debuginfo.OpFEq, debuginfo.OpNe: debuginfo.OpFNe, debuginfo.OpLt: debuginfo.OpFLt, debuginfo.OpLe: debuginfo.OpFLe,
	debuginfo.OpGt: debuginfo.OpFGt, debuginfo.OpGe: debuginfo.OpFGe,
}

// binary emits an arithmetic operation on two words of one type.
func (x *xlate) binary(code debuginfo.OpCode) {
	if !x.need(2) {
		return
	}
	a, b := x.types[len(x.types)-2], x.types[len(x.types)-1]
	t, ok := common(a, b, lowBits[code])
	if code == debuginfo.OpShl || code == debuginfo.OpShr || code == debuginfo.OpShra {
		t, ok = a, !b.Float
	}
	if !ok {
		x.lose(mixes)
		return
	}
	if t.Float {
		if code, ok = floating[code]; !ok {
			x.lose("its location takes the bits of a number in floating point")
			return
		}
		x.types = x.types[:len(x.types)-1]
		x.emit(code, t.Size)
		return
	}
	// Of untyped words the division is signed, the remainder unsigned; the shifts say what they are.
	unsigned := t.Size > 0 && !t.Signed
	switch {
	case code == debuginfo.OpDiv && unsigned:
		code = debuginfo.OpUDiv
	case code == debuginfo.OpMod && t.Signed:
		if a != b { // of which type the remainder is, is not certain
			x.lose(mixes)
			return
		}
		code = debuginfo.OpSMod
	case code == debuginfo.OpShr && t.Signed && t.Size < 8:
		x.reextend(t.Size)
	case code == debuginfo.OpShra && unsigned && t.Size < 8:
		x.reextend(-t.Size)
	}
	x.types = x.types[:len(x.types)-1]
	*x.top() = t
	x.emit(code, 0)
	x.extend(t)
}

// reextend extends the second word from the top as a word of another sign.
func (x *xlate) reextend(size int64) {
	x.emit(debuginfo.OpSwap, 0)
	x.emit(debuginfo.OpConvert, size)
	x.emit(debuginfo.OpSwap, 0)
}

var unsignedCompare = map[debuginfo.OpCode]debuginfo.OpCode{
	debuginfo.OpLt: debuginfo.OpULt, debuginfo.OpLe: debuginfo.OpULe, debuginfo.OpGt: debuginfo.OpUGt, debuginfo.OpGe: debuginfo.OpUGe,
}

func (x *xlate) compare(code debuginfo.OpCode) {
	if !x.need(2) {
		return
	}
	same := code == debuginfo.OpEq || code == debuginfo.OpNe
	t, ok := common(x.types[len(x.types)-2], x.types[len(x.types)-1], same)
	if !ok {
		x.lose(mixes)
		return
	}
	size := int64(0)
	if t.Float {
		code, size = floating[code], t.Size
	} else if u, ok := unsignedCompare[code]; ok && t.Size == 8 && !t.Signed {
		code = u
	}
	x.types = x.types[:len(x.types)-1]
	*x.top() = generic
	x.emit(code, size)
}

func (x *xlate) constType(off uint64, b []byte) {
	t, ok := x.opType(off)
	if !ok {
		return
	}
	if int64(len(b)) != t.Size || bits.OnesCount(uint(len(b))) != 1 || len(b) > 8 {
		x.fail("its location is malformed (typed constant)")
		return
	}
	c := raw.Cursor{B: b}
	x.push(t, debuginfo.Op{Code: debuginfo.OpConst, Arg: int64(c.Uint(len(b)))})
	x.extend(t)
}

func (x *xlate) regvalType(reg, off uint64) {
	t, ok := x.opType(off)
	if !ok {
		return
	}
	switch {
	case reg < uint64(columns):
		x.push(t, debuginfo.Op{Code: debuginfo.OpReg, Arg: int64(reg)})
	case isVector(reg):
		x.push(t, debuginfo.Op{Code: debuginfo.OpVector, Arg: int64(reg)})
	default:
		x.lose("its value is computed from a register that is not available")
		return
	}
	x.extend(t)
}

func (x *xlate) derefType(size int64, off uint64) {
	t, ok := x.opType(off)
	if !ok {
		return
	}
	if t.Float && size != t.Size {
		x.lose(mixes)
		return
	}
	if x.deref(size); x.why == "" && x.lost == "" {
		*x.top() = t
		x.extend(t)
	}
}

// convert changes the type of the top: the value is kept as far as it fits.
func (x *xlate) convert(off uint64) {
	t, ok := x.opType(off)
	if !ok || !x.need(1) {
		return
	}
	from := *x.top()
	switch {
	case from.Float && t.Float:
		if from.Size != t.Size {
			x.emit(debuginfo.OpFToF, t.Size)
		}
	case from.Float && t.Size == 8 && !t.Signed:
		x.lose("its location converts a number in floating point to an unsigned one")
		return
	case from.Float:
		x.emit(debuginfo.OpFToS, from.Size)
		x.extend(t)
	case t.Float && from.Size == 8 && !from.Signed:
		x.emit(debuginfo.OpUToF, t.Size)
	case t.Float:
		x.emit(debuginfo.OpSToF, t.Size)
	default:
		x.extend(t)
	}
	*x.top() = t
}

// reinterpret changes the type and keeps the bits; sizes must agree.
func (x *xlate) reinterpret(off uint64) {
	t, ok := x.opType(off)
	if !ok || !x.need(1) {
		return
	}
	if x.top().Size != t.Size && !(x.top().Size%8 == 0 && t.Size%8 == 0) {
		x.fail("its location reinterprets values of unequal size")
		return
	}
	*x.top() = t
	x.extend(t)
}
