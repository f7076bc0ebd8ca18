package ring

import (
	"sync/atomic"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// newShared makes the shared memory of a test.
func newShared(t testing.TB, g Geometry) *Shared {
	t.Helper()
	fd, err := unix.MemfdCreate("ring-test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := Prepare(fd, g); err != nil {
		t.Fatal(err)
	}
	s, err := Map(fd, g)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// writer follows the writer protocol of layout.go as generated code does, with
// the addresses of a Layout. pause is called between the steps.
type writer struct {
	l     Layout
	pause func()
}

func newWriter(s *Shared, site uint32, pause func()) *writer {
	if pause == nil {
		pause = func() {}
	}
	base := uint64(uintptr(unsafe.Pointer(&s.mem[0])))
	w := &writer{pause: pause}
	switch g := s.g.(type) {
	case Geometry:
		w.l = g.Layout(base, site)
	case Flat:
		w.l = g.Layout(site)
		w.l.Counters += base
		w.l.Rings += base
	}
	return w
}

// newFlat makes memory without mirrors.
func newFlat(t testing.TB, cpus, size, maxRecord, sites int) *Shared {
	t.Helper()
	f, err := NewFlat(cpus, size, maxRecord, sites, false, MaxFlat)
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.Wrap(make([]byte, f.Size()))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func at(addr uint64) *uint64 { return (*uint64)(*(*unsafe.Pointer)(unsafe.Pointer(&addr))) }

func (w *writer) count(cpu, counter int) {
	atomic.AddUint64(at(w.l.Counters+uint64(cpu)*w.l.CounterStride+uint64(counter)*w.l.CounterStep), 1)
}

// room is what a writer has reserved.
type room struct {
	ring          uint64
	old, pos, end uint64 // pos: of the context
	size, head    uint64 // of the event
	word          uint32
}

func (r *room) at(w *writer, pos uint64) uint64 { return r.ring + RingData + pos&(w.l.RingSize-1) }

// reserve is steps 1 to 3, for a record of this size; nil when the ring is full.
func (w *writer) reserve(cpu int, record uint64) *room {
	ring, sub := w.l.Rings+uint64(cpu)&uint64(w.l.CPUMask)*w.l.RingStride, SubSize(w.l.RingSize)
	r := &room{ring: ring, head: HeadOf(record)}
	r.size = record - RecHeader + r.head
	r.word = EventWord(w.l.SiteID, r.size, r.head)
	need := ContextSize + r.size
	for {
		packed := atomic.LoadUint64(at(ring + RingReserved))
		old := Position(packed)
		r.old, r.pos, r.end = old, old, old+need
		w.pause()
		if PacketHead+need > sub || (old-1)&(sub-1) > sub-1-need {
			start := (old + sub - 1) &^ (sub - 1)
			r.pos = start + PacketHead
			r.end = r.pos + need
			if start+(PacketHead+need+sub-1)&^(sub-1)-atomic.LoadUint64(at(ring+RingConsumed)) > w.l.RingSize {
				if atomic.LoadUint64(at(ring+RingReserved)) != packed {
					continue
				}
				w.count(cpu, CounterLost)
				atomic.AddUint64(at(ring+RingDropped), 1)
				return nil
			}
		}
		w.pause()
		if atomic.CompareAndSwapUint64(at(ring+RingReserved), packed, r.end) {
			return r
		}
	}
}

// heads is steps 4 and 5 but for the fields.
func (w *writer) heads(r *room, time, thread uint64) {
	if r.pos != r.old {
		start := r.pos - PacketHead
		p := r.at(w, start)
		*at(p + PacketBefore), *at(p + PacketPosition), *at(p + PacketBegin) = r.old, start, time
		*at(p + PacketLost) = *at(r.ring + RingDropped)
		w.pause()
		if start != r.old {
			atomic.StoreUint64(at(r.at(w, r.old)), (start-r.old)<<32|KindFiller<<WordKind)
			w.pause()
		}
		atomic.StoreUint64(at(p), PacketMagic)
		w.pause()
	}
	c := r.at(w, r.pos)
	*at(c + ContextTime) = time
	w.pause()
	atomic.StoreUint64(at(c), r.size<<32|KindContext<<WordKind|time&WordClock)
	w.pause()
	if r.head > EventHead {
		*at(c + ContextSize + EventHead) = r.size
	}
	atomic.StoreUint64(at(c+ContextSize), WordPending|uint64(r.word)<<32|KindEvent<<WordKind|time&WordClock)
	w.pause()
	*at(c + ContextThread) = thread
}

// field is the address of a field.
func (r *room) field(w *writer, n int) uint64 {
	return r.at(w, r.pos) + ContextSize + r.head + 8*uint64(n)
}

// commit is step 6.
func (w *writer) commit(r *room) {
	word := at(r.at(w, r.pos) + ContextSize)
	atomic.StoreUint64(word, *word&^WordPending)
}

// write makes a record; false when the ring was full.
func (w *writer) write(cpu int, tsc, thread uint64, fields ...uint64) bool {
	r := w.reserve(cpu, RecHeader+8*uint64(len(fields)))
	if r == nil {
		return false
	}
	w.pause()
	w.heads(r, tsc, thread)
	for i, f := range fields {
		*at(r.field(w, i)) = f
		w.pause()
	}
	w.commit(r)
	return true
}

// follow fills the sub-buffer behind the newest event with events that have no context of their own, as sequence A does.
func (w *writer) follow(cpu int, fields []uint64) {
	ring, size := w.l.Rings+uint64(cpu)*w.l.RingStride, EventHead+8*uint64(len(fields))
	pos := *at(ring + RingReserved)
	for ; -pos&(SubSize(w.l.RingSize)-1) >= size; pos += size {
		event := ring + RingData + pos&(w.l.RingSize-1)
		*at(event) = uint64(EventWord(w.l.SiteID, size, EventHead))<<32 | KindEvent<<WordKind | 1
		for i, f := range fields {
			*at(event + EventHead + 8*uint64(i)) = f
		}
	}
	*at(ring + RingReserved) = pos
}
