package sema

import (
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/lang"
)

// The elements of containers that are collected whole, or are parts of such objects.

const (
	// innerElements bounds the elements of a container whose elements lead to further ones or to texts, by the number of
	// containers around it.
	innerElements, innerBytes = 16, 1024
	maxInner                  = 3
)

// elements adds a container, as all of its elements. If its members cannot be right (it is not constructed yet, or the compiler
// uses their memory for other variables), the reader shows them in place of the elements.
func (f *textFinder) elements(s *ctype.Type, off int64) (found bool) {
	k := (*content)(nil)
	_ = f.try(func() {
		part := expr(&sub{typed: typed{s, f.whole.Span()}, x: f.whole, bitOff: 8 * off})
		if off == 0 && f.whole.Type().Strip() == s {
			part = f.whole
		}
		if k = f.contentOf(part); k == nil || k.first == nil {
			return
		}
		elem := elemOf(k.first.Type())
		if size := elem.Strip().Size; size <= 0 || size > textRoom {
			return
		}
		p := &textPart{at: f.base + off, of: f.of, in: s, chars: elem, elements: true}
		p.text = f.plausible(k, part.Span())
		f.list = append(f.list, p)
		found = true
		f.inner(p, k)
		found = p.most != 0
	})
	return found
}

// inner adds what the first elements of a container lead to. A container of which there is no room for one element is left out.
func (f *textFinder) inner(p *textPart, k *content) {
	size := p.chars.Strip().Size
	p.most = -1
	if f.letter != 0 || f.depth >= maxInner {
		return
	}
	n := min(max(1, innerBytes/size), innerElements>>(2*f.depth))
	self := len(f.list)
	for i := range n {
		one := &textFinder{collector: f.collector, steps: f.steps, list: f.list, of: self, base: i * size, depth: f.depth + 1, full: f.full}
		one.whole = f.elementAt(k, &intConst{typed: typed{ctype.LongT, p.text.span}, v: i}, p.text.span)
		one.find(p.chars, 0, 0)
		switch {
		case one.full || one.steps < 0:
			f.full = true
			f.list = f.list[:max(self, len(f.list))]
			if i == 0 {
				f.list = f.list[:self-1]
			}
			p.most = i
			return
		case len(one.list) == len(f.list):
			return
		}
		f.list, f.steps = one.list, one.steps
		p.most = i + 1
	}
}

// plausible is the content of a container as an array; it is a fault if there cannot be as many elements.
func (ct *containers) plausible(k *content, span lang.Span) *repeat {
	elem := elemOf(k.first.Type())
	n := convert(k.count, ctype.LongT)
	if ok := ct.fits(k, span); ok != nil {
		n = &condExpr{typed{ctype.LongT, span}, ok, n, &intConst{typed: typed{ctype.LongT, span}, v: -1}}
	}
	return &repeat{typed: typed{ctype.ArrayOf(elem, -1), span}, x: &deref{typed{elem, span}, k.first}, n: n}
}

// fits compares the number of elements with the memory that there is for them; nil: the container does not say.
func (ct *containers) fits(k *content, span lang.Span) expr {
	t := typed{ctype.IntT, span}
	switch {
	case k.end != nil:
		size := elemOf(k.first.Type()).Strip().Size
		first, end := convert(k.first, ctype.ULongT), convert(k.end, ctype.ULongT)
		room := &arith{typed{ctype.ULongT, span}, "/", &arith{typed{ctype.ULongT, span}, "-", end, first}, &intConst{typed: typed{ctype.ULongT, span}, v: size}}
		return &logic{t, true, &compare{t, "<=", first, end}, &compare{t, "<=", convert(k.count, ctype.ULongT), room}}
	case k.room != nil:
		return &compare{t, "<=", convert(k.count, ctype.ULongT), convert(k.room, ctype.ULongT)}
	}
	return nil
}

// capacityOf is the number of elements that there is memory for; nil: the container does not say.
func (ct *containers) capacityOf(k *content, span lang.Span) expr {
	if k.end == nil || k.first == nil {
		return k.room
	}
	size := ct.elemSize(span, elemOf(k.first.Type()))
	return convert(&ptrDiff{typed{ctype.LongT, span}, k.end, k.first, size}, ctype.ULongT)
}
