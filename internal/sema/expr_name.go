package sema

import (
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/lang"
)

// ident resolves a bare name: in the scope (variables, functions, enumerators, members of C++'s this), as a
// constant of C and C++, as an argument register, as a word; in this order.
func (c *checker) ident(x *lang.Ident) expr {
	e, err := debuginfo.Resolve(c.in.Scope, x.Name, false)
	if err == nil && e.Type == nil {
		if x.Name == "this" && e.Var != nil {
			return c.this(e.Var, x.Span())
		}
		return c.entity(e, x.Name, x.Span())
	}
	if err != nil {
		c.failMeaning(err, x.Span())
	}
	if e := c.throughThis(x); e != nil {
		return e
	}
	if x.Name == "nil" && c.in.GoCode {
		return &intConst{typed: typed{voidPtrT, x.Span()}}
	}
	if k, ok := namedConstants[x.Name]; ok {
		return &intConst{typed: typed{k.t, x.Span()}, v: k.v}
	}
	if n, ok := argNumber(x.Name); ok {
		return c.argument(n, x.Span())
	}
	if w := c.bareWord(x.Name); w != nil {
		return w.here(c.site).value(c, x.Span())
	}
	if err == nil || c.in.isType(x.Name) {
		c.failTypeAsValue(x.Name, x.Span())
	}
	if v := c.ofOther(x.Name, nil, x.Span()); v != nil {
		return c.variable(v, x.Span())
	}
	c.failName(x.Name, x.Span(), err)
	return nil
}

var namedConstants = map[string]struct {
	t *ctype.Type
	v int64
}{
	"true":    {ctype.BoolT, 1},
	"false":   {ctype.BoolT, 0},
	"NULL":    {voidPtrT, 0},
	"nullptr": {voidPtrT, 0},
}

// enumerator is a constant of C's type for enumerators: int, or the enum's own when int is too small.
func enumerator(t *ctype.Type, v int64, span lang.Span) expr {
	et := ctype.IntT
	if v != int64(int32(v)) {
		et = ofSize(8, t.Strip().Signed || v < 0, false)
		if t.Strip().Size == 4 && v == int64(uint32(v)) {
			et = ctype.UIntT
		}
	}
	return &intConst{typed: typed{et, span}, v: v, enum: t}
}

// scoped is N::x, C::x, ::x, 'file.c'::x and f::x.
func (c *checker) scoped(x *lang.Scoped) expr {
	s := c.in.Scope
	var err error
	if _, ok := s.(debuginfo.Resolver); ok && !x.File {
		var e *debuginfo.Entity
		if e, err = debuginfo.Resolve(s, x.Scope+"::"+x.Name, false); err == nil {
			return c.entity(e, x.Scope+"::"+x.Name, x.Span())
		}
		c.failMeaning(err, x.Span())
	}
	where := x.Scope
	if err == nil {
		where = strings.TrimPrefix(where, "::")
	}
	v, inErr := s.LookupIn(where, x.Name)
	if inErr == nil {
		return c.variable(v, x.Span())
	}
	if err == nil {
		err = inErr
		if e := c.scopedPlainly(x); e != nil {
			return e
		}
	}
	if whole := x.Scope + "::" + x.Name; c.in.isType(whole) {
		c.failTypeAsValue(whole, x.Span())
	}
	where = fmt.Sprintf(" in %q", x.Scope)
	if x.Scope == "" {
		where = " with file scope"
	}
	c.failNotFound(x.Span(), fmt.Sprintf("no variable %q%s", x.Name, where), err)
	return nil
}

// argNumber recognises arg0, arg1, ...
func argNumber(name string) (int, bool) {
	digits, ok := strings.CutPrefix(name, "arg")
	if !ok || digits == "" || len(digits) > 2 || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	n := 0
	for _, d := range digits {
		n = n*10 + int(d-'0')
	}
	return n, true
}
