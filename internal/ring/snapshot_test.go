package ring

import (
	"encoding/binary"
	"testing"
	"time"
)

// FuzzHostileSnapshot: whatever is in a ring that is overwritten, and in its table, a snapshot ends, stays inside, and has only
// whole records, no more than the ring can hold.
func FuzzHostileSnapshot(f *testing.F) {
	words := func(list ...uint64) (b []byte) {
		for _, w := range list {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		return b
	}
	event := uint64(EventWord(0, EventHead+16, EventHead))<<32 | KindEvent<<WordKind | 77
	context := uint64(EventHead+16)<<32 | KindContext<<WordKind
	const sub = PageSize / 8
	packet := words(PacketMagic, 1, 0, 0, 0, 0, 0, 0, context, 1, 2, event, 3, 4, event, 5, 6)
	f.Add(uint64(sub), words(sub/8), packet)
	f.Add(uint64(PacketHead+88), words(11), packet)
	f.Add(uint64(3), words(1<<63|sub/8), packet)
	f.Add(^uint64(0), words(sub/8, 1<<32, 7), words(PacketMagic, 1, 0, 0, 0, 0, ^uint64(0), 0, event|WordPending))
	f.Add(uint64(PageSize), words(sub/8), words(PacketMagic, 1, 0, 0, 0, 0, 0, 0, uint64(EventWord(1, 0, 16))<<32|KindEvent<<WordKind, 1<<40))
	f.Fuzz(func(t *testing.T, reserved uint64, table, data []byte) {
		for _, final := range []bool{false, true} {
			for _, restartable := range []bool{false, true} {
				g := geometry(t, 1, PageSize, 2)
				g.Overwrite, g.Restartable = true, restartable
				testHostileSnapshot(t, newShared(t, g), final, reserved, table, data)
			}
			f, err := NewFlat(1, PageSize, 100, 2, true, MaxFlat)
			if err != nil {
				t.Fatal(err)
			}
			s, err := f.Wrap(make([]byte, f.Size()))
			if err != nil {
				t.Fatal(err)
			}
			testHostileSnapshot(t, s, final, reserved, table, data)
		}
	})
}

func testHostileSnapshot(t *testing.T, s *Shared, final bool, reserved uint64, table, data []byte) {
	r := NewReader(s)
	r.SetSize(0, RecHeader+16)
	ring := s.g.RingOffset(0)
	*s.word(ring + RingReserved) = reserved
	copy(s.mem[ring+SubTable:ring+RingData], table)
	room := s.mem[ring+RingData:][:PageSize]
	for i := range len(room) / max(1, len(data)) {
		copy(room[i*len(data):], data)
	}
	_ = r.Settled(0) // it ends
	for range 2 {
		snap, got := r.Snapshot(0, final), 0
		for {
			records, ok := snap.Next(nil)
			if !ok {
				break
			}
			decode(t, records)
			got += len(records)
		}
		if got > RecHeader/EventHead*PageSize {
			t.Fatalf("%d bytes of a ring of %d", got, PageSize)
		}
	}
}

// overwriteSize is the size of each of the two rings of TestSnapshotTime.
const overwriteSize = 32 << 20

// TestSnapshotTime: a snapshot of 64 MiB is copied in a small multiple of the time that this machine needs to copy as much
// memory in the same run. The writers' protocol has no step that waits for it.
func TestSnapshotTime(t *testing.T) {
	g := geometry(t, 2, overwriteSize, 1)
	g.Overwrite = true
	s := newShared(t, g)
	w := newWriter(s, 0, nil)
	for cpu := range 2 {
		for w.write(cpu, 1, 1, 2) {
			w.follow(cpu, []uint64{3})
		}
		ring, sub := s.g.RingOffset(cpu), SubSize(s.g.size())
		for i := range s.g.size() / sub {
			*s.word(ring + SubTable + SubEntry*i) = sub / 8
		}
	}
	best, plain := time.Hour, time.Hour
	for try := 0; try < 20 && (try < 3 || best > 4*plain); try++ {
		start := time.Now()
		for cpu := range 2 {
			ring := s.g.RingOffset(cpu) + RingData
			for at := range s.g.size() / SubSize(s.g.size()) {
				copy(make([]byte, SubSize(s.g.size())), s.mem[ring+at*SubSize(s.g.size()):])
			}
		}
		plain = min(plain, time.Since(start))
		r := NewReader(s)
		r.SetSize(0, RecHeader+8)
		bytes := 0
		start = time.Now()
		for cpu := range 2 {
			for _, p := range r.Snapshot(cpu, false).pieces {
				bytes += len(p.data)
			}
		}
		if best = min(best, time.Since(start)); bytes != 2*overwriteSize {
			t.Fatalf("%d bytes of %d", bytes, 2*overwriteSize)
		}
	}
	t.Logf("64 MiB in %v; plain copies %v", best, plain)
	if best > 4*plain {
		t.Errorf("a snapshot of 64 MiB takes %v, plain copies %v", best, plain)
	}
}
