package sema

import (
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/lang"
)

// operators checks C's operators on values.
type operators struct {
	*site
	*conversions
	*classes
}

// binaryRules checks each binary operator; the operands are values.
var binaryRules = map[string]func(*operators, *lang.Binary, expr, expr) expr{
	"*": (*operators).arithmetic, "/": (*operators).arithmetic, "%": (*operators).integers,
	"+": (*operators).additive, "-": (*operators).additive,
	"&": (*operators).integers, "^": (*operators).integers, "|": (*operators).integers,
	"<<": (*operators).shift, ">>": (*operators).shift,
	"<": (*operators).comparison, "<=": (*operators).comparison, ">": (*operators).comparison, ">=": (*operators).comparison,
	"==": (*operators).comparison, "!=": (*operators).comparison,
}

// operands reports operands that the operator does not take.
func (ops *operators) operands(x *lang.Binary, a, b expr) {
	for _, e := range []expr{a, b} {
		if !isScalar(e.Type()) {
			ops.failOperand(e, "an operand of "+strings.ReplaceAll(x.Op, "%", "%%")+" cannot be %s")
		}
	}
	ops.fail(x.Span(), fmt.Sprintf("%s cannot be applied to %s and %s", x.Op, typeString(a.Type()), typeString(b.Type())), "")
}

// arithmetic is * and / on numbers, and + - when both operands are.
func (ops *operators) arithmetic(x *lang.Binary, a, b expr) expr {
	if !isNumber(a.Type()) || !isNumber(b.Type()) {
		ops.operands(x, a, b)
	}
	a, b = promoted(a), promoted(b)
	t := usual(a.Type(), b.Type())
	return &arith{typed{t, x.Span()}, x.Op, convert(a, t), convert(b, t)}
}

// integers is % & ^ |.
func (ops *operators) integers(x *lang.Binary, a, b expr) expr {
	if !isInt(a.Type()) || !isInt(b.Type()) {
		ops.operands(x, a, b)
	}
	return ops.arithmetic(x, a, b)
}

// shift has the type of its promoted left operand.
func (ops *operators) shift(x *lang.Binary, a, b expr) expr {
	if !isInt(a.Type()) || !isInt(b.Type()) {
		ops.operands(x, a, b)
	}
	a, b = promoted(a), promoted(b)
	if n, ok := constInt(b); ok && (n < 0 || n >= a.Type().Strip().Size*8) {
		ops.warn(b.Span(), fmt.Sprintf("a shift of %s by %d is undefined in C", typeString(a.Type()), n),
			"the count is taken modulo the width, as the machine does")
	}
	return &arith{typed{a.Type(), x.Span()}, x.Op, a, b}
}

// additive is + and -, on numbers and pointers.
func (ops *operators) additive(x *lang.Binary, a, b expr) expr {
	pa, pb := isPointer(a.Type()), isPointer(b.Type())
	switch {
	case pa && pb && x.Op == "-":
		return ops.pointerDifference(x, a, b)
	case pa && isInt(b.Type()):
		return ops.pointerAdd(x, a, b, x.Op == "-")
	case pb && isInt(a.Type()) && x.Op == "+":
		return ops.pointerAdd(x, b, a, false)
	}
	return ops.arithmetic(x, a, b)
}

func (ops *operators) pointerAdd(x lang.Expr, p, i expr, minus bool) expr {
	size := ops.elemSize(p.Span(), elemOf(p.Type()))
	wide := ctype.LongT
	i = promoted(i)
	if !isSigned(i.Type()) {
		wide = ctype.ULongT
	}
	return &ptrAdd{typed{p.Type(), x.Span()}, p, convert(i, wide), size, minus}
}

