package sema

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/lang"
)

// classes moves between objects and pointers of C++'s classes.
type classes struct {
	*site
	*conversions
}

// Objects of C++'s classes: base classes, this, pointers to them.

// along is the part of object e that a path of base classes and members leads to.
func (cls *classes) along(e expr, path []ctype.Field, span lang.Span) expr {
	for _, f := range path {
		if f.Virtual {
			e = cls.virtualBase(e, f, span)
		} else {
			e = &sub{typed: typed{f.Type, span}, x: e, bitOff: f.BitOffset, bitSize: f.BitSize}
		}
	}
	return e
}

// virtualBase is base class f of object e. Its offset is in the table to which the object's first word points.
func (cls *classes) virtualBase(e expr, f ctype.Field, span lang.Span) expr {
	return &deref{typed{f.Type, span}, cls.virtualBasePointer(cls.address(e, e.Type()), f, span)}
}

func (cls *classes) virtualBasePointer(p expr, f ctype.Field, span lang.Span) expr {
	if f.VtableOffset >= 0 {
		cls.fail(span, fmt.Sprintf("the debug information gives the offset of the virtual base %s in an unknown form", tagged(f.Type.Strip())), "")
	}
	bytes := &conv{typed{ctype.PointerTo(ctype.CharT), span}, p}
	table := cls.loadAt(bytes, ctype.PointerTo(ctype.CharT), 0, span)
	distance := cls.loadAt(table, ctype.LongT, f.VtableOffset, span)
	moved := &ptrAdd{typed{bytes.t, span}, bytes, distance, 1, false}
	return &conv{typed{ctype.PointerTo(f.Type), span}, moved}
}

// loadAt is the word of type t at off bytes from pointer p to characters.
func (cls *classes) loadAt(p expr, t *ctype.Type, off int64, span lang.Span) expr {
	at := &ptrAdd{typed{p.Type(), span}, p, &intConst{typed: typed{ctype.LongT, span}, v: off}, 1, false}
	return &load{typed{t, span}, &deref{typed{t, span}, &conv{typed{ctype.PointerTo(t), span}, at}}}
}

// basePart is e itself or its base class of that class; nil when it has none, or several.
func (cls *classes) basePart(e expr, class *ctype.Type, span lang.Span) expr {
	s := e.Type().Strip()
	if ctype.SameClass(s, class) {
		return e
	}
	if path, res := s.Base(class, nil); res == ctype.Single {
		return cls.along(e, path, span)
	}
	return nil
}

// pointerTo converts pointer p as C++ converts pointers to classes: to a base or (with down) a derived
// class of its target, so that it points to that part of the object; nil if the classes are not related.
func (cls *classes) pointerTo(p expr, t *ctype.Type, down bool, span lang.Span) expr {
	from, to := elemOf(p.Type()).Strip(), elemOf(t).Strip()
	if from.Class == nil || to.Class == nil || ctype.SameClass(from, to) {
		return nil
	}
	if path, res := from.Base(to, nil); res != ctype.Absent {
		cls.single(res, from, to, span)
		return cls.moved(p, t, span, func(p expr) expr {
			for _, f := range path {
				if f.Virtual {
					p = cls.virtualBasePointer(p, f, span)
				} else {
					p = bytesFrom(p, f.BitOffset/8, ctype.PointerTo(f.Type), span)
				}
			}
			return p
		}, path)
	}
	if !down {
		return nil
	}
	path, res := to.Base(from, nil)
	if res == ctype.Absent {
		if from.Incomplete || to.Incomplete {
			cls.fail(span, fmt.Sprintf("it is unknown whether %s and %s are related: one is incomplete in the debug information", tagged(from), tagged(to)),
				"cast to void * first to take the pointer as it is")
		}
		return nil
	}
	cls.single(res, to, from, span)
	off := int64(0)
	for _, f := range path {
		if f.Virtual {
			cls.fail(span, fmt.Sprintf("a pointer to the virtual base %s cannot be cast to %s", tagged(from), tagged(to)),
				"cast to void * first to take the pointer as it is")
		}
		off += f.BitOffset / 8
	}
	return cls.moved(p, t, span, func(p expr) expr { return bytesFrom(p, -off, t, span) }, path)
}

func (cls *classes) single(res ctype.Result, derived, base *ctype.Type, span lang.Span) {
	if res == ctype.Ambiguous {
		cls.fail(span, fmt.Sprintf("%s has several base classes %s", tagged(derived), tagged(base)), "cast to the class between them first")
	}
}

// moved applies move to pointer p unless it is null.
func (cls *classes) moved(p expr, t *ctype.Type, span lang.Span, move func(expr) expr, path []ctype.Field) expr {
	still := true
	for _, f := range path {
		still = still && !f.Virtual && f.BitOffset == 0
	}
	if still {
		return &conv{typed{t, span}, p}
	}
	to := &conv{typed{t, span}, move(p)}
	if _, object := p.(*addrOf); object {
		return to
	}
	if v, ok := constInt(p); ok && v == 0 {
		return &conv{typed{t, span}, p}
	}
	null := &intConst{typed: typed{t, span}}
	return &condExpr{typed{t, span}, p, to, null}
}

// bytesFrom is p + n bytes as a t.
func bytesFrom(p expr, n int64, t *ctype.Type, span lang.Span) expr {
	bytes := ctype.PointerTo(ctype.CharT)
	add := &ptrAdd{typed{bytes, span}, &conv{typed{bytes, span}, p}, &intConst{typed: typed{ctype.LongT, span}, v: n}, 1, false}
	return &conv{typed{t, span}, add}
}

// samePointers brings two pointers to one type, as == and ?: do.
func (cls *classes) samePointers(a, b expr) (expr, expr) {
	if !isPointer(a.Type()) || !isPointer(b.Type()) {
		return a, b
	}
	if p := cls.pointerTo(a, b.Type(), false, a.Span()); p != nil {
		return p, b
	}
	if p := cls.pointerTo(b, a.Type(), false, b.Span()); p != nil {
		return a, p
	}
	return a, b
}
