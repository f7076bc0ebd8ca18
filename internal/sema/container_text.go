package sema

import (
	"slices"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/lang"
)

// contentText is container e of characters as text for a comparison with a literal; nil if it is none.
func (ct *containers) contentText(x *lang.Binary, a, b expr) expr {
	lit, ok := b.(*strLit)
	if !ok {
		if lit, ok = a.(*strLit); !ok {
			return nil
		}
		a = b
	}
	k := ct.textIn(a)
	if k == nil {
		return nil
	}
	return sameText(x, k, lit)
}

// sameText compares a text with a literal.
func sameText(x *lang.Binary, k *content, lit *strLit) expr {
	t := typed{ctype.IntT, x.Span()}
	n := &intConst{typed: typed{ctype.ULongT, lit.span}, v: int64(len(lit.v))}
	same := &logic{t, true, &compare{t, "==", convert(k.count, ctype.ULongT), n}, &textEq{typed: t, x: k.first, lit: lit.v, bound: n.v}}
	if x.Op == "!=" {
		return &not{t, same}
	}
	return same
}

// stringClasses are the classes of the table whose objects are text.
var stringClasses = map[string]bool{"std::basic_string": true, "std::basic_string_view": true, "string": true, "&str": true, "alloc::string::String": true}

// textIn is the content of an object that is text; nil for everything else.
func (ct *containers) textIn(e expr) *content {
	if k := ct.charactersIn(e); k != nil && isByteElem(elemOf(k.first.Type())) {
		return k
	}
	return nil
}

// charactersIn is the content of an object that has characters of any width; nil for everything else.
func (ct *containers) charactersIn(e expr) *content {
	k := ct.contentOf(ct.behindRef(e))
	if k == nil || k.first == nil {
		return nil
	}
	if elem := elemOf(k.first.Type()); !isByteElem(elem) && ctype.StringWidth(elem) < 2 {
		return nil
	}
	return k
}

// behindRef is the container or array that a reference or Box of Rust leads to, and e of all other types.
func (ct *containers) behindRef(e expr) expr {
	for depth := 0; depth < maxNesting; depth++ {
		t := e.Type().Strip()
		if t.Kind != ctype.Pointer || !t.Borrows || !ct.holdsElements(t, depth) {
			return e
		}
		e = ct.target(&deref{typed{elemOf(e.Type()), e.Span()}, ct.rvalue(e)})
	}
	return e
}

// holdsElements reports whether what a reference of Rust leads to has elements: a container, an array, or another
// reference to such.
func (ct *containers) holdsElements(t *ctype.Type, depth int) bool {
	to := t.Elem.Strip()
	switch {
	case to.Kind == ctype.Pointer:
		return to.Borrows && depth < maxNesting && ct.holdsElements(to, depth+1)
	case to.Kind == ctype.Array:
		return true
	}
	return isRecord(to) && slices.ContainsFunc(containerTable, func(c container) bool { return c.class == className(to) })
}

// stringIn is the content of an object of a string class; nil for everything else.
func (ct *containers) stringIn(e expr) *content {
	if s := ct.behindRef(e).Type().Strip(); !isRecord(s) || !stringClasses[className(s)] {
		return nil
	}
	return ct.textIn(e)
}

// contentAsText is object e, if it is text, as an array of its characters; nil if it is none. Other containers of
// characters are text in the format /s.
func (ct *containers) contentAsText(e expr, letter byte) *repeat {
	if s := ct.behindRef(e).Type().Strip(); letter != 's' && (!isRecord(s) || !stringClasses[className(s)]) {
		return nil
	}
	k := ct.charactersIn(e)
	if k == nil {
		return nil
	}
	elem := elemOf(k.first.Type())
	chars := ctype.CharT
	if !isByteElem(elem) {
		chars = elem
	}
	return &repeat{typed: typed{ctype.ArrayOf(chars, -1), e.Span()}, x: &deref{typed{elem, e.Span()}, k.first}, n: convert(k.count, ctype.LongT)}
}
