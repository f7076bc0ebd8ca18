package sema

import (
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/lang"
)

// Rows of C's arrays whose size is computed at the hit: int v[n][m], and what int (*p)[m] points to.

// row is a[i], where the size of the elements is computed at the hit; nil: it is a constant, or not known.
func (ar *arrays) row(a expr, span lang.Span, index func() expr) expr {
	g := ar.rowsOf(a, span)
	if g == nil {
		return nil
	}
	i := index()
	if !isInt(i.Type()) {
		return nil
	}
	p := &ptrAdd{typed{g.first.Type(), span}, g.first, &arith{typed{ctype.LongT, span}, "*", convert(promoted(i), ctype.LongT), ar.bytesOf(g)}, 1, false}
	elem := elemOf(a.Type())
	row := &deref{typed{elem, span}, &conv{typed{ctype.PointerTo(elem), span}, p}}
	part := *g
	part.object, part.first = row, p
	ar.rows[row] = &part
	return row
}

// rowsOf describes an element of a, the first one: a part of an array, or what a pointer points to. nil: its size is a constant.
func (ar *arrays) rowsOf(a expr, span lang.Span) *grid {
	elem := elemOf(a.Type())
	switch {
	case elem == nil || !isArray(elem) || elem.Strip().Size > 0 || elem.Strip().Fortran:
		return nil
	case isPointer(a.Type()):
		return ar.gridOf(&deref{typed{elem, span}, ar.rvalue(a)})
	case !isArray(a.Type()) || !isLvalue(a):
		return nil
	}
	g := ar.gridOf(a)
	if g == nil || len(g.dims) < 2 {
		return nil
	}
	part := *g
	part.dims = g.dims[:len(g.dims)-1]
	return &part
}

// bytesOf is the size of all elements.
func (ar *arrays) bytesOf(g *grid) expr {
	ar.whole(g)
	n := expr(&intConst{typed: typed{ctype.LongT, g.object.Span()}, v: g.from.Elem.Strip().Size})
	for _, d := range g.dims {
		n = long("*", n, d.count)
	}
	return n
}
