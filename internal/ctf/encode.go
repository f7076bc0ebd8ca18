package ctf

import (
	"bytes"
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/event"
)

// An Interner gives the stack of a field in a record its number. The record can be a short one, which has the number of another
// table (Schema.StackNumber) in place of the frames.
type Interner func(s *event.Schema, f *event.Field, rec []byte) uint32

// encode appends the payload of a record.
func (p *plan) encode(dst, rec []byte, stacks Interner) []byte {
	for i := range p.steps {
		s := &p.steps[i]
		switch s.kind {
		case stepMoves:
			for _, m := range s.moves {
				dst = append(dst, rec[m.from:m.from+m.n]...)
			}
		case stepStatic:
			dst = append(dst, byte(s.elem))
		case stepStack:
			n := uint32(0)
			if stacks != nil {
				n = stacks(p.schema, s.field, rec)
			}
			dst = binary.LittleEndian.AppendUint32(dst, n)
		default:
			dst = s.encode(dst, rec, p.schema, stacks)
		}
	}
	return dst
}

// encode appends a step with a status.
func (s *step) encode(dst, rec []byte, schema *event.Schema, stacks Interner) []byte {
	slot, tag := rec[s.at:s.at+s.size], event.OK
	if s.status >= 0 {
		tag = event.Status(rec[s.status])
	}
	var list []byte
	if (s.kind == stepText || s.kind == stepList) && (tag == event.OK || tag == event.Truncated) {
		var cut bool
		if list, cut = counted(slot); cut {
			tag = event.Truncated
		}
	}
	if int(tag) > int(event.OtherFrame) {
		tag = event.Unsupported // the program wrote to the ring
	}
	if i := bytes.IndexByte(list, 0); i >= 0 && s.kind == stepText {
		if !s.flat {
			return appendTextWithNUL(dst, list, tag)
		}
		list, tag = list[:i], event.Truncated
	}
	dst = append(dst, byte(tag))
	if s.flat && tag != event.OK && tag != event.Truncated {
		dst = append(dst, make([]byte, s.empty())...)
	}
	switch tag {
	case event.Unreadable:
		return append(dst, rec[s.at:s.at+8]...)
	case event.OK, event.Truncated:
	default:
		return dst
	}
	switch s.kind {
	case stepTagged:
		for _, m := range s.moves {
			dst = append(dst, rec[m.from:m.from+m.n]...)
		}
	case stepText:
		dst = append(append(dst, list...), 0)
	case stepList:
		n := len(list) / s.elem
		dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
		dst = append(dst, list[:n*s.elem]...)
	case stepCopied:
		dst = append(dst, slot[:registersSize]...)
		n := uint32(0)
		if stacks != nil {
			n = stacks(schema, s.field, rec)
		}
		dst = binary.LittleEndian.AppendUint32(dst, n)
	}
	return dst
}

// appendTextWithNUL appends a text with its length.
func appendTextWithNUL(dst, text []byte, tag event.Status) []byte {
	with := textWithNUL
	if tag == event.Truncated {
		with = cutTextWithNUL
	}
	dst = binary.LittleEndian.AppendUint32(append(dst, byte(with)), uint32(len(text)))
	return append(dst, text...)
}

// empty is the size of a value that is there without being one.
func (s *step) empty() (n int) {
	if s.kind == stepText {
		return 1
	}
	for _, m := range s.moves {
		n += m.n
	}
	return n
}

// counted returns the bytes in a Counted slot, which the program can have written.
func counted(slot []byte) (list []byte, cut bool) {
	if len(slot) < countedHeader {
		return nil, false
	}
	n, flags := binary.LittleEndian.Uint32(slot), binary.LittleEndian.Uint32(slot[4:])
	slot = slot[countedHeader:]
	return slot[:min(uint64(n), uint64(len(slot)))], flags&3 != 0
}
