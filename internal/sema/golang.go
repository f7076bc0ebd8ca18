package sema

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/lang"
)

// What Go's programmers write besides C's expressions: nil, len(x), cap(x).

// goCounts are the members with the results of len and cap in what Go's maps and channels point to.
var goCounts = map[string][]string{"len": {"used", "count", "qcount"}, "cap": {"dataqsiz"}}

// goCall is len(x) or cap(x) in code of Go; nil for everything else.
func (c *checker) goCall(x *lang.Call) expr {
	id, ok := x.Fn.(*lang.Ident)
	if !ok || !c.in.GoCode || goCounts[id.Name] == nil || len(x.Args) != 1 {
		return nil
	}
	e := c.expr(x.Args[0])
	t := typed{ctype.LongT, x.Span()}
	if isArray(e.Type()) && e.Type().Strip().Count >= 0 {
		return &intConst{typed: t, v: e.Type().Strip().Count}
	}
	if k := c.contentOf(e); k != nil {
		if n := map[string]expr{"len": k.count, "cap": k.room}[id.Name]; n != nil {
			return &conv{t, n}
		}
	}
	if isPointer(e.Type()) && isRecord(elemOf(e.Type())) {
		p := c.rvalue(e)
		for _, name := range goCounts[id.Name] {
			if n := c.partAt(c.pointee(p, x.Span()), name); n != nil && isInt(n.Type()) { // a nil map or channel has none
				return &condExpr{t, p, &conv{t, c.rvalue(n)}, &intConst{typed: t}}
			}
		}
	}
	c.fail(x.Span(), fmt.Sprintf("%s has no %s", typeString(e.Type()), id.Name), "")
	return nil
}

// withNil makes slices and interfaces of Go comparable with nil: their first word is a pointer that is nil then.
func (ct *containers) withNil(a, b expr) (expr, expr) {
	if !ct.in.GoCode {
		return a, b
	}
	word := func(e, other expr) expr {
		if n, ok := constInt(other); !isRecord(e.Type()) || !ok || n != 0 || !isPointer(other.Type()) {
			return e
		}
		for _, name := range []string{"array", "tab", "_type"} {
			if f, res, _ := e.Type().Strip().Member(name, false, nil); res == ctype.Single && f.Name == nil && isPointer(f.Path[0].Type) && f.Path[0].BitOffset == 0 {
				return ct.along(e, f.Path, e.Span())
			}
		}
		return e
	}
	return word(a, b), word(b, a)
}
