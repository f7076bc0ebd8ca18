package format

import (
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
)

// appendField prints a field's value, or the reason why it has none, on one line. Text prints kernelTexts
// itself.
func (p *Printer) appendField(b []byte, ev *event.Event, v *event.Value) []byte {
	f := v.Field
	if ev.Schema.TextArrays && !p.NullStop {
		own := *p
		own.NullStop = true
		p = &own
	}
	if v.Status != event.OK {
		return appendStatus(b, v.Status, v.Addr, f.Reason)
	}
	letter := Fmt(f.Show.Letter)
	switch f.Kind {
	case event.Header:
		return appendHeader(b, ev, f.Name)
	case event.Counted:
		return p.appendCounted(b, v, letter)
	}
	if f.Type == nil {
		return append(b, "<error type>"...)
	}
	if v.Str == nil {
		return p.top(b, f.Type, valueItem(v, p.Symbol), letter)
	}
	if letter != 's' {
		b = p.Append(b, f.Type, v.Data, letter)
		if letter != 0 || isZero(v.Data) {
			return b
		}
		b = append(b, ' ')
	}
	if v.Str.Status != event.OK {
		return appendStatus(b, v.Str.Status, v.Str.Addr, "")
	}
	return p.str(b, stringChars(f.Type), v.Str.Data, stringEnd(v.Str.Truncated))
}

// appendStatus prints <unreadable address 0x10>. For optimised-out values it prints only "optimised out", not
// the detailed reason.
func appendStatus(b []byte, s event.Status, addr uint64, reason string) []byte {
	b = append(b, '<')
	if s == event.OptimisedOut {
		reason = ""
	}
	b = append(b, event.Explain(s, addr, reason)...)
	return append(b, '>')
}

func contentEnd(truncated bool) ending {
	if truncated {
		return cutOff
	}
	return endOfArray
}

func stringEnd(truncated bool) ending {
	if truncated {
		return cutOff
	}
	return endOfString
}

// stringChars finds the character type of a string: the elements of t, or t itself.
func stringChars(t *ctype.Type) charset {
	if t != nil {
		if s := t.Strip(); s.Elem != nil {
			t = s.Elem
		}
		if c := textual(t, 's'); c.width > 0 {
			return c
		}
	}
	return charset{width: 1}
}

// countedElem returns the element type of an array in a Counted slot (p@n), or nil for a string.
func countedElem(f *event.Field) *ctype.Type {
	if f.Type == nil {
		return nil
	}
	switch s := f.Type.Strip(); s.Kind {
	case ctype.Array:
		return s.Elem
	case ctype.Pointer, ctype.Reference, ctype.Void, ctype.Invalid, ctype.Func:
		return nil
	default:
		return f.Type
	}
}

// appendCounted prints the array of p@n, or a string.
func (p *Printer) appendCounted(b []byte, v *event.Value, letter Fmt) []byte {
	return p.countedItem(b, v, valueItem(v, p.Symbol), letter)
}

func (p *Printer) countedItem(b []byte, v *event.Value, it item, letter Fmt) []byte {
	if len(v.Counts) > 1 {
		return p.grid(b, v, letter)
	}
	elem := countedElem(v.Field)
	if elem == nil {
		return p.str(b, stringChars(v.Field.Type), v.Data, stringEnd(v.Truncated))
	}
	size := elem.Strip().Size
	if size <= 0 {
		return append(b, "<error type>"...)
	}
	n := int64(len(v.Data)) / size
	if text := textual(elem, letter); text.width > 0 {
		return p.str(b, text, v.Data[:n*size], contentEnd(v.Truncated))
	}
	if n == 0 {
		b = append(b, '{', '}')
	} else {
		b = p.elements(b, elem, it, n, size, letter)
	}
	if v.Truncated {
		b = append(b[:len(b)-1], "...}"...)
	}
	return b
}

// valueItem returns a value with its address, if the event has one.
func valueItem(v *event.Value, symbol func(addr uint64) string) item {
	it := item{data: v.Data, addr: v.Addr, placed: v.Addr != 0, gaps: gaps{list: v.Field.Gaps, why: v.Field.Reason}}
	if len(v.Field.Bases) > 0 {
		it.bases = &bases{v.Field.Bases, v, symbol}
	}
	if len(v.Field.Texts) > 0 {
		it.texts = &texts{list: v.Field.Texts, value: v}
	}
	return it
}

// headerValue returns a value from the record's header: a number, or a string for $comm. At places of the
// kernel engine these words are also valid without the dollar.
func headerValue(ev *event.Event, name string) (n int64, s string, isString bool) {
	switch strings.TrimPrefix(name, "$") {
	case "cpu":
		return int64(ev.CPU), "", false
	case "pid":
		return int64(ev.Pid), "", false
	case "tid":
		if !ev.KnowsThread() {
			return 0, "<unknown thread>", true
		}
		return int64(ev.Tid), "", false
	case "time", "nsecs":
		if ev.Untimed {
			return 0, "<no time>", true
		}
		return ev.TimeNS, "", false
	case "comm":
		return 0, ev.Comm, true
	}
	return 0, "", true
}

func appendHeader(b []byte, ev *event.Event, name string) []byte {
	n, s, isString := headerValue(ev, name)
	if isString {
		return (&Printer{}).str(b, charset{width: 1}, []byte(s), endOfString)
	}
	return appendInt(b, n)
}
