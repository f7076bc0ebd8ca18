package drain

import (
	"encoding/binary"
	"runtime"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ring"
)

// rings are rings of this process with their reader.
type rings struct {
	flat  ring.Flat
	mem   []byte
	drain *Drain
	src   *Source
	give  func(*event.Event)
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
	flat, err := ring.NewFlat(4, 1<<20, 4096, 1, false, ring.MaxFlat)
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
	r.drain = New(clock, r)
	r.src = r.drain.Add(shared, false, event.Decoder{Threads: threads, Pid: 1 << 30})
	r.drain.AddSchema(r.src, &event.Schema{RecordSize: recordSize}, nil)
	return r
}

func (r *rings) Event(ev *event.Event) error { r.give(ev); return nil }
func (r *rings) Flush() error                { return nil }

// fill writes n records to the rings in turn; they must have room.
func (r *rings) fill(n, size int) {
	l := r.flat.Layout(0)
	for i := range n {
		at := r.mem[l.Rings+uint64(i)&uint64(l.CPUMask)*l.RingStride:]
		reserved := binary.LittleEndian.Uint64(at[ring.RingReserved:])
		r.commit(at, reserved, size)
		binary.LittleEndian.PutUint64(at[ring.RingReserved:], reserved+inRing(size))
	}
}

// inRing is what a record takes in a ring, with a context of its own.
func inRing(size int) uint64 {
	return uint64(size) - ring.RecHeader + ring.HeadOf(uint64(size)) + ring.ContextSize
}

// commit writes a record to a ring.
func (r *rings) commit(at []byte, pos uint64, size int) {
	r.tsc++
	b := at[ring.RingData+pos&uint64(r.flat.RingSize-1):]
	n, head := inRing(size)-ring.ContextSize, ring.HeadOf(uint64(size))
	binary.LittleEndian.PutUint64(b, n<<32|ring.KindContext<<ring.WordKind)
	binary.LittleEndian.PutUint64(b[ring.ContextTime:], r.tsc)
	binary.LittleEndian.PutUint64(b[ring.ContextThread:], ringsThread)
	if head > ring.EventHead {
		binary.LittleEndian.PutUint64(b[ring.ContextSize+ring.EventHead:], n)
	}
	binary.LittleEndian.PutUint64(b[ring.ContextSize:], uint64(ring.EventWord(0, n, head))<<32|ring.KindEvent<<ring.WordKind|r.tsc&ring.WordClock)
}

// flood fills a ring that has been read, except for the room of one record, and commits the record that was
// in progress. busy: it reserves one more. It returns how many bytes of records it wrote.
func (r *rings) flood(cpu, size int, busy bool) (n int) {
	l := r.flat.Layout(0)
	at := r.mem[l.Rings+uint64(cpu)*l.RingStride:]
	room := inRing(size)
	reserved := binary.LittleEndian.Uint64(at[ring.RingReserved:])
	consumed := binary.LittleEndian.Uint64(at[ring.RingConsumed:])
	for pos := consumed; pos < reserved; pos += room {
		r.commit(at, pos, size)
		n += size
	}
	for ; reserved+2*room <= consumed+l.RingSize; reserved += room {
		r.commit(at, reserved, size)
		n += size
	}
	if busy {
		reserved += room
	}
	binary.LittleEndian.PutUint64(at[ring.RingReserved:], reserved)
	return n
}

// TestDrainRings: all records of all rings are shown once, in the order of their stamps, with their
// threads, and are counted.
func TestDrainRings(t *testing.T) {
	const size = 40
	r := newRings(t, size)
	last, n := int64(0), uint64(0)
	r.give = func(ev *event.Event) {
		n++
		if ev.TimeNS < last || ev.Tid != 77 || len(ev.Raw) != size || ev.Schema == nil {
			t.Fatalf("%+v behind time %d", ev, last)
		}
		last = ev.TimeNS
	}
	written := uint64(0)
	ordered := func() error {
		for {
			if more, err := r.drain.Poll(); err != nil || !more {
				return err
			}
		}
	}
	finish := func() error { return r.drain.Finish(nil) }
	for i, read := range []func() error{ordered, ordered, r.drain.Settle, ordered, finish} {
		r.tsc = max(r.tsc, event.TSC())
		r.fill(5000*(i+1), size)
		written += 5000 * uint64(i+1)
		if err := read(); err != nil {
			t.Fatal(err)
		}
		if (i == 2 || i == 4) && n != written {
			t.Errorf("%d records of %d", n, written)
		}
	}
	if r.src.recorded[0] != written || len(r.drain.names) > 1 {
		t.Errorf("%d records of %d are counted, %d threads", r.src.recorded[0], written, len(r.drain.names))
	}
}

