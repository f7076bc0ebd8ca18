package sema

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/lang"
)

// cast is (Type)X: between scalars as C; to a struct or array only where it
// changes nothing.
func (c *checker) cast(x *lang.Cast) expr {
	if x.Bare && !c.in.isType(x.Type.Name) {
		c.fail(x.X.Span(), fmt.Sprintf("an operator is missing before %q", c.textOf(x.X.Span())),
			fmt.Sprintf("the program has no type %q; for a tag write %q", x.Type.Name, "struct "+x.Type.Name))
	}
	t := c.typeOf(x.Type)
	e := c.expr(x.X)
	if isVoid(t) {
		if _, lit := e.(*strLit); !lit {
			e = c.rvalue(e)
		}
		return &voidExpr{typed{ctype.VoidT, x.Span()}, e}
	}
	if isLvalue(e) && !isScalar(t) && same(e.Type(), t) {
		return e
	}
	if isLvalue(e) && isRecord(t) && isRecord(e.Type()) { // the part of an object that is a base class
		if part := c.basePart(e, t.Strip(), x.Span()); part != nil {
			return part
		}
	}
	e = c.rvalue(e)
	if isFloat(t) {
		c.noFloat(x.Span())
	}
	from := e.Type()
	if isPointer(from) && isPointer(t) && x.Op != "reinterpret_cast" {
		if p := c.pointerTo(e, t, true, x.Span()); p != nil {
			return p
		}
		if f, g := elemOf(from).Strip(), elemOf(t).Strip(); x.Op == "static_cast" && isRecord(f) && isRecord(g) && !ctype.SameClass(f, g) {
			c.fail(x.Span(), fmt.Sprintf("static_cast does not convert %s to %s: neither class is a base of the other", typeString(from), typeString(t)),
				"reinterpret_cast takes the pointer as it is")
		}
	}
	switch {
	case isNumber(from) && isNumber(t),
		isPointer(from) && (isPointer(t) || isInt(t)),
		isInt(from) && isPointer(t):
		return &conv{typed{t, x.Span()}, e}
	case !isScalar(from):
		c.failOperand(e, "%s cannot be cast")
	}
	hint := ""
	if isRecord(t) || isArray(t) {
		hint = "cast its address instead: *(" + typeString(ctype.PointerTo(t)) + ")&..."
	}
	c.fail(x.Span(), fmt.Sprintf("%s cannot be cast to %s", typeString(from), typeString(t)), hint)
	return nil
}

// sizeof has a constant value; its operand is not evaluated.
func (c *checker) sizeof(x *lang.Sizeof) expr {
	var t *ctype.Type
	if x.Type != nil {
		t = c.typeOf(x.Type)
	} else {
		c.uneval++
		e := c.expr(x.X)
		c.uneval--
		if b := bitField(e); b != 0 {
			c.fail(e.Span(), "a bit-field has no size in bytes", fmt.Sprintf("it has %d bits", b))
		}
		if _, ok := e.(*dynamic); ok { // its size is known at the hit only
			return &dynamicSize{typed{ctype.ULongT, x.Span()}, c.expr(x.X).(*dynamic)}
		}
		if v, ok := e.(*varRef); ok && v.array != nil {
			return c.variableSize(v)
		}
		if isArray(e.Type()) && e.Type().Strip().Size <= 0 && c.gridOf(e) != nil { // its bounds must have values
			return convert(c.bytesOf(c.gridOf(c.expr(x.X))), ctype.ULongT)
		}
		t = e.Type()
	}
	return &intConst{typed: typed{ctype.ULongT, x.Span()}, v: c.sizeOf(x.Span(), t)}
}

func (c *checker) sizeOf(span lang.Span, t *ctype.Type) int64 {
	s := t.Strip()
	switch {
	case s.Kind == ctype.Void || s.Kind == ctype.Func:
		return 1 // GNU C
	case s.Kind == ctype.Array && s.Count == 0:
		return 0
	case s.Size > 0, isRecord(s) && !s.Incomplete:
		return s.Size
	case s.Kind == ctype.Reference:
		return c.sizeOf(span, elemOf(s))
	}
	c.failSize(span, t)
	return 0
}
