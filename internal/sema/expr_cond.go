package sema

import (
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/lang"
)

// cond is C ? T : F with the type rules of C17 6.5.15.
func (c *checker) cond(x *lang.Cond) expr {
	test := c.truth(c.expr(x.C))
	a, b := c.samePointers(c.value(x.T), c.value(x.F))
	t := c.commonType(x, a, b)
	if isScalar(t) {
		if isNumber(t) {
			a, b = promoted(a), promoted(b)
		}
		a, b = convert(a, t), convert(b, t)
	} else if !isVoid(t) {
		c.needAddress(a)
		c.needAddress(b)
	}
	return &condExpr{typed{t, x.Span()}, test, a, b}
}

// commonPointer: a null pointer constant takes the other's type; void * wins otherwise.
func commonPointer(a, b expr) *ctype.Type {
	switch {
	case isNull(a):
		return b.Type()
	case isNull(b):
		return a.Type()
	case isVoid(elemOf(b.Type())):
		return b.Type()
	}
	return a.Type()
}

func isNull(e expr) bool {
	v, ok := constInt(e)
	return ok && v == 0 && isVoid(elemOf(e.Type()))
}
