package sema

import (
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/lang"
)

// variantTest is x == Variant or x != Variant, where x is a Rust enum with data; nil for everything else.
func (c *checker) variantTest(x *lang.Binary) expr {
	if e := c.variantOf(x, x.X, x.Y); e != nil {
		return e
	}
	return c.variantOf(x, x.Y, x.X)
}

func (c *checker) variantOf(x *lang.Binary, value, variant lang.Expr) expr {
	name, ok := variantName(variant)
	if !ok {
		return nil
	}
	var e expr
	if c.try(func() { e = c.expr(value) }) != nil {
		return nil // the general rule reports it
	}
	v := e.Type().Strip().Variants()
	if v == nil || !isLvalue(e) {
		return nil
	}
	t := typed{ctype.IntT, x.Span()}
	test := c.isVariant(e, v, name, t)
	if test == nil {
		var names []string
		for i := range v.List {
			names = append(names, v.List[i].Name)
		}
		c.fail(x.Span(), fmt.Sprintf("%s has no variant %q", tagged(e.Type().Strip()), name), "its variants are "+strings.Join(names[:min(len(names), 12)], ", "))
	}
	if x.Op == "!=" {
		return &not{t, test}
	}
	return test
}

// variantName is the name in None, Shape::Circle.
func variantName(x lang.Expr) (string, bool) {
	switch x := x.(type) {
	case *lang.Ident:
		return x.Name, true
	case *lang.Scoped:
		return x.Name, !x.File
	}
	return "", false
}

// isVariant tests the discriminant of e; nil if there is no variant of that name.
func (ct *containers) isVariant(e expr, v *ctype.Variants, name string, t typed) expr {
	for i := range v.List {
		x := &v.List[i]
		if x.Name != name {
			continue
		}
		if v.Discr == nil {
			return &intConst{typed: t, v: 1}
		}
		d := ct.discriminant(e, v.Discr)
		if !x.Default {
			return inSpans(d, x.Values, t)
		}
		var others []ctype.Span
		for k := range v.List {
			others = append(others, v.List[k].Values...)
		}
		return &not{t, inSpans(d, others, t)}
	}
	return nil
}

// discriminant is the value that selects the variant, as an unsigned number.
func (ct *containers) discriminant(e expr, f *ctype.Field) expr {
	d := ct.rvalue(&sub{typed: typed{f.Type, e.Span()}, x: e, bitOff: f.BitOffset, bitSize: f.BitSize})
	unsigned := map[int64]*ctype.Type{1: ctype.UCharT, 2: ctype.UShortT, 4: ctype.UIntT, 8: ctype.ULongT}[d.Type().Strip().Size]
	if !isScalar(d.Type()) || isFloat(d.Type()) || unsigned == nil {
		ct.fail(e.Span(), fmt.Sprintf("the variant of %s is not selected by a number", tagged(e.Type().Strip())), "collect it whole")
	}
	return convert(convert(d, unsigned), ctype.ULongT)
}

// inSpans tests whether d is in one of the ranges.
func inSpans(d expr, list []ctype.Span, t typed) expr {
	var all expr = &intConst{typed: t}
	number := func(n uint64) expr { return &intConst{typed: typed{ctype.ULongT, t.span}, v: int64(n)} }
	for i, s := range list {
		var one expr = &compare{t, "==", d, number(s.Lo)}
		if s.Hi != s.Lo {
			one = &logic{t, true, &compare{t, ">=", d, number(s.Lo)}, &compare{t, "<=", d, number(s.Hi)}}
		}
		if i == 0 {
			all = one
		} else {
			all = &logic{t, false, all, one}
		}
	}
	return all
}
