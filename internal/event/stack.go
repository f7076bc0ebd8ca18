package event

import (
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/ring"
)

// countedHeader is the length and the flags of a Counted slot.
const countedHeader = 8

// Reasons of the end of a stack, as package unwind has them.
const (
	stackDeep    = 1
	stackDamaged = 5
)

// withStack returns a short record as the long one that has the frames of its stack. It is valid until the next call.
func (d *Decoder) withStack(s *Schema, short []byte) []byte {
	if cap(d.long) < s.RecordSize {
		d.long = make([]byte, s.RecordSize)
	}
	rec := d.long[:s.RecordSize]
	copy(rec, short)
	var pcs []byte
	end := uint8(stackDamaged)
	if d.Stacks != nil && s.StackNumber+4 <= len(short) {
		if list, why := d.Stacks.Frames(binary.LittleEndian.Uint32(short[s.StackNumber:])); list != nil {
			pcs, end = list, why
		}
	}
	if pcs == nil { // the program has overwritten the number or the table: only the innermost frame is known
		pcs = binary.LittleEndian.AppendUint64(nil, s.PC)
	}
	for i := range s.Fields {
		f := &s.Fields[i]
		if f.Kind != UserFrames || f.Offset < s.ShortSize || f.Offset+f.Size > len(rec) {
			continue
		}
		slot := rec[f.Offset : f.Offset+f.Size]
		n := copy(slot[countedHeader:], pcs) &^ 7
		flags := uint32(end) << endBit
		if end == stackDeep || n < len(pcs) {
			flags |= flagTruncated
		}
		binary.LittleEndian.PutUint32(slot, uint32(n))
		binary.LittleEndian.PutUint32(slot[4:], flags)
	}
	binary.LittleEndian.PutUint32(rec[ring.RecSize:], uint32(len(rec)))
	return rec
}
