package sema

import "github.com/jalon-trace/jalon/internal/ctype"

// An array of variable length whose elements have a constant size (vla_rows.go has the others): the number of its elements
// is computed at the hit, as that of p@n is.

// variableLength is the array as the repetition of its first element.
func (mb *members) variableLength(v *varRef) *repeat {
	first := mb.pointee(mb.rvalue(v), v.span)
	return &repeat{typed: typed{ctype.ArrayOf(first.Type(), -1), v.span}, x: first, n: mb.countOf(v)}
}

// countOf is the number of elements.
func (mb *members) countOf(v *varRef) expr {
	n := convert(promoted(mb.rvalue(mb.variable(v.array.Count, v.span))), ctype.LongT)
	if add := v.array.CountAdd; add != 0 {
		n = &arith{typed{ctype.LongT, v.span}, "+", n, &intConst{typed: typed{ctype.LongT, v.span}, v: add}}
	}
	return n
}

// variableSize is sizeof such an array.
func (mb *members) variableSize(v *varRef) expr {
	size := &intConst{typed: typed{ctype.ULongT, v.span}, v: elemOf(v.t).Strip().Size}
	return &arith{typed{ctype.ULongT, v.span}, "*", convert(mb.countOf(v), ctype.ULongT), size}
}

// isFlexible: a member that is an array without elements of its own, in memory.
func (mb *members) isFlexible(e expr) bool {
	s := e.Type().Strip()
	_, member := e.(*sub)
	if !member || s.Kind != ctype.Array || s.Fortran || s.Vector || s.Count > 0 || elemOf(s).Strip().Size <= 0 {
		return false
	}
	return mb.hasAddress(e)
}

// hasUnbounded reports whether an array without elements of its own is in a value of
// type t: a flexible member, which is shown by its address.
func hasUnbounded(t *ctype.Type) bool { return unbounded(t, map[*ctype.Type]bool{}) }

func unbounded(t *ctype.Type, seen map[*ctype.Type]bool) bool {
	s := t.Strip()
	switch {
	case s.Kind == ctype.Array:
		return s.Count <= 0 || s.Elem != nil && unbounded(s.Elem, seen)
	case !isRecord(s) || seen[s]:
		return false
	}
	seen[s] = true
	for _, f := range s.Fields() {
		if unbounded(f.Type, seen) {
			return true
		}
	}
	if v := s.Variants(); v != nil {
		for _, x := range v.List {
			if unbounded(x.Type, seen) {
				return true
			}
		}
	}
	return false
}