// TestFinishOrder: at the end, records that wait for their order are shown behind older ones that are still in
// other rings.
func TestFinishOrder(t *testing.T) {
	const size = 40
	r := newRings(t, size)
	r.drain.merger.Slack = 1 << 62 // nothing is shown before the end, however slow the machine is
	last, n := int64(0), 0
	r.give = func(ev *event.Event) {
		if n++; ev.TimeNS < last {
			t.Errorf("record %d has the time %d, and comes behind one with %d", n, ev.TimeNS, last)
		}
		last = ev.TimeNS
	}
	from := event.TSC()
	r.tsc = from + 1<<20
	r.fill(4, size)
	if _, err := r.drain.Poll(); err != nil || n != 0 {
		t.Fatalf("%d records were shown: %v", n, err)
	}
	r.tsc = from
	r.fill(4, size)
	if err := r.drain.Finish(nil); err != nil {
		t.Fatal(err)
	}
	if late := r.drain.Late(); n != 8 || late != 0 {
		t.Errorf("%d records of 8 were shown, %d of them late", n, late)
	}
}

// TestDrainBacklog: when reading pauses because too many records wait for their order, the oldest are shown
// and reading continues. This also holds if every pass over the rings found an uncommitted record in some
// of them.
func TestDrainBacklog(t *testing.T) {
	const size = 4096
	for busy := range 5 {
		r := newRings(t, size)
		shown := 0
		r.give = func(*event.Event) { shown++ }
		r.tsc = event.TSC()
		for written := 0; r.drain.merger.Waiting() < event.MaxWaiting && written < 2*event.MaxWaiting; {
			for cpu := range 4 {
				written += r.flood(cpu, size, cpu < busy)
			}
			if _, err := r.drain.look(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.drain.Poll(); err != nil || shown == 0 {
			t.Errorf("%d writers busy: nothing is shown of %d MiB that wait (%v)", busy, r.drain.merger.Waiting()>>20, err)
		}
		if w := r.drain.merger.Waiting(); w >= event.MaxWaiting {
			t.Errorf("%d writers busy: %d MiB wait still: nothing more is read", busy, w>>20)
		}
	}
}

// TestDrainComplete: Complete stays before a record that is still being written, and no older event is
// shown afterwards. Recorded counts the records that wait for their order and those in the rings.
func TestDrainComplete(t *testing.T) {
	const size = 4096
	r := newRings(t, size)
	complete := uint64(0)
	r.give = func(ev *event.Event) {
		if ev.TSC <= complete {
			t.Errorf("an event of %d after everything up to %d was complete", ev.TSC, complete)
		}
	}
	look := func() {
		t.Helper()
		for event.TSC() < r.tsc+2*r.drain.merger.Slack {
			time.Sleep(time.Millisecond)
		}
		if _, err := r.drain.Poll(); err != nil {
			t.Fatal(err)
		}
		complete = r.drain.Complete()
	}
	recorded := func(want int) {
		t.Helper()
		if n, err := r.drain.Recorded(r.src, 0); err != nil || n != uint64(want) {
			t.Errorf("%d records, %v; want %d", n, err, want)
		}
	}
	if n := r.drain.Complete(); n != 0 {
		t.Errorf("complete up to %d before anything was read", n)
	}
	r.tsc = event.TSC()
	written := 0
	for cpu := range 4 {
		written += r.flood(cpu, size, cpu == 1) / size
	}
	recorded(written)
	stuck := r.tsc + 1
	look()
	if complete >= stuck {
		t.Errorf("complete up to %d, and a record of %d is still being written", complete, stuck)
	}
	written += r.flood(1, size, false) / size
	recorded(written)
	look()
	if complete < r.tsc {
		t.Errorf("complete up to %d only, all of %d were shown", complete, r.tsc)
	}
	recorded(written)
}

// TestDrainMemory: what waits in memory is bounded, whatever the records, the number of rings and their
// contents: while a reader shows nothing, and at the end, when all rings are full.
func TestDrainMemory(t *testing.T) {
	for _, size := range []int{ring.RecHeader, 200, 4096} {
		r := newRings(t, size)
		shown := 0
		r.give = func(*event.Event) { shown++ }
		r.tsc = event.TSC()
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		most := uint64(0)
		look := func() {
			runtime.ReadMemStats(&after)
			most = max(most, after.TotalAlloc-before.TotalAlloc)
		}
		for round := 0; round < 40; round++ {
			for cpu := range 4 {
				r.flood(cpu, size, false)
			}
			if _, err := r.drain.look(); err != nil {
				t.Fatal(err)
			}
			look()
		}
		if w := r.drain.merger.Waiting(); w > mostWaiting+4*r.src.mem.RingSize() {
			t.Errorf("records of %d bytes: %d MiB wait", size, w>>20)
		}
		for round := 0; round < 60; round++ { // the reader goes on: what was allocated is used again
			for cpu := range 4 {
				r.flood(cpu, size, false)
			}
			if _, err := r.drain.Poll(); err != nil {
				t.Fatal(err)
			}
		}
		look()
		if err := r.drain.Finish(nil); err != nil {
			t.Fatal(err)
		}
		// All that was ever allocated: garbage of earlier rounds, which is resident until it is
		// collected, counts.
		t.Logf("records of %d bytes: %d shown, %d MiB allocated in all", size, shown, most>>20)
		if most > 2*mostWaiting {
			t.Errorf("records of %d bytes: %d MiB were allocated", size, most>>20)
		}
	}
}

// TestDrainEnds: slow events delay other work for one turn only. At the end they delay the caller until
// its time is over; events that are not shown then are counted.
func TestDrainEnds(t *testing.T) {
	const size, written = 40, 20000
	r := newRings(t, size)
	shown := 0
	r.give = func(*event.Event) {
		shown++
		time.Sleep(10 * time.Microsecond)
	}
	r.tsc = event.TSC()
	r.fill(written, size)
	for event.TSC() < r.tsc+2*r.drain.merger.Slack { // now their order is known
		time.Sleep(time.Millisecond)
	}
	more, err := r.drain.Poll()
	if err != nil || !more || shown == 0 || shown == written {
		t.Fatalf("the first turn: %d of %d shown, more: %v, %v", shown, written, more, err)
	}
	limit := shown + 1000
	if err := r.drain.Finish(func() bool { return shown >= limit }); err != nil {
		t.Fatal(err)
	}
	if shown < limit || shown > limit+16 || r.drain.unshown != uint64(written-shown) {
		t.Errorf("%d shown and %d not, of %d; the limit was %d", shown, r.drain.unshown, written, limit)
	}
	if n := r.src.recorded[0]; n != written {
		t.Errorf("%d records are counted, of %d", n, written)
	}
}

// BenchmarkDrain measures records from the rings to a sink.
func BenchmarkDrain(b *testing.B) {
	for _, c := range []struct {
		name    string
		size    int
		ordered bool
	}{{"24", 24, false}, {"96", 96, false}, {"200", 200, false}, {"96 ordered", 96, true}} {
		b.Run(c.name, func(b *testing.B) {
			r := newRings(b, c.size)
			n := 0
			r.give = func(ev *event.Event) { n += len(ev.Raw) / c.size }
			batch := 4 << 19 / c.size
			b.ReportAllocs()
			b.SetBytes(int64(c.size))
			b.ResetTimer()
			for left := b.N; left > 0; left -= batch {
				b.StopTimer()
				r.tsc = event.TSC()
				r.fill(min(left, batch), c.size)
				b.StartTimer()
				err := error(nil)
				if c.ordered {
					_, err = r.drain.Poll()
				} else {
					err = r.drain.Settle()
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			if err := r.drain.Finish(nil); err != nil {
				b.Fatal(err)
			}
			if n != b.N {
				b.Fatalf("%d records of %d", n, b.N)
			}
		})
	}
}
