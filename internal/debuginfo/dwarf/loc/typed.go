package loc

import (
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/raw"
)

// Typed operations of DWARF 5 section 2.5.1.1. Only integers up to 64 bits are
// translated. A typed word is always held extended to 64 bits by its sign.

// opType resolves the base type that a typed operation names; 0 is generic.
func (x *xlate) opType(off uint64) (baseType, bool) {
	if off == 0 {
		return generic, true
	}
	if x.env.Unit == nil {
		x.fail("its location is malformed (type)")
		return generic, false
	}
	size, signed, why := x.env.Unit.BaseType(off)
	if why != "" {
		x.lose(why)
	}
	return baseType{size, signed}, why == ""
}

// extend brings the top back into its type after an operation.
func (x *xlate) extend(t baseType) {
	if t.size > 0 && t.size < 8 {
		n := t.size
		if t.signed {
			n = -n
		}
		x.emit(debuginfo.OpConvert, n)
	}
}

func (x *xlate) unary(code debuginfo.OpCode) {
	if !x.need(1) {
		return
	}
	x.emit(code, 0)
	if code == debuginfo.OpTLS {
		*x.top() = generic
		return
	}
	x.extend(*x.top())
}

// binary emits an arithmetic operation on two words of one type.
func (x *xlate) binary(code debuginfo.OpCode) {
	if !x.need(2) {
		return
	}
	a, b := x.types[len(x.types)-2], x.types[len(x.types)-1]
	shift := code == debuginfo.OpShl || code == debuginfo.OpShr || code == debuginfo.OpShra
	if a != b && !shift {
		x.lose("its location mixes types")
		return
	}
	// Of untyped words the division is signed, the remainder unsigned; the shifts say what they are.
	unsigned := a.size > 0 && !a.signed
	switch {
	case code == debuginfo.OpDiv && unsigned:
		code = debuginfo.OpUDiv
	case code == debuginfo.OpMod && a.signed:
		code = debuginfo.OpSMod
	case code == debuginfo.OpShr && a.signed && a.size < 8:
		x.reextend(a.size)
	case code == debuginfo.OpShra && unsigned && a.size < 8:
		x.reextend(-a.size)
	}
	x.types = x.types[:len(x.types)-1]
	x.emit(code, 0)
	x.extend(a)
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
	a, b := x.types[len(x.types)-2], x.types[len(x.types)-1]
	if a != b {
		x.lose("its location mixes types")
		return
	}
	if u, ok := unsignedCompare[code]; ok && a.size == 8 && !a.signed {
		code = u
	}
	x.types = x.types[:len(x.types)-1]
	*x.top() = generic
	x.emit(code, 0)
}

func (x *xlate) constType(off uint64, b []byte) {
	t, ok := x.opType(off)
	if !ok || int64(len(b)) != t.size {
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
	if reg >= uint64(columns) {
		x.lose("its value is computed from a vector register")
		return
	}
	x.push(t, debuginfo.Op{Code: debuginfo.OpReg, Arg: int64(reg)})
	x.extend(t)
}

func (x *xlate) derefType(size int64, off uint64) {
	t, ok := x.opType(off)
	if !ok {
		return
	}
	x.deref(size)
	if x.why == "" {
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
	*x.top() = t
	x.extend(t)
}

// reinterpret changes the type and keeps the bits; sizes must agree.
func (x *xlate) reinterpret(off uint64) {
	t, ok := x.opType(off)
	if !ok || !x.need(1) {
		return
	}
	if max(x.top().size, 0) != t.size && !(x.top().size%8 == 0 && t.size%8 == 0) {
		x.fail("its location reinterprets values of unequal size")
		return
	}
	*x.top() = t
	x.extend(t)
}
