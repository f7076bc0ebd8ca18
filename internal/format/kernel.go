package format

import (
	"bytes"
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/printk"
)

// Values that only records of the kernel engine have: frames unwound by the kernel, and a static tracepoint's
// own record.

func isFrames(k event.FieldKind) bool { return k == event.KernelFrames || k == event.UserFrames }

// severalFrames reports that the frames of an event need headings.
func severalFrames(s *event.Schema) bool {
	n := 0
	for i := range s.Fields {
		if isFrames(s.Fields[i].Kind) || s.Fields[i].Kind == event.Stack {
			n++
		}
	}
	return n > 1
}

// addresses are frames with only their addresses and names.
func addresses(p *Printer, v *event.Value) []Frame {
	pcs := v.Frames()
	list := make([]Frame, 0, len(pcs))
	for _, pc := range pcs {
		f := Frame{PC: pc}
		if p.Symbol != nil {
			f.Function = p.Symbol(f.PC)
		}
		list = append(list, f)
	}
	return list
}

// kernelTexts prints records of static tracepoints as the kernel does.
type kernelTexts struct {
	names   event.KernelNames // may be nil
	made    map[*event.KernelText]*printk.Printer
	scratch []byte
}

// text returns the text that the kernel would print for a record. It is valid until the next call.
func (k *kernelTexts) text(ev *event.Event, v *event.Value) []byte {
	t := v.Field.Text
	if t == nil {
		return nil
	}
	p := k.made[t]
	if p == nil {
		if k.made == nil {
			k.made = map[*event.KernelText]*printk.Printer{}
		}
		p = printk.NewPrinter(t, k.names)
		k.made[t] = p
	}
	k.scratch = p.Line(k.scratch[:0], v.Data, ev.TimeNS)
	return bytes.TrimRight(k.scratch, "\n")
}

// append appends the text, with an ellipsis if the record was truncated.
func (k *kernelTexts) append(b []byte, ev *event.Event, v *event.Value) []byte {
	b = append(b, k.text(ev, v)...)
	if v.Truncated {
		b = append(b, "..."...)
	}
	return b
}

// jsonSData writes a record as an object: its fields, then its text.
func (j *JSON) jsonSData(b []byte, ev *event.Event, v *event.Value) []byte {
	b = append(b, '{')
	key := "text"
	if t := v.Field.Type; t != nil && !t.Strip().Incomplete {
		var outer *nest
		up, _ := outer.enter(t.Strip())
		fields := t.Strip().Fields()
		for i := range fields {
			f := &fields[i]
			if f.Name == "text" {
				key = "$text"
			}
			elem, rel, ok := ctype.Dynamic(f.Type)
			if s, has := callString(ev, f.Name); has && s.Status == event.OK && s.Str != nil && s.Str.Status == event.OK {
				b = appendString(append(appendString(comma(b), f.Name), ':'), string(s.Str.Data))
				continue
			}
			if text, is := recordText(f, v.Data); is {
				b = appendString(append(appendString(comma(b), f.Name), ':'), text)
				continue
			}
			if !ok {
				b = jsonMember(b, f, member(item{data: v.Data}, f), false, &up)
				continue
			}
			b = append(appendString(comma(b), f.Name), ':')
			b = jsonDynamic(b, elem, v.Data, f.BitOffset/8, rel)
		}
	}
	b = append(appendString(comma(b), key), ':')
	return append(appendString(b, string(j.texts.text(ev, v))), '}')
}

// recordText returns the text in a field of characters. The bytes after its end are left over from other
// records, because the kernel does not clear them.
func recordText(f *ctype.Field, record []byte) (string, bool) {
	t := f.Type.Strip()
	if t.Kind != ctype.Array || t.Elem == nil || f.BitOffset%8 != 0 {
		return "", false
	}
	elem := t.Elem.Strip()
	at := f.BitOffset / 8
	if elem.Name != "char" || at < 0 || t.Size < 0 || at+t.Size > int64(len(record)) {
		return "", false
	}
	text, _, ended := bytes.Cut(record[at:at+t.Size], []byte{0})
	return string(text), ended
}

// jsonDynamic writes the dynamic array whose word is at off of the record.
func jsonDynamic(b []byte, elem *ctype.Type, record []byte, off int64, rel bool) []byte {
	const null = "null"
	if off < 0 || off+4 > int64(len(record)) {
		return append(b, null...)
	}
	word := binary.LittleEndian.Uint32(record[off:])
	at, n := int64(word&0xffff), int64(word>>16)
	if rel {
		at += off + 4
	}
	size := elem.Strip().Size
	if size <= 0 || at+n > int64(len(record)) {
		return append(b, null...)
	}
	return jsonArray(b, elem, item{data: record[at : at+n]}, n/size, size, false, nil)
}
