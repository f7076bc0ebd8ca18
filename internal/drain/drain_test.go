package session

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ring"
)

// rings are rings of this process and what reads them.
type rings struct {
	flat  ring.Flat
	mem   []byte
	drain *drain
	run   *Run
	tsc   uint64
}

const ringsThread = 0x7f0000001000

// newRings makes rings for records of one site.
func newRings(t testing.TB, recordSize int) *rings {
	t.Helper()
	clock, err := event.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	flat, err := ring.NewFlat(4, 1<<20, 4096, 1, ring.MaxFlat)
	if err != nil {
		t.Fatal(err)
	}
	r := &rings{flat: flat, mem: make([]byte, flat.Size())}
	shared, err := flat.Wrap(r.mem)
	if err != nil {
		t.Fatal(err)
	}
	threads := event.NewThreads()
	threads.Born(77, ringsThread, "thread", 0)
	prog := &Program{}
	prog.tp = &tracked{program: prog}
	r.run = &Run{}
	s := &Session{clock: clock, thr: threads, sites: []*site{{tp: prog.tp}}, shared: &sharedMem{mem: shared}}
	r.run.s = s
	r.drain = newDrain(clock, r.run)
	s.drain = r.drain
	s.user = r.drain.add(shared, false, event.Decoder{Threads: threads, Pid: 1 << 30})
	r.drain.addSchema(s.user, &event.Schema{RecordSize: recordSize}, nil)
	return r
}

// fill writes n records in turn to all rings; they must have room.
func (r *rings) fill(n, size int) {
	l := r.flat.Layout(0)
	for i := range n {
		at := r.mem[l.Rings+uint64(i)&uint64(l.CPUMask)*l.RingStride:]
		reserved := binary.LittleEndian.Uint64(at[ring.RingReserved:])
		rec := at[ring.RingData+reserved&(l.RingSize-1):][:size]
		r.tsc++
		binary.LittleEndian.PutUint64(rec[ring.RecTSC:], r.tsc)
		binary.LittleEndian.PutUint64(rec[ring.RecThread:], ringsThread)
		binary.LittleEndian.PutUint64(rec, uint64(size)|1<<32)
		binary.LittleEndian.PutUint64(at[ring.RingReserved:], reserved+uint64(size))
	}
}

// TestDrainRings: all records of all rings come once, in the order of their stamps,
// with their thread, and are counted.
func TestDrainRings(t *testing.T) {
	const size = 40
	r := newRings(t, size)
	last, n := int64(0), uint64(0)
	take := func(x Record) {
		n++
		if x.Time < last || x.TID != 77 || len(x.Data) != size || x.Program == nil {
			t.Fatalf("%+v behind time %d", x, last)
		}
		last = x.Time
	}
	written := uint64(0)
	for i, mode := range []DrainMode{Ordered, Ordered, Settled, Ordered, Final} {
		r.tsc = max(r.tsc, event.TSC())
		r.fill(5000*(i+1), size)
		written += 5000 * uint64(i+1)
		if err := r.run.Drain(mode, take); err != nil {
			t.Fatal(err)
		}
		if mode != Ordered && n != written {
			t.Errorf("%d records of %d", n, written)
		}
	}
	if r.run.s.user.recorded[0] != written || len(r.drain.names) > 1 {
		t.Errorf("%d records of %d are counted, %d threads", r.run.s.user.recorded[0], written, len(r.drain.names))
	}
}

// TestDrainEnds: events that take long to show keep the session from other things for a
// turn only, and from its end until somebody has waited for too long; what is not shown
// then is counted.
func TestDrainEnds(t *testing.T) {
	const size, written = 40, 20000
	r := newRings(t, size)
	shown := 0
	r.run.give = func(Record) {
		shown++
		time.Sleep(10 * time.Microsecond)
	}
	r.tsc = event.TSC()
	r.fill(written, size)
	for event.TSC() < r.tsc+2*r.drain.merger.Slack { // from here on their order is known
		time.Sleep(time.Millisecond)
	}
	more, err := r.drain.poll()
	if err != nil || !more || shown == 0 || shown == written {
		t.Fatalf("the first turn: %d of %d shown, more: %v, %v", shown, written, more, err)
	}
	limit := shown + 1000
	if err := r.drain.finish(func() bool { return shown >= limit }); err != nil {
		t.Fatal(err)
	}
	if shown < limit || shown > limit+16 || r.drain.unshown != uint64(written-shown) {
		t.Errorf("%d shown and %d not, of %d; the limit was %d", shown, r.drain.unshown, written, limit)
	}
	if n := r.run.s.user.recorded[0]; n != written {
		t.Errorf("%d records are counted, of %d", n, written)
	}
}

// BenchmarkDrain is the way of records from the rings to the owner of a Run.
func BenchmarkDrain(b *testing.B) {
	for _, c := range []struct {
		name string
		size int
		mode DrainMode
	}{{"24", 24, Settled}, {"96", 96, Settled}, {"200", 200, Settled}, {"96 ordered", 96, Ordered}} {
		b.Run(c.name, func(b *testing.B) {
			r := newRings(b, c.size)
			n := 0
			take := func(x Record) { n += len(x.Data) / c.size }
			batch := 4 << 19 / c.size
			b.ReportAllocs()
			b.SetBytes(int64(c.size))
			b.ResetTimer()
			for left := b.N; left > 0; left -= batch {
				b.StopTimer()
				r.tsc = event.TSC()
				r.fill(min(left, batch), c.size)
				b.StartTimer()
				if err := r.run.Drain(c.mode, take); err != nil {
					b.Fatal(err)
				}
			}
			if err := r.run.Drain(Final, take); err != nil {
				b.Fatal(err)
			}
			if n != b.N {
				b.Fatalf("%d records of %d", n, b.N)
			}
		})
	}
}
