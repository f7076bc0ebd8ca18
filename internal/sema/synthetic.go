package sema

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/lang"
)

// A pointer that the compiler has optimised out may point to an object that is in registers, or that is a constant
// (DW_OP_implicit_pointer). It has no value then, but *p, p->m and p[1] have.

// synthetic is element n behind pointer or reference e if that is such a pointer; nil for all others.
func (lk *lookup) synthetic(e expr, n int64, span lang.Span) expr {
	elem := elemOf(e.Type())
	points := pointerIn(e)
	if points == nil || elem == nil || elem.Strip().Size <= 0 {
		return nil
	}
	v := points.To.Object()
	if v == nil || v.Count != nil {
		return nil
	}
	t, size := v.Type, elem.Strip().Size
	if t == nil {
		t = ctype.ArrayOf(ctype.CharT, untypedSize(v.Loc))
	}
	at := points.Offset + n*size
	if lk.uneval == 0 && v.Loc.Unavailable == "" && (at < 0 || at+size > t.Strip().Size) {
		why := fmt.Sprintf("outside of the object that the pointer points to, which has %d bytes", t.Strip().Size)
		panic(&bail{d: lk.from.At(span, "this is "+why, ""), unavailable: true, undescribed: true, why: why})
	}
	name := v.Name
	if name == "" {
		name = lk.textOf(span)
	}
	return &sub{typed: typed{elem, span}, x: &varRef{typed: typed{t, span}, name: name, loc: v.Loc}, bitOff: at * 8}
}

// pointerIn is what describes the pointer e if it has no value.
func pointerIn(e expr) *debuginfo.Pointer {
	s := e.Type().Strip()
	if s.Kind != ctype.Pointer && s.Kind != ctype.Reference {
		return nil
	}
	at := shapeOf(e)
	if at.ref == nil {
		return nil
	}
	if p := at.ref.loc.Points; p != nil && at.lo == 0 && s.Size == at.ref.t.Strip().Size {
		return p
	}
	lo := int64(0)
	for _, p := range at.ref.loc.Pieces {
		if lo == at.lo && p.BitSize == s.Size*8 {
			return p.Points
		}
		lo += p.BitSize
	}
	return nil
}

// untypedSize is the size of data without a type.
func untypedSize(l debuginfo.Location) int64 {
	if len(l.Pieces) == 1 && l.Pieces[0].Kind == debuginfo.IsBytes {
		return int64(len(l.Pieces[0].Bytes))
	}
	return 0
}
