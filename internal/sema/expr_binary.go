package sema

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/lang"
)

// binaryRules checks each binary operator; the operands are values.
var binaryRules = map[string]func(*checker, *lang.Binary, expr, expr) expr{
	"*": (*checker).arithmetic, "/": (*checker).arithmetic, "%": (*checker).integers,
	"+": (*checker).additive, "-": (*checker).additive,
	"&": (*checker).integers, "^": (*checker).integers, "|": (*checker).integers,
	"<<": (*checker).shift, ">>": (*checker).shift,
	"<": (*checker).comparison, "<=": (*checker).comparison, ">": (*checker).comparison, ">=": (*checker).comparison,
	"==": (*checker).comparison, "!=": (*checker).comparison,
}

func (c *checker) binary(x *lang.Binary) expr {
	switch x.Op {
	case "&&", "||":
		a, b := c.truth(c.expr(x.X)), c.truth(c.expr(x.Y))
		return &logic{typed{ctype.IntT, x.Span()}, x.Op == "&&", a, b}
	case ",":
		return c.comma(x)
	}
	rule, ok := binaryRules[x.Op]
	if !ok {
		panic(fmt.Sprintf("BUG: sema: binary operator %q", x.Op))
	}
	a, b := c.expr(x.X), c.expr(x.Y)
	if x.Op == "==" || x.Op == "!=" {
		if e := c.textComparison(x, a, b); e != nil {
			return e
		}
	}
	return rule(c, x, c.rvalue(a), c.rvalue(b))
}

// comma evaluates its left operand for its faults only.
func (c *checker) comma(x *lang.Binary) expr {
	a, b := c.expr(x.X), c.expr(x.Y)
	if _, void := a.(*voidExpr); !void {
		a = c.rvalue(a)
	}
	b = c.rvalue(b)
	return &comma{typed{b.Type(), x.Span()}, a, b}
}

// operands reports operands that the operator does not take.
func (c *checker) operands(x *lang.Binary, a, b expr) {
	for _, e := range []expr{a, b} {
		if !isScalar(e.Type()) {
			c.failOperand(e, "an operand of "+x.Op+" cannot be %s")
		}
	}
	c.fail(x.Span(), fmt.Sprintf("%s cannot be applied to %s and %s", x.Op, typeString(a.Type()), typeString(b.Type())), "")
}

// arithmetic is * and / on numbers, and + - when both operands are.
func (c *checker) arithmetic(x *lang.Binary, a, b expr) expr {
	if !isNumber(a.Type()) || !isNumber(b.Type()) {
		c.operands(x, a, b)
	}
	a, b = promoted(a), promoted(b)
	t := usual(a.Type(), b.Type())
	return &arith{typed{t, x.Span()}, x.Op, convert(a, t), convert(b, t)}
}

// integers is % & ^ |.
func (c *checker) integers(x *lang.Binary, a, b expr) expr {
	if !isInt(a.Type()) || !isInt(b.Type()) {
		c.operands(x, a, b)
	}
	return c.arithmetic(x, a, b)
}

// shift has the type of its promoted left operand.
func (c *checker) shift(x *lang.Binary, a, b expr) expr {
	if !isInt(a.Type()) || !isInt(b.Type()) {
		c.operands(x, a, b)
	}
	a, b = promoted(a), promoted(b)
	if n, ok := constInt(b); ok && (n < 0 || n >= a.Type().Strip().Size*8) {
		c.warn(b.Span(), fmt.Sprintf("a shift of %s by %d is undefined in C", typeString(a.Type()), n),
			"the count is taken modulo the width, as the machine does")
	}
	return &arith{typed{a.Type(), x.Span()}, x.Op, a, b}
}

// additive is + and -, on numbers and pointers.
func (c *checker) additive(x *lang.Binary, a, b expr) expr {
	pa, pb := isPointer(a.Type()), isPointer(b.Type())
	switch {
	case pa && pb && x.Op == "-":
		return c.pointerDifference(x, a, b)
	case pa && isInt(b.Type()):
		return c.pointerAdd(x, a, b, x.Op == "-")
	case pb && isInt(a.Type()) && x.Op == "+":
		return c.pointerAdd(x, b, a, false)
	}
	return c.arithmetic(x, a, b)
}

func (c *checker) pointerAdd(x lang.Expr, p, i expr, minus bool) expr {
	size := c.elemSize(p.Span(), elemOf(p.Type()))
	wide := ctype.LongT
	i = promoted(i)
	if !isSigned(i.Type()) {
		wide = ctype.ULongT
	}
	return &ptrAdd{typed{p.Type(), x.Span()}, p, convert(i, wide), size, minus}
}

func (c *checker) pointerDifference(x *lang.Binary, a, b expr) expr {
	size := c.elemSize(a.Span(), elemOf(a.Type()))
	if other := c.elemSize(b.Span(), elemOf(b.Type())); other != size {
		c.fail(x.Span(), fmt.Sprintf("%s and %s cannot be subtracted: their elements differ in size",
			typeString(a.Type()), typeString(b.Type())), "cast both to char * for the distance in bytes")
	}
	if size == 0 {
		c.fail(x.Span(), "the elements of these pointers have no size", "cast both to char * for the distance in bytes")
	}
	return &ptrDiff{typed{ctype.LongT, x.Span()}, a, b, size}
}

// comparison takes numbers, and pointers with pointers or integers, as GDB does.
func (c *checker) comparison(x *lang.Binary, a, b expr) expr {
	pa, pb := isPointer(a.Type()), isPointer(b.Type())
	switch {
	case pa && pb, pa && isInt(b.Type()), pb && isInt(a.Type()):
		a, b = c.samePointers(a, b)
		return &compare{typed{ctype.IntT, x.Span()}, x.Op, toPointer(a), toPointer(b)}
	case !isNumber(a.Type()) || !isNumber(b.Type()):
		c.operands(x, a, b)
	}
	a, b = promoted(a), promoted(b)
	t := usual(a.Type(), b.Type())
	return &compare{typed{ctype.IntT, x.Span()}, x.Op, convert(a, t), convert(b, t)}
}

// toPointer converts an integer operand as C does: sign-extended when signed.
func toPointer(e expr) expr {
	if isPointer(e.Type()) {
		return e
	}
	return convert(promoted(e), voidPtrT)
}
