package ring

import (
	"encoding/binary"
	"testing"
)

// FuzzHostile: whatever is in a ring, with a mirror or with room behind its data, the reader ends, stays inside, returns
// only whole records, no more than the ring holds at a time, and goes on with what is written afterwards.
func FuzzHostile(f *testing.F) {
	words := func(list ...uint64) (b []byte) {
		for _, w := range list {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		return b
	}
	event := uint64(EventWord(0, EventHead+16, EventHead))<<32 | KindEvent<<WordKind | 77
	context := uint64(EventHead+16)<<32 | KindContext<<WordKind
	f.Add(uint64(64), uint64(0), words(context, 1, 2, event, 3, 4))
	f.Add(uint64(64), uint64(0), words(context, 1, 2, event|WordPending, 3, 4))
	f.Add(uint64(PageSize), uint64(0), words(PacketMagic, 1, 0, 0, 0, 0, 0, 0, context, 1, 2, event, 3, 4, event, 5, 6))
	f.Add(uint64(PageSize), uint64(8), words(uint64(EventWord(1, 0, 16))<<32|KindEvent<<WordKind, PageSize))
	f.Add(uint64(1)<<63, uint64(PageSize-8), words(WordPending|8))
	f.Add(uint64(64), uint64(0), words(504<<32|KindFiller<<WordKind))
	f.Add(uint64(8*PageSize-8), uint64(7*PageSize-8), words(0, event))
	f.Fuzz(func(t *testing.T, reserved, consumed uint64, data []byte) {
		for _, flat := range []bool{false, true} {
			testHostile(t, flat, reserved, consumed, data)
		}
	})
}

func testHostile(t *testing.T, flat bool, reserved, consumed uint64, data []byte) {
	s := newShared(t, geometry(t, 1, PageSize, 2))
	if flat {
		s = newFlat(t, 1, PageSize, 100, 2)
	}
	r, w := NewReader(s), newWriter(s, 0, nil)
	r.SetSize(0, RecHeader+16)
	for range 2 {
		ring := s.g.RingOffset(0)
		*s.word(ring + RingReserved), *s.word(ring + RingConsumed) = reserved, consumed
		room := s.mem[ring+RingData:][:PageSize]
		for i := range len(room) / max(1, len(data)) {
			copy(room[i*len(data):], data)
		}
		var buf []byte
		for range 3 {
			before := len(buf)
			if buf, _ = r.Drain(0, buf); len(buf)-before > RecHeader/EventHead*PageSize {
				t.Fatalf("%d bytes of a ring of %d", len(buf)-before, PageSize)
			}
		}
		if !flat { // what writes to the others cannot die
			buf = r.Recover(0, buf)
		}
		decode(t, buf)
	}
	ring := s.g.RingOffset(0)
	clear(s.mem[ring+RingData:][:PageSize])
	*s.word(ring + RingReserved) = 3
	if _, st := r.Drain(0, nil); st != Pending {
		t.Fatalf("a position that no writer can leave: state %v", st)
	}
	if !w.write(0, 5, 6, 7, 8) {
		t.Fatal("the ring stays full")
	}
	if buf, st := r.Drain(0, nil); len(buf) != RecHeader+16 || st != Empty {
		t.Fatalf("afterwards: %d bytes, state %v", len(buf), st)
	}
}
