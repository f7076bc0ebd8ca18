package sema

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/lang"
)

// call is a call of one of jalon's own functions; it refuses the program's.
func (c *checker) call(x *lang.Call) expr {
	id, ok := x.Fn.(*lang.Ident)
	if e := c.method(x); e != nil {
		return e
	}
	if e := c.goCall(x); e != nil {
		return e
	}
	if e := c.fortranElement(x); e != nil {
		return e
	}
	if ok {
		if b := builtinByName[id.Name]; b != nil && b.Form == Function {
			if how := b.here(c.site); how != nil {
				return how.call(c, x)
			}
			c.kernelOnly(b.Name, x.Span())
			c.processOnly(b, b.Name, x.Span())
		}
	}
	hint := c.callable()
	if ok {
		switch id.Name {
		case "strcmp", "strncmp", "strcasecmp":
			hint = `compare with a string literal by == or !=: p == "text"`
		case "printf", "print", "fprintf":
			hint = "write the expressions themselves, separated by commas; a format follows its expression: a, b/x"
		case "strlen":
			hint = "collect the string: p/s"
		}
	}
	c.fail(x.Span(), "functions of the program cannot be called at a site", hint)
	return nil
}

// strCall is str(pointer[, limit]).
func (c *checker) strCall(x *lang.Call) expr {
	if len(x.Args) < 1 || len(x.Args) > 2 {
		c.fail(x.Span(), "str needs a pointer and an optional limit in characters", "str(p) or str(p, 64)")
	}
	return c.str(x)
}

// maxString bounds what the user can set for one string.
const maxString = 32 << 10

func (c *checker) str(x *lang.Call) expr {
	if e := c.expr(x.Args[0]); isRecord(c.behindRef(e).Type()) && c.textIn(e) != nil {
		if len(x.Args) == 1 {
			return e // it is text without str
		}
		r := c.contentAsText(e, 's')
		most := &intConst{typed: typed{ctype.LongT, x.Span()}, v: c.textLimit(x.Args[1])}
		r.n = &condExpr{typed{ctype.LongT, x.Span()}, &compare{typed{ctype.IntT, x.Span()}, "<", convert(r.n, ctype.ULongT), convert(most, ctype.ULongT)}, r.n, most}
		return r
	}
	p := c.value(x.Args[0])
	if isInt(p.Type()) && p.Type().Strip().Size == 8 { // str(arg0), str($rdi)
		p = convert(p, ctype.PointerTo(ctype.CharT))
	}
	if !isPointer(p.Type()) {
		c.fail(p.Span(), fmt.Sprintf("str needs a pointer or a string, this is %s", typeString(p.Type())), "")
	}
	t := &text{typed: typed{textT, x.Span()}, p: p, limit: -1}
	if len(x.Args) == 2 {
		t.limit = c.textLimit(x.Args[1])
	}
	return t
}

// textLimit is the second argument of str.
func (c *checker) textLimit(x lang.Expr) int64 {
	n := c.value(x)
	v, ok := constInt(n)
	if !ok || !isInt(n.Type()) {
		c.fail(n.Span(), "the limit of str must be a constant", "for a length known only at the hit, collect *p@n")
	}
	if v < 0 || v > maxString {
		c.fail(n.Span(), fmt.Sprintf("the limit of str must be from 0 to %d", maxString), "")
	}
	return v
}

// repeat is X@N: the array of N objects of X's type that starts at object X.
func (c *checker) repeat(x *lang.Repeat) expr {
	e := c.expr(x.X)
	needPlace(c, e)
	if !isLvalue(e) {
		c.fail(e.Span(), "the left side of @ must be an object in memory", "for a pointer p write *p@n")
	}
	if r, ok := e.(*repeat); ok && r.n != nil {
		c.rvalue(e) // refuses it
	}
	if c.elemSize(e.Span(), e.Type()) == 0 || isVoid(e.Type()) || isFunc(e.Type()) {
		c.fail(e.Span(), fmt.Sprintf("%s cannot be repeated", typeString(e.Type())), "")
	}
	if bitField(e) != 0 {
		c.fail(e.Span(), "a bit-field cannot be repeated", "")
	}
	n := c.value(x.N)
	if !isInt(n.Type()) {
		c.failOperand(n, "the right side of @ must be an integer, this is %s")
	}
	c.needAddress(e)
	v, ok := constInt(n)
	if !ok {
		n = promoted(n)
		return &repeat{typed: typed{ctype.ArrayOf(e.Type(), -1), x.Span()}, x: e, n: n}
	}
	if v < 1 || v > MaxRecordSize {
		c.fail(n.Span(), fmt.Sprintf("%d is not a valid number of repetitions", v), fmt.Sprintf("it must be from 1 to %d", MaxRecordSize))
	}
	c.needInRecord(e, v, x)
	return &repeat{typed: typed{ctype.ArrayOf(e.Type(), v), x.Span()}, x: e, count: v}
}

// needInRecord refuses elements behind the end of a tracepoint's record, which no program may read.
func (c *checker) needInRecord(e expr, n int64, x *lang.Repeat) {
	s := shapeOf(e)
	if k := c.in.Kernel; k == nil || k.Context != ContextRecord || !s.ctx {
		return
	}
	at, end := s.ref.loc.Pieces[0].Ctx+s.lo/8, s.ref.loc.Pieces[0].Ctx+s.ref.t.Strip().Size
	if sd := c.in.Kernel.SData; sd != nil {
		end = sd.Type.Strip().Size
	}
	size := e.Type().Strip().Size
	if at+n*size <= end {
		return
	}
	hint := ""
	if isPointer(e.Type()) {
		hint = fmt.Sprintf("%d elements of the array that it points to are *%s", n, c.from.Whole[x.Span().Lo:x.Span().Hi])
	}
	c.fail(x.Span(), fmt.Sprintf("%d elements from here on end behind the record, which has %d bytes", n, end), hint)
}
