package record

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
)

// Redacted is a site whose events are redacted.
type Redacted struct {
	Schema *event.Schema // without what is redacted by name
	by     *Redactor
	clear  []span // parts of members that are redacted by name
	texts  []span
	buf    []byte
}

// span is a part of a record. A counted one begins with its length.
type span struct {
	at, size int
	width    int // of a character
	counted  bool
}

// countedHead is the length and the flags before the bytes of a counted slot.
const countedHead = 8

// Limits of a search for members. What is beyond is redacted as a whole.
const (
	deepest      = 32
	mostMembers  = 1 << 14
	mostElements = 1 << 12
)

// Site returns what to do with the events of a schema; nil: nothing.
func (r *Redactor) Site(s *event.Schema) *Redacted {
	if r == nil {
		return nil
	}
	own := *s
	own.Fields = slices.Clone(s.Fields)
	x := &Redacted{Schema: &own, by: r}
	changed := false
	for i := range own.Fields {
		f := &own.Fields[i]
		if f.Static != event.OK || f.Kind == event.Header {
			continue
		}
		w := walk{by: r}
		if r.Field(f.Name) || !w.field(f) {
			own.Fields[i] = event.Field{Name: f.Name, Group: f.Group, Show: f.Show, Static: event.Unsupported, Reason: redacted, StatusOffset: -1, StrStatusOffset: -1}
			changed = true
			continue
		}
		if len(w.gaps) > 0 {
			f.Gaps, f.Reason = joined(append(w.gaps, f.Gaps...)), redacted
			changed = true
		}
		f.Texts = w.memberTexts(f.Texts)
		x.clear, x.texts = append(x.clear, w.clear...), append(x.texts, w.texts...)
	}
	if !changed && len(x.clear)+len(x.texts) == 0 {
		return nil
	}
	return x
}

// plain reports whether the records need no change: the schema leaves out what is redacted.
func (x *Redacted) plain() bool { return x == nil || len(x.clear)+len(x.texts) == 0 }

// apply returns the record without what is redacted. It is valid until the next call.
func (x *Redacted) apply(rec []byte) []byte {
	if x.plain() {
		return rec
	}
	x.buf = append(x.buf[:0], rec...)
	for _, s := range x.clear {
		clear(s.of(x.buf))
	}
	for _, s := range x.texts {
		if b := s.of(x.buf); s.width > 1 {
			x.by.scrubWide(b, s.width)
		} else {
			x.by.scrub(b)
		}
	}
	return x.buf
}

// of returns the bytes of a span; records can be shorter than their schema says.
func (s *span) of(rec []byte) []byte {
	b := rec[min(s.at, len(rec)):min(s.at+s.size, len(rec))]
	if !s.counted {
		return b
	}
	if len(b) < countedHead {
		return nil
	}
	n := binary.LittleEndian.Uint32(b)
	b = b[countedHead:]
	return b[:min(uint64(n), uint64(len(b)))]
}

// joined sorts gaps and joins those that overlap.
func joined(list []event.Gap) (out []event.Gap) {
	slices.SortFunc(list, func(a, b event.Gap) int { return cmp.Compare(a.From, b.From) })
	for _, g := range list {
		if k := len(out) - 1; k >= 0 && g.From <= out[k].To {
			out[k].To = max(out[k].To, g.To)
		} else {
			out = append(out, g)
		}
	}
	return out
}

// walk searches the type of a field.
type walk struct {
	by    *Redactor
	gaps  []event.Gap
	clear []span
	texts []span
	seen  int
}

// field searches a field; false: it must be redacted as a whole.
func (w *walk) field(f *event.Field) bool {
	texts := len(w.by.patterns) > 0
	if f.StrSize > 0 && texts {
		w.texts = append(w.texts, span{at: f.StrOffset, size: f.StrSize, width: charWidth(f.Type), counted: true})
	}
	switch f.Kind {
	case event.Fixed:
		if f.Type == nil {
			w.texts = append(w.texts, span{at: f.Offset, size: f.Size, width: 1})
			return true
		}
		if len(f.Bases) > 0 && (texts || w.has(f.Type, 0)) { // virtual bases are anywhere in the record
			return w.bases(f.Bases)
		}
		return w.value(f.Type, f.Offset, 0, 0)
	case event.Counted:
		if f.Grid != nil && (w.by.byName() || texts) { // between its elements may be members of any name
			return false
		}
		elem := f.Type
		if elem != nil && elem.Strip().Elem != nil {
			elem = elem.Strip().Elem
		}
		if elem != nil && w.has(elem, 0) {
			return false
		}
		if width := charWidth(elem); texts && (width > 0 || elem == nil) {
			w.texts = append(w.texts, span{at: f.Offset, size: f.Size, width: max(width, 1), counted: true})
		} else if texts && elem.Strip().IsAggregate() && w.hasText(elem, 0) {
			return false
		}
	case event.SData:
		if f.Text != nil && slices.ContainsFunc(f.Text.Fields, func(x event.TextField) bool { return w.by.member(x.Name) }) {
			return false
		}
		if texts {
			w.texts = append(w.texts, span{at: f.Offset, size: f.Size, width: 1, counted: true})
		}
	}
	return true
}

