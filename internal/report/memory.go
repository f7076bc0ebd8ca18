package report

import (
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
)

// memory is what expressions can read: the record, the words of the event, and the parts of the program's memory that the record has:
// strings, and values whose addresses it has.
type memory struct {
	scope *scope
	ev    *event.Event
	words [wordsSize]byte
	ready bool // words are those of ev
}

// set chooses the event.
func (m *memory) set(ev *event.Event) { m.ev, m.ready = ev, false }

func (m *memory) Read(addr uint64, buf []byte) int {
	switch {
	case addr >= wordsBase && addr < wordsBase+wordsSize:
		return m.word(int(addr-wordsBase), buf)
	case addr >= recordBase && addr < wordsBase:
		return m.record(addr, buf)
	}
	return m.program(addr, buf)
}

func (m *memory) word(at int, buf []byte) int {
	if !m.ready {
		m.ready = true
		binary.LittleEndian.PutUint32(m.words[wordTid:], uint32(m.ev.Tid))
		binary.LittleEndian.PutUint32(m.words[wordPid:], uint32(m.ev.Pid))
		binary.LittleEndian.PutUint32(m.words[wordCPU:], uint32(m.ev.CPU))
		binary.LittleEndian.PutUint64(m.words[wordTime:], uint64(m.ev.TimeNS))
		clear(m.words[wordComm:])
		copy(m.words[wordComm:], m.ev.Comm)
	}
	if at < wordPid && !m.ev.KnowsThread() {
		return 0
	}
	return copy(buf, m.words[at:])
}

// record reads a field's slot. What the field has no value for cannot be read.
func (m *memory) record(addr uint64, buf []byte) int {
	s, off := m.scope.slotAt(addr)
	if s == nil || s.hi > len(m.ev.Raw) {
		return 0
	}
	end := s.hi
	if s.status >= 0 {
		if s.status >= len(m.ev.Raw) {
			return 0
		}
		if st := event.Status(m.ev.Raw[s.status]); st != event.OK && st != event.Truncated {
			return 0
		}
	}
	if s.counted {
		return counted(m.ev.Raw[s.lo:s.hi], off-s.lo-countedHead, s.nul, buf)
	}
	for _, g := range s.gaps {
		if from, to := s.lo+int(g.From/8), s.lo+int((g.To+7)/8); off < to && from < off+len(buf) {
			end = min(end, max(from, off))
		}
	}
	return copy(buf, m.ev.Raw[off:end])
}

// counted reads a slot of a text or list from byte at on. Behind a text that was not cut is a NUL.
func counted(b []byte, at, nul int, buf []byte) int {
	if len(b) < countedHead || at < 0 {
		return 0
	}
	n, flags := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	list := b[countedHead:]
	list = list[:min(uint64(n), uint64(len(list)))]
	if flags&cutFlags != 0 {
		nul = 0
	}
	return ended(list, nul, at, buf)
}

// cutFlags of a slot mean that the list goes on in the program.
const cutFlags = 3

// ended reads from list, behind which are nul bytes of zero.
func ended(list []byte, nul, at int, buf []byte) int {
	if at > len(list) {
		return 0
	}
	got := copy(buf, list[at:])
	for ; got < len(buf) && at+got < len(list)+nul; got++ {
		buf[got] = 0
	}
	return got
}

// program reads what the record has of the program's memory.
func (m *memory) program(addr uint64, buf []byte) int {
	for i := range m.scope.schema.Fields {
		f := &m.scope.schema.Fields[i]
		if f.Kind != event.Fixed || f.StrSize == 0 && f.AddrOffset == 0 && f.Texts == nil || f.Static != event.OK || f.Type == nil {
			continue
		}
		v := m.ev.Value(i)
		if v.Status != event.OK {
			continue
		}
		if s := v.Str; s != nil && s.Status == event.OK && len(v.Data) >= 8 && f.Type.Strip().Kind == ctype.Pointer {
			if p := binary.LittleEndian.Uint64(v.Data); addr >= p && addr-p <= uint64(len(s.Data)) {
				nul := max(int(ctype.StringWidth(f.Type.Strip().Elem)), 1)
				if s.Truncated {
					nul = 0
				}
				return ended(s.Data, nul, int(addr-p), buf)
			}
		}
		if v.Addr != 0 && addr >= v.Addr && addr-v.Addr < uint64(f.Size) && f.Gaps == nil {
			return copy(buf, v.Data[addr-v.Addr:])
		}
		for k := range f.Texts {
			if n := part(&v, f.Texts, k, addr, buf); n > 0 {
				return n
			}
		}
	}
	return 0
}

// part reads what a part of a value leads to: the text at a pointer, the text of a string object, the elements of a container.
func part(v *event.Value, list []event.MemberText, k int, addr uint64, buf []byte) int {
	t := &list[k]
	if t.Grid != nil {
		return 0
	}
	in := v.Data
	if t.Of > 0 && t.Of <= len(list) {
		of := v.Elements(&list[t.Of-1])
		if of.Status != event.OK {
			return 0
		}
		in = of.Data
	}
	if t.At < 0 || t.At > int64(len(in)) {
		return 0
	}
	text := v.Text(t)
	if text.Status != event.OK {
		return 0
	}
	begin, ok := beginOf(in[t.At:min(t.At+max(t.In.Size, 8), int64(len(in)))], t.Elements, addr, uint64(len(text.Data)))
	if !ok {
		return 0
	}
	nul := 0
	if !t.Elements && !text.Truncated {
		nul = max(int(ctype.StringWidth(t.Chars)), 1)
	}
	return ended(text.Data, nul, int(addr-begin), buf)
}

// lowestPointer is more than the lengths that objects have beside their pointers, as far as their content is recorded.
const lowestPointer = 1 << 16

// beginOf returns where the content of an object is, of which size bytes were recorded, if the address lies in them. A container has pointers to its begin and
// its end, in any order; a string has one, and may have characters beside it.
func beginOf(object []byte, container bool, addr, size uint64) (begin uint64, ok bool) {
	for ; len(object) >= 8; object = object[8:] {
		w := binary.LittleEndian.Uint64(object)
		if w >= lowestPointer && (begin == 0 || w < begin) && (container || addr-w <= size) {
			begin = w
		}
	}
	return begin, begin != 0 && addr >= begin && addr-begin <= size
}