func (ops *operators) pointerDifference(x *lang.Binary, a, b expr) expr {
	size := ops.elemSize(a.Span(), elemOf(a.Type()))
	if other := ops.elemSize(b.Span(), elemOf(b.Type())); other != size {
		ops.fail(x.Span(), fmt.Sprintf("%s and %s cannot be subtracted: their elements differ in size",
			typeString(a.Type()), typeString(b.Type())), "cast both to char * for the distance in bytes")
	}
	if size == 0 {
		ops.fail(x.Span(), "the elements of these pointers have no size", "cast both to char * for the distance in bytes")
	}
	return &ptrDiff{typed{ctype.LongT, x.Span()}, a, b, size}
}

// comparison takes numbers, and pointers with pointers or integers, as GDB does.
func (ops *operators) comparison(x *lang.Binary, a, b expr) expr {
	pa, pb := isPointer(a.Type()), isPointer(b.Type())
	switch {
	case pa && pb, pa && isInt(b.Type()), pb && isInt(a.Type()):
		a, b = ops.samePointers(a, b)
		return &compare{typed{ctype.IntT, x.Span()}, x.Op, toPointer(a), toPointer(b)}
	case !isNumber(a.Type()) || !isNumber(b.Type()):
		ops.operands(x, a, b)
	}
	a, b = promoted(a), promoted(b)
	t := usual(a.Type(), b.Type())
	return &compare{typed{ctype.IntT, x.Span()}, x.Op, convert(a, t), convert(b, t)}
}

// textComparison is == or != with a string literal; nil if there is none.
func (ops *operators) textComparison(x *lang.Binary, a, b expr) expr {
	lit, ok := b.(*strLit)
	if !ok {
		if lit, ok = a.(*strLit); !ok {
			return nil
		}
		a = b
	}
	e := ops.textEqual(a, lit, x.Span())
	if x.Op == "!=" {
		return &not{typed{ctype.IntT, x.Span()}, e}
	}
	return e
}

func (ops *operators) textEqual(a expr, lit *strLit, span lang.Span) expr {
	if strings.IndexByte(lit.v, 0) >= 0 {
		ops.fail(lit.span, "a text for comparison cannot contain \\0, because strings of the program end there", "")
	}
	if t, ok := a.(*text); ok {
		if ctype.StringWidth(elemOf(t.p.Type())) > 1 {
			ops.fail(a.Span(), fmt.Sprintf("wide characters cannot be compared with a string literal, this is %s", typeString(t.p.Type())), "")
		}
		return &textEq{typed: typed{ctype.IntT, span}, x: t.p, lit: lit.v, bound: t.limit}
	}
	if l, ok := a.(*strLit); ok {
		v := int64(0)
		if l.v == lit.v {
			v = 1
		}
		return &intConst{typed: typed{ctype.IntT, span}, v: v}
	}
	if d, ok := a.(*dynamic); ok && isChar(elemOf(d.t)) {
		return &textEq{typed: typed{ctype.IntT, span}, x: d, lit: lit.v, array: true, bound: maxDynamic}
	}
	if isCharArray(a.Type()) && isLvalue(a) {
		if r, ok := a.(*repeat); ok && r.n != nil {
			ops.rvalue(a) // refuses it
		}
		if n := a.Type().Strip().Count; n >= 0 {
			ops.need(a)
			return &textEq{typed: typed{ctype.IntT, span}, x: a, lit: lit.v, array: true, bound: n}
		}
	}
	p := ops.rvalue(a)
	if !isCharPointer(p.Type()) {
		hint := ""
		switch {
		case isInt(p.Type()) && len(lit.v) == 1:
			hint = fmt.Sprintf("write '%s' for the character", lit.v)
		case isPointer(p.Type()):
			hint = "cast it to char *, or write str(...)"
		}
		ops.fail(p.Span(), fmt.Sprintf("only a char pointer or array can be compared with a string literal, this is %s",
			typeString(p.Type())), hint)
	}
	return &textEq{typed: typed{ctype.IntT, span}, x: p, lit: lit.v, bound: -1}
}
