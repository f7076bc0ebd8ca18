package ctf

import (
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/event"
)

// input reads a payload of a file, which can have anything.
type input struct {
	b   []byte
	bad bool
}

func (in *input) take(n int) []byte {
	if n < 0 || n > len(in.b) {
		in.bad, in.b = true, nil
		return nil
	}
	x := in.b[:n]
	in.b = in.b[n:]
	return x
}

func (in *input) u8() byte {
	if x := in.take(1); x != nil {
		return x[0]
	}
	return 0
}

func (in *input) u32() uint32 {
	if x := in.take(4); x != nil {
		return binary.LittleEndian.Uint32(x)
	}
	return 0
}

func (in *input) u64() uint64 {
	if x := in.take(8); x != nil {
		return binary.LittleEndian.Uint64(x)
	}
	return 0
}

func (in *input) text() []byte {
	for i, c := range in.b {
		if c == 0 {
			return in.take(i + 1)[:i]
		}
	}
	in.take(len(in.b) + 1)
	return nil
}

// decode makes the record of a payload: rec has its size, zeros behind the head, and room for the numbers of stacks behind it.
// It returns what is behind the payload.
func (p *plan) decode(rec, payload []byte) (rest []byte, ok bool) {
	if p.plain {
		if len(payload) < p.size {
			return nil, false
		}
		copy(rec[p.from:p.from+p.size], payload)
		return payload[p.size:], true
	}
	in := input{b: payload}
	numbers := rec[p.schema.RecordSize:]
	for i := range p.steps {
		s := &p.steps[i]
		switch s.kind {
		case stepMoves:
			for _, m := range s.moves {
				copy(rec[m.from:m.from+m.n], in.take(m.n))
			}
		case stepStatic:
			in.u8()
		case stepStack:
			binary.LittleEndian.PutUint32(numbers[4*s.stack:], in.u32())
		default:
			s.decode(&in, rec, numbers)
		}
		if in.bad {
			return nil, false
		}
	}
	return in.b, true
}

func (s *step) decode(in *input, rec, numbers []byte) {
	slot, tag := rec[s.at:s.at+s.size], event.Status(in.u8())
	withNUL := s.kind == stepText && (tag == textWithNUL || tag == cutTextWithNUL)
	if withNUL {
		tag = map[event.Status]event.Status{textWithNUL: event.OK, cutTextWithNUL: event.Truncated}[tag]
	}
	if s.status >= 0 {
		rec[s.status] = byte(tag)
	}
	if s.flat && tag != event.OK && tag != event.Truncated {
		in.take(s.empty())
	}
	flags := uint32(0)
	switch tag {
	case event.Unreadable:
		copy(rec[s.at:s.at+8], in.take(8))
		return
	case event.Truncated:
		flags = 1
	case event.OK:
	default:
		return
	}
	switch s.kind {
	case stepTagged:
		for _, m := range s.moves {
			copy(rec[m.from:m.from+m.n], in.take(m.n))
		}
	case stepText:
		text := []byte(nil)
		if withNUL {
			text = in.take(int(min(in.u32(), 1<<30)))
		} else {
			text = in.text()
		}
		fillCounted(slot, text, flags)
	case stepList:
		fillCounted(slot, in.take(int(min(uint64(in.u32())*uint64(s.elem), 1<<30))), flags)
	case stepCopied:
		copy(slot, in.take(registersSize))
		binary.LittleEndian.PutUint32(numbers[4*s.stack:], in.u32())
	}
}

// fillCounted makes a Counted slot.
func fillCounted(slot, list []byte, flags uint32) {
	if len(slot) < countedHeader {
		return
	}
	n := copy(slot[countedHeader:], list)
	binary.LittleEndian.PutUint32(slot, uint32(n))
	binary.LittleEndian.PutUint32(slot[4:], flags)
}
