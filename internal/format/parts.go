package format

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
)

// Part is a field of a static tracepoint's own record (event.SData), as a value of its own.
type Part struct {
	Name string
	Kind SimpleKind

	member ctype.Field
	elem   *ctype.Type // of a dynamic array; nil: it is none
	rel    bool
}

// PartsOf are the fields of the records of a field of kind SData, without those that all events have.
func PartsOf(f *event.Field) (list []Part) {
	if f.Kind != event.SData || f.Type == nil || f.Type.Strip().Incomplete {
		return nil
	}
	for _, m := range f.Type.Strip().Fields() {
		if m.Name == "" || m.Type == nil || strings.HasPrefix(m.Name, "common_") {
			continue
		}
		p := Part{Name: m.Name, Kind: SimpleJSON, member: m}
		s := m.Type.Strip()
		elem, rel, dynamic := ctype.Dynamic(m.Type)
		switch {
		case dynamic:
			p.elem, p.rel = elem, rel
			if ctype.TextOf(elem).Width == 1 {
				p.Kind = SimpleText
			}
		case s.Kind == ctype.Array && s.Elem != nil && s.Elem.Strip().Name == "char":
			p.Kind = SimpleText
		case m.BitSize > 0 || m.BitOffset%8 != 0 || s.Size < 1 || s.Size > 8:
		case s.Kind == ctype.Pointer:
			p.Kind = SimplePointer
		case s.Kind == ctype.Bool:
			p.Kind = SimpleBool
		case (s.Kind == ctype.Int || s.Kind == ctype.Char) && s.Signed:
			p.Kind = SimpleInt
		case s.Kind == ctype.Int || s.Kind == ctype.Char:
			p.Kind = SimpleUint
		}
		list = append(list, p)
	}
	return list
}

// Leaf is a value of an event that has a kind of its own: a field, or a part of the record of a static tracepoint.
type Leaf struct {
	Index int    // of the field in the schema
	Name  string // of the part, or of the field
	Kind  SimpleKind

	part *Part // nil: all of the field
}

// LeavesOf are the values of a schema's events that have a kind of their own, those of one field beside each other. Stacks and
// registers are none.
func LeavesOf(s *event.Schema) (list []Leaf) {
	for i := range s.Fields {
		f := &s.Fields[i]
		parts := PartsOf(f)
		for n := range parts {
			list = append(list, Leaf{i, parts[n].Name, parts[n].Kind, &parts[n]})
		}
		if parts == nil && !IsStack(f) {
			list = append(list, Leaf{i, f.Name, SimpleOf(f), nil})
		}
	}
	return list
}

// IsStack reports whether a field has a stack, or the registers for one.
func IsStack(f *event.Field) bool {
	switch f.Kind {
	case event.Stack, event.UserFrames, event.KernelFrames, event.Regs:
		return true
	}
	return false
}

// Leaf is a value of an event, valid until the next call: of the leaf's kind, or SimpleNone if there is none. v is the value of
// its field.
func (m *Simples) Leaf(ev *event.Event, v *event.Value, l *Leaf) Simple {
	if l.part != nil {
		return m.Part(v, l.part)
	}
	return m.Value(ev, v, l.Kind)
}

// Part is the value of a part in an event, valid until the next call: of the part's kind, or SimpleNone if the record has not all of it. v is the value of the
// record.
func (m *Simples) Part(v *event.Value, p *Part) Simple {
	if v.Status != event.OK {
		return Simple{}
	}
	at := p.member.BitOffset / 8
	size := p.member.Type.Strip().Size
	if at < 0 || size < 0 || at+size > int64(len(v.Data)) {
		return Simple{}
	}
	slot := v.Data[at : at+size]
	switch {
	case p.elem != nil && p.Kind == SimpleText:
		return dynamicText(v.Data, at, p.rel)
	case p.elem != nil:
		m.buf = jsonDynamic(m.buf[:0], p.elem, v.Data, at, p.rel)
		return Simple{Kind: SimpleJSON, Text: m.buf}
	case p.Kind == SimpleText:
		text, _, _ := bytes.Cut(slot, []byte{0})
		return Simple{Kind: SimpleText, Text: text}
	case p.Kind == SimpleInt:
		return Simple{Kind: SimpleInt, Int: signedWord(slot)}
	case p.Kind != SimpleJSON:
		return Simple{Kind: p.Kind, Uint: word(slot)}
	}
	m.buf = appendJSON(m.buf[:0], p.member.Type, member(item{data: v.Data}, &p.member), false, nil)
	return Simple{Kind: SimpleJSON, Text: m.buf}
}

// dynamicText is the text whose word is at off of a record.
func dynamicText(record []byte, off int64, rel bool) Simple {
	if off+4 > int64(len(record)) {
		return Simple{}
	}
	word := binary.LittleEndian.Uint32(record[off:])
	at, n := int64(word&0xffff), int64(word>>16)
	if rel {
		at += off + 4
	}
	if at+n > int64(len(record)) {
		return Simple{}
	}
	text, _, _ := bytes.Cut(record[at:at+n], []byte{0})
	return Simple{Kind: SimpleText, Text: text}
}
