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
	f, err := NewFlat(cpus, size, maxRecord, sites, MaxFlat)
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

// reserve is steps 1 and 2: it returns the address of the room, 0 when the ring is full.
func (w *writer) reserve(cpu int, size uint64) uint64 {
	ring := w.l.Rings + uint64(cpu)&uint64(w.l.CPUMask)*w.l.RingStride
	for {
		old := atomic.LoadUint64(at(ring + RingReserved))
		w.pause()
		if old+size-atomic.LoadUint64(at(ring+RingConsumed)) > w.l.RingSize {
			if atomic.LoadUint64(at(ring+RingReserved)) != old {
				continue
			}
			w.count(cpu, CounterLost)
			return 0
		}
		w.pause()
		if atomic.CompareAndSwapUint64(at(ring+RingReserved), old, old+size) {
			return ring + RingData + old&(w.l.RingSize-1)
		}
	}
}

// write makes a record; false when the ring was full.
func (w *writer) write(cpu int, tsc, thread uint64, fields ...uint64) bool {
	size := RecHeader + 8*uint64(len(fields))
	room := w.reserve(cpu, size)
	if room == 0 {
		return false
	}
	w.pause()
	*at(room + RecTSC) = tsc
	*at(room + RecThread) = thread
	for i, f := range fields {
		*at(room + RecHeader + 8*uint64(i)) = f
		w.pause()
	}
	atomic.StoreUint64(at(room), size|uint64(w.l.SiteID+1)<<32)
	return true
}
