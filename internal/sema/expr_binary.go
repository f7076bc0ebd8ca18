package sema

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/lang"
)

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
	if x.Op == "==" || x.Op == "!=" {
		if e := c.variantTest(x); e != nil {
			return e
		}
	}
	a, b := c.expr(x.X), c.expr(x.Y)
	if x.Op == "==" || x.Op == "!=" {
		if e := c.contentText(x, a, b); e != nil {
			return e
		}
		if e := c.arrayText(x, a, b); e != nil {
			return e
		}
		a, b = c.withNil(a, b)
		if e := c.textComparison(x, a, b); e != nil {
			return e
		}
	}
	if x.Op == "+" || x.Op == "-" {
		return sum(c, x, a, b)
	}
	return rule(c.operators, x, c.rvalue(a), c.rvalue(b))
}

// sum is a + b or a - b.
func sum(c *checker, x *lang.Binary, a, b expr) expr {
	if e := shiftedPointer(c, x, a, b); e != nil {
		return e
	}
	return binaryRules[x.Op](c.operators, x, c.rvalue(a), c.rvalue(b))
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

// toPointer converts an integer operand as C does: sign-extended when signed.
func toPointer(e expr) expr {
	if isPointer(e.Type()) {
		return e
	}
	return convert(promoted(e), voidPtrT)
}
