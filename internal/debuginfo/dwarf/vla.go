package dwarf

import (
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// countAtRunTime returns the location of the number of elements if variable d is an array of variable
// length: the bound of the first dimension is a variable (clang) or an expression (gcc). The sizes of the
// elements must be constant.
func (lo *locations) countAtRunTime(d die, v *debuginfo.Variable) {
	t := v.Type.Strip()
	if t.Kind != ctype.Array || t.Count >= 0 || t.Fortran || t.Elem.Strip().Size <= 0 {
		return
	}
	array, ok := d.ref(atType)
	for n := 0; ok && n < maxDepth && array.ab.tag != tagArrayType; n++ {
		array, ok = array.ref(atType)
	}
	if !ok {
		return
	}
	for c := range array.children() {
		if c.ab.tag != tagSubrangeType {
			continue
		}
		dim := dimensionOf(c)
		bound, ok := c.attr(atCount)
		add := int64(0)
		if !ok {
			bound, ok = c.attr(atUpperBound)
			add = 1 - dim.lower
		}
		if !ok || dim.open || bound.IsConst() {
			return
		}
		v.Count, v.CountAdd = lo.bound(bound), add
		return
	}
}

// bound is the value of an array's bound: that of a variable, or of an expression.
func (lo *locations) bound(b val) *debuginfo.Variable {
	v := &debuginfo.Variable{Name: "its number of elements", Type: ctype.LongT}
	switch {
	case b.IsRef():
		if d, ok := b.die(); ok {
			return lo.boundIn(d, v)
		}
	case b.IsBlock():
		ops, why := lo.env(b.u).Word(b.B, nil)
		if why == "" {
			v.Loc.Pieces = []debuginfo.Piece{{Kind: debuginfo.IsValue, Expr: ops}}
			return v
		}
		v.Loc.Unavailable = why
		return v
	}
	v.Loc.Unavailable = "optimised out"
	return v
}

// boundIn is the bound in variable d.
func (lo *locations) boundIn(d die, v *debuginfo.Variable) *debuginfo.Variable {
	v.Loc.Unavailable = "optimised out"
	if d.ab.tag == tagVariable || d.ab.tag == tagFormalParameter {
		if t := lo.m.typeOf(d); t.IsInteger() {
			v.Type, v.Loc = t, lo.location(d, t)
		}
	}
	return v
}
