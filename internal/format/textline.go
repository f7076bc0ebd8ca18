package format

import (
	"bytes"
	"encoding/binary"
	"strconv"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
)

// A text line has parts that are the same in many events. textLine has those of a schema, textThread those of a thread.
type textLine struct {
	whole  bool   // lines of this schema are made of these parts
	place  []byte // as it is
	end    int    // bytes that a record must have
	plain  bool   // names, place and values need no escapes
	fields []textField
}

// textField is a field: an integer, which is printed here, or any other value of one line.
type textField struct {
	name  []byte // with a space before and = behind it
	index int
	bits  uint // of an integer; 0: another value
	at    int
	sign  bool
}

type textThread struct {
	pid, tid int
	comm     string
	text     []byte
	plain    bool
}

// lines finds the parts of lines.
type textLines struct {
	last    *event.Schema
	line    *textLine
	known   map[*event.Schema]*textLine
	threads [32]textThread // by the low bits of their numbers
}

func (x *textLines) of(s *event.Schema) *textLine {
	if s == x.last {
		return x.line
	}
	l := x.known[s]
	if l == nil {
		if x.known == nil {
			x.known = map[*event.Schema]*textLine{}
		}
		l = newTextLine(s)
		x.known[s] = l
	}
	x.last, x.line = s, l
	return l
}

func newTextLine(s *event.Schema) *textLine {
	l := &textLine{place: []byte(s.Place), whole: true, plain: isPlainLine([]byte(s.Place))}
	for i := range s.Fields {
		f := &s.Fields[i]
		if f.Kind != event.Fixed && f.Kind != event.Counted && f.Kind != event.Header || isCallString(f) {
			return &textLine{}
		}
		x := textField{name: []byte(" " + f.Name + "="), index: i}
		if t := integerType(f); t != nil {
			x.bits, x.at, x.sign = 8*uint(t.Size), f.Offset, t.Signed
			l.end = max(l.end, f.Offset+int(t.Size))
		} else {
			l.plain = false
		}
		l.plain = l.plain && isPlainLine(x.name)
		l.fields = append(l.fields, x)
	}
	return l
}

// integerType is the type of a field that always has an integer, which is printed as decimal digits; nil otherwise.
func integerType(f *event.Field) *ctype.Type {
	if f.Kind != event.Fixed || f.Static != event.OK || f.StatusOffset >= 0 || f.Type == nil || f.StrSize > 0 || f.Show != (event.Show{}) ||
		len(f.Gaps) > 0 || len(f.Bases) > 0 || f.Offset < 0 {
		return nil
	}
	s := f.Type.Strip()
	if s.Kind != ctype.Int || s.Of != nil || s.Size < 1 || s.Size > 8 || s.Size > int64(f.Size) || textual(f.Type, 0).width > 0 {
		return nil
	}
	return s
}

// isPlainLine reports whether endLine would leave a part of a line as it is.
func isPlainLine(b []byte) bool {
	return plainPrefix(b) == len(b) && bytes.IndexByte(b, '\n') < 0 && bytes.IndexByte(b, '\t') < 0
}

// thread is the text of an event's thread.
func (x *textLines) thread(ev *event.Event) *textThread {
	t := &x.threads[uint(ev.Tid)%uint(len(x.threads))]
	if t.text == nil || t.tid != ev.Tid || t.pid != ev.Pid || t.comm != ev.Comm || t.tid == 0 { // what 0 means depends on the schema
		*t = textThread{pid: ev.Pid, tid: ev.Tid, comm: ev.Comm, text: appendThread(t.text[:0], ev)}
		t.plain = isPlainLine(t.text)
	}
	return t
}

// line appends the line of an event of which the parts are known.
func (t *Text) line(b []byte, ev *event.Event, l *textLine) []byte {
	start := len(b)
	b = t.begin(b, ev)
	th := t.lines.thread(ev)
	from := len(b)
	b = pad(append(b, th.text...), from, &t.commWidth)
	from = len(b)
	b = pad(append(b, l.place...), from, &t.placeWidth)
	for i := range l.fields {
		f := &l.fields[i]
		if f.bits == 0 {
			v := ev.Value(f.index)
			hidden, all := otherFrame(ev, &v, f.index)
			switch {
			case !hidden:
				b = t.o.Printer.appendField(append(b, f.name...), ev, &v)
			case all:
				b = appendOtherFrame(b, v.Field)
			}
			continue
		}
		b = append(b, f.name...)
		raw := ev.Raw[f.at:]
		var word uint64
		if len(raw) >= 8 {
			word = binary.LittleEndian.Uint64(raw)
		} else {
			for n := range int(f.bits / 8) {
				word |= uint64(raw[n]) << (8 * n)
			}
		}
		if f.sign {
			b = strconv.AppendInt(b, int64(word<<(64-f.bits))>>(64-f.bits), 10)
		} else {
			b = strconv.AppendUint(b, word<<(64-f.bits)>>(64-f.bits), 10)
		}
	}
	if !l.plain || !th.plain || len(l.fields) == 0 {
		return endLine(b, start)
	}
	return append(b, '\n')
}
