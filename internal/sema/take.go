package sema

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/lang"
)

// formatLetters are GDB's output formats that a value can be shown in.
const formatLetters = "xduotcafsz"

// wordAsText makes a pointer to text of argN and retval in format /s: they are words without a type, and
// the format declares that they point to a string. Other numbers, also a variable of that name, stay
// numbers, as in GDB.
func (co *collector) wordAsText(it lang.Collect, e expr) expr {
	name := ""
	switch x := it.X.(type) {
	case *lang.Ident:
		name = x.Name
	case *lang.Reg:
		name = x.Name
	}
	if _, arg := argNumber(name); it.Format.Letter != 's' || !arg && name != "retval" || !isInt(e.Type()) || e.Type().Strip().Size != 8 {
		return e
	}
	if _, err := co.in.Scope.Lookup(name); err == nil {
		if w, ok := co.in.Scope.(interface{ Word(name string) bool }); !ok || !w.Word(name) {
			return e
		}
	}
	return &conv{typed{ctype.PointerTo(ctype.CharT), e.Span()}, co.rvalue(e)}
}

// field plans how e is taken.
func (co *collector) field(e expr, f lang.Format) *plan {
	if f.Letter != 0 && !containsByte(formatLetters, f.Letter) {
		co.fail(e.Span(), fmt.Sprintf("values cannot be shown in format /%c", f.Letter), "the formats are /x /d /u /o /t /c /a /f /s /z")
	}
	p := co.take(e, f.Letter)
	p.Show = event.Show{Letter: f.Letter, Size: f.Size, Count: f.Count}
	return p
}

func containsByte(s string, b byte) bool {
	for i := range len(s) {
		if s[i] == b {
			return true
		}
	}
	return false
}

func (co *collector) take(e expr, letter byte) *plan {
	switch x := e.(type) {
	case *varRef:
		if x.array != nil {
			return co.takeRepeat(co.variableLength(x))
		}
	case *text:
		t := ctype.PointerTo(ctype.CharT)
		if elem := elemOf(x.p.Type()); ctype.StringWidth(elem) > 1 {
			t = ctype.PointerTo(elem)
		}
		return co.takeText(x.p, t, x.limit)
	case *repeat:
		if x.n != nil {
			return co.takeRepeat(x)
		}
	case *dynamic:
		return co.takeDynamic(x)
	case *intConst:
		if x.enum != nil {
			return plain(asValue, &intConst{typed: typed{x.enum, x.span}, v: x.v}, x.enum)
		}
	case *voidExpr:
		co.fail(e.Span(), "a void expression has no value", "")
	}
	t := e.Type()
	if g := co.gridOf(e); g != nil {
		return co.takeGrid(g)
	}
	if letter == 's' || letter == 0 {
		if r := co.contentAsText(e, letter); r != nil {
			return co.takeRepeat(r)
		}
	}
	switch {
	case isVoid(t):
		co.noVoid(e)
	case isFunc(t):
		e = co.rvalue(e)
		return plain(asValue, e, e.Type())
	case co.isFlexible(e): // its address and, of characters, their text: as GDB
		p := co.take(co.rvalue(e), letter)
		if p.Type.Strip().Kind == ctype.Pointer {
			p.Type = &ctype.Type{Kind: ctype.Pointer, Size: 8, Elem: elemOf(t), Decayed: true}
		}
		return p
	case isLvalue(e) && (!isScalar(t) || co.onlyBytes(e) || co.in.Kernel != nil && isFloat(t)):
		return co.takeObject(e, letter)
	}
	e = co.rvalue(e)
	if isPointer(t) && (letter == 0 || letter == 's') {
		switch elem := elemOf(t); {
		case letter == 's' && (isByteElem(elem) || ctype.StringWidth(elem) > 1):
			return co.takeText(e, t, -1)
		case letter == 0 && ctype.StringWidth(elem) > 0:
			p := co.takeText(e, t, -1)
			p.mode, p.Kind = asPointer, event.Fixed
			return p
		}
	}
	return plain(asValue, e, t)
}

func plain(m mode, e expr, t *ctype.Type) *plan {
	return &plan{Field: event.Field{Type: t}, mode: m, x: e}
}

// maxWideChars bounds strings of wide characters, which the kernel engine reads in a
// loop that the verifier follows.
const maxWideChars = 4096

// takeText collects the string at p, at most limit characters (-1: the input's limit). The field has the
// type of a pointer to its characters: an array in a Counted slot is a p@n.
func (co *collector) takeText(p expr, t *ctype.Type, limit int64) *plan {
	pl := plain(asText, p, t)
	pl.Kind = event.Counted
	if limit < 0 {
		limit = int64(co.in.StringLimit)
	}
	pl.width = max(1, ctype.StringWidth(elemOf(t)))
	if pl.width > 1 {
		limit = min(limit, maxWideChars)
	}
	pl.limit = limit * pl.width
	return pl
}

// takeRepeat takes at most as many elements as the limits allow.
func (co *collector) takeRepeat(x *repeat) *plan {
	p := plain(asRepeat, x, x.t)
	p.Kind = event.Counted
	p.limit = int64(co.in.RepeatLimit)
	if isChar(x.x.Type()) {
		p.limit = max(p.limit, int64(co.in.StringLimit))
	}
	size := x.x.Type().Strip().Size
	if size > groupLimit {
		co.fail(x.span, fmt.Sprintf("elements of %d bytes are too large to be repeated", size), "")
	}
	p.limit = max(1, min(p.limit, groupLimit/size))
	return p
}

// takeObject takes the bytes of an object, and the texts that its parts lead to.
func (co *collector) takeObject(e expr, letter byte) *plan {
	s := e.Type().Strip()
	switch {
	case s.Kind == ctype.Invalid:
		co.failType(e)
	case s.Kind == ctype.Array && s.Count != 0 && s.Size <= 0, s.Size < 0,
		s.Size == 0 && s.Kind != ctype.Array && (!isRecord(s) || s.Incomplete):
		co.failSize(e.Span(), e.Type())
	case s.Size > MaxRecordSize:
		co.fail(e.Span(), fmt.Sprintf("%s has %d bytes; a record holds %d at most", typeString(e.Type()), s.Size, MaxRecordSize),
			"collect a part of it: a member, or x[0]@n")
	}
	if p := co.takePartly(e); p != nil {
		return p
	}
	co.needBytes(e)
	p := plain(asBytes, e, e.Type())
	p.bases = co.virtualBases(e)
	p.texts = co.texts(e, letter)
	return p
}

// onlyBytes: a scalar that can be stored but not read into an IR value: an
// element in the high half of a vector register.
func (co *collector) onlyBytes(e expr) bool {
	s := shapeOf(e)
	if s.mem {
		return false
	}
	only := false
	window(s.pieces, s.lo, bitsOf(e), func(p debuginfo.Piece, off, _, n int64) {
		only = only || p.Kind == debuginfo.InRegister && isXMM(p.Reg) && p.BitOffset+off+n > 64
	})
	return only
}

// noVoid: a variable of a type without values, such as nullptr_t of C++, is a reason of its field.
func (co *collector) noVoid(e expr) {
	const why = "a void expression has no value"
	if shapeOf(e).ref == nil {
		co.fail(e.Span(), why, "")
	}
	panic(&bail{d: co.from.At(e.Span(), why, ""), unavailable: true, undescribed: true, otherwise: true, why: why})
}