// memberTexts leaves out the texts of members that are redacted by name, and has the others searched.
func (w *walk) memberTexts(list []event.MemberText) (out []event.MemberText) {
	place := make([]int, len(list)+1) // of each in out, and 1; 0: left out
	for i, t := range list {
		if t.Of > 0 {
			if t.Of = place[t.Of]; t.Of == 0 {
				w.clear = append(w.clear, span{at: t.Offset, size: t.Size})
				continue
			}
		}
		if (t.Grid != nil || t.Elements) && (w.by.byName() || len(w.by.patterns) > 0) || t.Of == 0 && slices.ContainsFunc(w.gaps, func(g event.Gap) bool { return g.From <= 8*t.At && 8*t.At < g.To }) {
			w.clear = append(w.clear, span{at: t.Offset, size: t.Size})
			continue
		}
		if len(w.by.patterns) > 0 {
			w.texts = append(w.texts, span{at: t.Offset, size: t.Size, width: max(charWidth(t.Chars), 1), counted: true})
		}
		out = append(out, t)
		place[i+1] = len(out)
	}
	return out
}

// bases reports whether a value with virtual bases may be recorded: nothing of it is redacted.
func (w *walk) bases(list []event.VirtualBase) bool {
	for i := range list {
		if in := list[i].In; in != nil && (w.has(in, 0) || w.hasText(in, 0)) || !w.bases(list[i].Bases) {
			return false
		}
	}
	return true
}

// charWidth is the size of the characters of a type, or of the elements that it points to; 0: it is no text.
func charWidth(t *ctype.Type) int {
	if t == nil {
		return 1
	}
	if s := t.Strip(); s.Elem != nil {
		t = s.Elem
	}
	return ctype.TextOf(t).Width
}

// has reports whether a type has a member that is redacted by name. What is too deep has one.
func (w *walk) has(t *ctype.Type, depth int) bool {
	if !w.by.byName() {
		return false
	}
	return w.any(t, depth, func(f *ctype.Field) bool { return w.by.member(f.Name) }, nil)
}

// hasText reports whether a type has an array of characters.
func (w *walk) hasText(t *ctype.Type, depth int) bool {
	if len(w.by.patterns) == 0 {
		return false
	}
	return w.any(t, depth, nil, func(s *ctype.Type) bool { return s.Kind == ctype.Array && charWidth(s) > 0 })
}

// any reports whether a member or a part of a type fits.
func (w *walk) any(t *ctype.Type, depth int, member func(*ctype.Field) bool, part func(*ctype.Type) bool) bool {
	if w.seen++; depth > deepest || w.seen > mostMembers {
		return true
	}
	s := t.Strip()
	switch {
	case part != nil && part(s):
		return true
	case s.Kind == ctype.Array && s.Elem != nil:
		return w.any(s.Elem, depth+1, member, part)
	case !s.IsAggregate():
		return false
	}
	fields := s.Fields()
	return slices.ContainsFunc(fields, func(f ctype.Field) bool {
		return member != nil && member(&f) || w.any(f.Type, depth+1, member, part)
	})
}

// value searches a value at an offset in the record, of which bit is the place in the whole value.
func (w *walk) value(t *ctype.Type, at int, bit int64, depth int) bool {
	if w.seen++; depth > deepest || w.seen > mostMembers {
		return false
	}
	s := t.Strip()
	switch {
	case s.Kind == ctype.Array && s.Elem != nil:
		if width := charWidth(s); width > 0 {
			if len(w.by.patterns) > 0 && s.Size > 0 {
				w.texts = append(w.texts, span{at: at, size: int(s.Size), width: width})
			}
			return true
		}
		return w.elements(s, at, bit, depth)
	case s.Kind == ctype.Struct || s.Kind == ctype.Union:
		if s.Variants() != nil { // which members there are is decided by the value
			return !w.has(t, depth) && !w.hasText(t, depth)
		}
		for _, f := range s.Fields() {
			if !w.member(&f, at, bit, depth) {
				return false
			}
		}
	}
	return true
}

func (w *walk) elements(s *ctype.Type, at int, bit int64, depth int) bool {
	if !s.Elem.Strip().IsAggregate() && s.Elem.Strip().Kind != ctype.Array {
		return true
	}
	if !w.has(s.Elem, depth) && !w.hasText(s.Elem, depth) {
		return true
	}
	size := s.Elem.Strip().Size
	if s.Count > mostElements || size <= 0 {
		return false
	}
	for i := range s.Count {
		if !w.value(s.Elem, at+int(i*size), bit+8*i*size, depth+1) {
			return false
		}
	}
	return true
}

// member searches a member of a structure. A bit-field that is redacted takes the bytes that it shares along.
func (w *walk) member(f *ctype.Field, at int, bit int64, depth int) bool {
	from, size := f.BitOffset, f.BitSize
	if size == 0 {
		size = 8 * f.Type.Strip().Size
	}
	if w.by.member(f.Name) {
		low, high := from/8, (from+size+7)/8
		w.gaps = append(w.gaps, event.Gap{From: bit + 8*low, To: bit + 8*high})
		w.clear = append(w.clear, span{at: at + int(low), size: int(high - low)})
		return true
	}
	if f.BitSize != 0 || f.Virtual {
		return true
	}
	return w.value(f.Type, at+int(from/8), bit+from, depth+1)
}
