package sema

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/lang"
)

func (c *checker) unary(x *lang.Unary) expr {
	switch x.Op {
	case "&":
		return c.addressOf(x)
	case "*":
		return c.star(x)
	case "!":
		e := c.value(x.X)
		if !isScalar(e.Type()) {
			c.failOperand(e, "the operand of ! must be a number or a pointer, this is %s")
		}
		return &not{typed{ctype.IntT, x.Span()}, e}
	}
	e := c.number(c.value(x.X), "unary "+x.Op)
	e = promoted(e)
	switch x.Op {
	case "+":
		return convertAt(e, x.Span())
	case "~":
		if isFloat(e.Type()) {
			c.failOperand(e, "the operand of ~ must be an integer, this is %s")
		}
		return &unary{typed{e.Type(), x.Span()}, "~", e}
	case "-":
		return &unary{typed{e.Type(), x.Span()}, "-", e}
	}
	panic(fmt.Sprintf("BUG: sema: unary operator %q", x.Op))
}

// convertAt gives e again, with the span of the expression around it.
func convertAt(e expr, span lang.Span) expr { return &conv{typed{e.Type(), span}, e} }

func (c *checker) addressOf(x *lang.Unary) expr {
	e := c.expr(x.X)
	needPlace(c, e)
	if _, ok := e.(*strLit); ok || !isLvalue(e) {
		c.fail(e.Span(), "& needs an object in memory", "")
	}
	a := c.address(e, e.Type()).(*addrOf)
	a.span = x.Span()
	return a
}

func (c *checker) star(x *lang.Unary) expr {
	var e expr
	if plus, ok := x.X.(*lang.Binary); ok && plus.Op == "+" {
		a, b := c.expr(plus.X), c.expr(plus.Y)
		if o := c.chosenBehind(a, b, x.Span()); o != nil {
			return o
		}
		e = sum(c, plus, a, b)
	} else {
		e = c.expr(x.X)
	}
	if p := c.heldPointer(e); p != nil {
		e = p
	}
	if o := c.synthetic(e, 0, x.Span()); o != nil {
		return c.target(o)
	}
	e = c.rvalue(e)
	if !isPointer(e.Type()) {
		hint := ""
		if isInt(e.Type()) {
			hint = "cast it to a pointer first: *(long*)(...)"
		}
		c.fail(x.Span(), fmt.Sprintf("* needs a pointer, this is %s", typeString(e.Type())), hint)
	}
	return c.pointee(e, x.Span())
}

// constElement recognises array[constant].
func constElement(a *ptrAdd, elem *ctype.Type, span lang.Span) expr {
	base, ok := a.p.(*addrOf)
	if !ok || !isArray(base.x.Type()) || !same(base.x.Type().Strip().Elem, elem) {
		return nil
	}
	i, ok := constInt(a.i)
	if !ok {
		return nil
	}
	if a.minus {
		i = -i
	}
	return element(base.x, i, span)
}

// element is element i of array object x, nil when it lies outside.
func element(x expr, i int64, span lang.Span) expr {
	s := x.Type().Strip()
	if i < 0 || i >= s.Count || s.Elem.Size <= 0 {
		return nil
	}
	return &sub{typed: typed{s.Elem, span}, x: x, bitOff: i * s.Elem.Size * 8}
}

// same reports whether two types are the same object or the same builtin.
func same(a, b *ctype.Type) bool {
	return a == b || a != nil && b != nil && a.Strip() == b.Strip()
}
