package format

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
)

// texts are the texts that parts of a value lead to.
type texts struct {
	list  []event.MemberText
	value *event.Value
	of    int // as MemberText.Of, of the part that is printed
}

// find returns the text of the part of type s at byte at; nil if none was recorded.
func (x *texts) find(s *ctype.Type, at int64, content bool) *event.MemberText {
	if x == nil {
		return nil
	}
	for i := range x.list {
		if t := &x.list[i]; t.At == at && t.Of == x.of && t.In == s && t.Content == content {
			return t
		}
	}
	return nil
}

// arrayText appends the text of an array of characters without a length to its address.
func (p *Printer) arrayText(b []byte, s *ctype.Type, it item) ([]byte, bool) {
	t := it.texts.find(s, it.gaps.at/8, false)
	if t == nil {
		return b, false
	}
	return p.textOf(append(b, ' '), it.texts.value, t), true
}

// textOf appends the text, or why there is none.
func (p *Printer) textOf(b []byte, v *event.Value, t *event.MemberText) []byte {
	text := v.Text(t)
	if text.Status != event.OK {
		return appendStatus(b, text.Status, text.Addr, "")
	}
	return p.str(b, stringChars(t.Chars), text.Data, stringEnd(text.Truncated))
}

// pointerText appends the text at a pointer to what is printed of it.
func (p *Printer) pointerText(b []byte, s *ctype.Type, it item) ([]byte, bool) {
	t := it.texts.find(s, it.gaps.at/8, false)
	if t == nil {
		return b, false
	}
	if isZero(it.data) {
		return b, true
	}
	return p.textOf(append(b, ' '), it.texts.value, t), true
}

// partElements prints the array of Fortran that a part of type s is; false: it was not collected.
func (p *Printer) partElements(b []byte, s *ctype.Type, it item, f Fmt) ([]byte, bool) {
	t := it.texts.find(s, it.gaps.at/8, false)
	if t == nil || t.Grid == nil {
		return b, false
	}
	v := it.texts.value.Elements(t)
	if v.Status != event.OK {
		return appendStatus(b, v.Status, v.Addr, ""), true
	}
	return p.appendCounted(b, &v, f), true
}

// elements returns the elements of a container, and what these lead to; false: they were not read.
func (it item) elements(s *ctype.Type) (v event.Value, parts *texts, ok bool) {
	t := it.texts.find(s, it.gaps.at/8, true)
	if t == nil || !t.Elements {
		return v, nil, false
	}
	v = it.texts.value.Elements(t)
	parts = &texts{list: it.texts.list, value: it.texts.value}
	for i := range parts.list {
		if t == &parts.list[i] {
			parts.of = i + 1
		}
	}
	return v, parts, v.Status == event.OK
}

// containerElements prints the elements of the container that a part of type s is; false: they were not read.
func (p *Printer) containerElements(b []byte, s *ctype.Type, it item, f Fmt) ([]byte, bool) {
	if it.texts.none() {
		return b, false
	}
	v, parts, ok := it.elements(s)
	if !ok {
		return b, false
	}
	of := valueItem(&v, p.Symbol)
	of.up, of.texts = it.up, parts
	return p.countedItem(b, &v, of, f), true
}

// content returns the text of an object of a string class, if it was read.
func (it item) content(s *ctype.Type, f Fmt) (t *event.MemberText, text event.String) {
	if f != 0 && f != 's' {
		return nil, text
	}
	if t = it.texts.find(s, it.gaps.at/8, true); t == nil || t.Elements {
		return nil, text
	}
	if text = it.texts.value.Text(t); text.Status != event.OK {
		return nil, text
	}
	return t, text
}

// jsonText writes the text of a part of type s; false: it has none.
func (it item) jsonText(b []byte, s *ctype.Type) ([]byte, bool) {
	if it.texts.none() { // most values: what follows allocates
		return b, false
	}
	if v, parts, ok := it.elements(s); ok {
		of := valueItem(&v, nil)
		of.texts = parts
		return jsonCountedItem(b, &v, of), true
	}
	if t := it.texts.find(s, it.gaps.at/8, false); t != nil && t.Grid != nil {
		if v := it.texts.value.Elements(t); v.Status == event.OK {
			return jsonCounted(b, &v), true
		}
		return append(b, "null"...), true
	}
	if s.Kind != ctype.Pointer {
		t, text := it.content(s, 0)
		if t == nil {
			return b, false
		}
		return appendChars(b, stringChars(t.Chars), text.Data), true
	}
	t := it.texts.find(s, it.gaps.at/8, false)
	if t == nil {
		return b, false
	}
	text := it.texts.value.Text(t)
	if isZero(it.data) || text.Status != event.OK {
		return append(b, "null"...), true
	}
	return appendChars(b, stringChars(t.Chars), text.Data), true
}

// none reports whether nothing that the value leads to was collected.
func (x *texts) none() bool { return x == nil || len(x.list) == 0 }

// missing returns why a text of the value is not whole, or "".
func (x *texts) missing() string {
	for i := range x.list {
		t := &x.list[i]
		text := x.value.Text(t)
		switch {
		case !x.shown(t):
		case t.Elements:
			if why := x.missingElements(t); why != "" {
				return why
			}
		case t.Grid != nil:
			if why := x.missingElements(t); why != "" {
				return why
			}
		case t.In.Kind == ctype.Array: // shown as a pointer where this is asked
		case !t.Content && t.At+8 <= int64(len(x.value.Data)) && isZero(x.value.Data[t.At:t.At+8]):
		case text.Status != event.OK:
			return "partly unavailable: text of a member: " + event.Explain(text.Status, text.Addr, "")
		case text.Truncated:
			return fmt.Sprintf("partly truncated: text of a member after %d bytes", len(text.Data))
		}
	}
	return ""
}

// shown: the part is none of elements that there are not, or that were not read.
func (x *texts) shown(t *event.MemberText) bool {
	if t.Of == 0 {
		return true
	}
	in := &x.list[t.Of-1]
	v := x.value.Elements(in)
	return v.Status == event.OK && t.At < int64(len(v.Data)) && x.shown(in)
}

// missingElements returns why an array is not whole, or "". One that the program has not allocated is.
func (x *texts) missingElements(t *event.MemberText) string {
	switch v := x.value.Elements(t); {
	case v.Status == event.NotAllocated || v.Status == event.NotAssociated:
	case v.Status != event.OK:
		return "partly unavailable: elements of a member: " + event.Explain(v.Status, v.Addr, "")
	case v.Truncated:
		return fmt.Sprintf("partly truncated: elements of a member after %d bytes", len(v.Data))
	}
	return ""
}
