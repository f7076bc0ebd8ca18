package format

import (
	"encoding/binary"
	"math"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
)

// SimpleKind is the kind of a Simple value.
type SimpleKind uint8

// The kinds.
const (
	SimpleNone SimpleKind = iota // there is no value
	SimpleInt
	SimpleUint
	SimpleFloat
	SimpleBool
	SimpleText    // of the program: any bytes
	SimplePointer // an address, in Uint
	SimpleJSON    // Text is the value as JSON has it: structs, arrays, stacks, ...
)

// Simple is a value for formats that have numbers and texts only.
type Simple struct {
	Kind  SimpleKind
	Int   int64
	Uint  uint64
	Float float64
	Text  []byte
}

// SimpleOf is the kind that a field has in all events in which it has a value.
func SimpleOf(f *event.Field) SimpleKind {
	switch f.Kind {
	case event.Header:
		if f.Name == "$comm" {
			return SimpleText
		}
		return SimpleInt
	case event.Counted:
		if countedElem(f) == nil && stringChars(f.Type).width == 1 {
			return SimpleText
		}
		return SimpleJSON
	case event.Fixed:
	default:
		return SimpleJSON
	}
	if f.Static != event.OK {
		return SimpleNone
	}
	if f.Type == nil || len(f.Gaps) > 0 {
		return SimpleJSON
	}
	if f.StrSize > 0 {
		if stringChars(f.Type).width == 1 {
			return SimpleText
		}
		return SimpleJSON
	}
	s := f.Type.Strip()
	switch {
	case s.Size != int64(f.Size) || s.Size > 8:
	case s.Kind == ctype.Bool:
		return SimpleBool
	case s.Kind == ctype.Enum:
		return SimpleText
	case s.Kind == ctype.Char || s.Kind == ctype.Int:
		if s.Signed {
			return SimpleInt
		}
		return SimpleUint
	case s.Kind == ctype.Float && (s.Size == 8 || s.Size == 4):
		return SimpleFloat
	case s.Kind == ctype.Pointer || s.Kind == ctype.Reference:
		return SimplePointer
	case s.Kind == ctype.Array && ctype.TextOf(s.Elem).Width == 1:
		return SimpleJSON
	}
	return SimpleJSON
}

// Simples makes simple values of fields.
type Simples struct {
	json JSON
	buf  []byte
}

// NewSimples returns a Simples that names frames and addresses as t does.
func NewSimples(t *Trace) *Simples {
	return &Simples{json: *NewJSON(nil, JSONOptions{Kernel: t.Kernel, Unwind: t.Unwind, Symbol: t.Symbol})}
}

// Value is the value of a field of which kind is SimpleOf, valid until the next call. It has that kind, or SimpleNone.
func (m *Simples) Value(ev *event.Event, v *event.Value, kind SimpleKind) Simple {
	f := v.Field
	if v.Status != event.OK || kind == SimpleNone {
		return Simple{}
	}
	if f.Kind == event.Header {
		n, s, isText := headerValue(ev, f.Name)
		switch {
		case isText && kind == SimpleText:
			return Simple{Kind: SimpleText, Text: []byte(s)}
		case isText:
			return Simple{}
		}
		return Simple{Kind: SimpleInt, Int: n}
	}
	switch kind {
	case SimpleJSON:
		m.json.errors = m.json.errors[:0]
		m.buf = m.json.field(append(m.buf[:0], ':'), ev, v, &noKey)
		return Simple{Kind: SimpleJSON, Text: m.buf[1:]}
	case SimpleText:
		return m.text(v)
	}
	if len(v.Data) > 8 || len(v.Data) == 0 {
		return Simple{}
	}
	w, s := word(v.Data), f.Type.Strip()
	switch kind {
	case SimpleBool:
		return Simple{Kind: SimpleBool, Uint: w}
	case SimpleFloat:
		if len(v.Data) == 4 {
			return Simple{Kind: SimpleFloat, Float: float64(math.Float32frombits(uint32(w)))}
		}
		return Simple{Kind: SimpleFloat, Float: math.Float64frombits(binary.LittleEndian.Uint64(v.Data))}
	case SimpleInt:
		shift := 64 - 8*uint(s.Size)
		return Simple{Kind: SimpleInt, Int: int64(w<<shift) >> shift}
	}
	return Simple{Kind: kind, Uint: w}
}

var noKey = jsonKey{}

// text is the text of a string or enum.
func (m *Simples) text(v *event.Value) Simple {
	f := v.Field
	switch {
	case v.Str != nil:
		if isZero(v.Data) || v.Str.Status != event.OK {
			return Simple{}
		}
		return Simple{Kind: SimpleText, Text: v.Str.Data}
	case f.Kind == event.Counted:
		return Simple{Kind: SimpleText, Text: v.Data}
	}
	m.buf = jsonEnum(append(m.buf[:0], ':'), f.Type.Strip(), v.Data)
	b := m.buf[1:]
	if n := len(b); n >= 2 && b[0] == '"' {
		b = b[1 : n-1]
	}
	return Simple{Kind: SimpleText, Text: b}
}

// AppendJSONText appends a text as a JSON string.
func AppendJSONText(b []byte, s string) []byte { return appendString(b, s) }
