package event

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/test/testkit"
)

// TestBatch: records of a batch have the thread and the time that Decode gives them, whether the clock was sampled behind them or not;
// no record is in a batch whose thread or stamp is another's.
func TestBatch(t *testing.T) {
	seed := uint64(testkit.Seed(t, 0))
	for ; !t.Failed() && seed < uint64(testkit.Seed(t, 0))+50; seed++ {
		rnd := rand.New(rand.NewPCG(seed, 1))
		f := &fakeTime{tsc: 1 << 40, ns: 1e15, rate: 0.4}
		clock := f.clock(t)
		threads := NewThreads()
		threads.Born(7, 0x1000, "seven", 0)
		d := Decoder{Clock: clock, Threads: threads, Pid: 3, Schemas: []*Schema{{RecordSize: ring.RecHeader}}}
		held, alone := 0, 0
		for range 100 {
			f.rate = 0.4 * (1 + (rnd.Float64()-0.5)*1e-3)
			var data []byte
			for range 1 + rnd.IntN(20) {
				f.pass(rnd.Uint64N(1e5))
				switch rnd.IntN(40) {
				case 0:
					threads.Renamed(7, []string{"one", "two"}[rnd.IntN(2)], f.tsc)
				case 1: // a thread with the same thread pointer
					threads.Born(8, 0x2000, "eight", f.tsc)
				}
				rec := make([]byte, ring.RecHeader)
				binary.LittleEndian.PutUint64(rec, ring.RecHeader|1<<32)
				binary.LittleEndian.PutUint64(rec[ring.RecTSC:], f.tsc)
				binary.LittleEndian.PutUint64(rec[ring.RecThread:], []uint64{0x1000, 0x1000, 0x1000, 0x2000, 0x3000}[rnd.IntN(5)])
				data = append(data, rec...)
			}
			if rnd.IntN(2) == 0 {
				f.pass(1e7)
				if err := clock.Refresh(); err != nil {
					t.Fatal(err)
				}
			}
			f.pass(10)
			d.Possible = Span{From: 1 << 39, To: f.tsc}
			var b Batch
			ok := false
			for ; len(data) > 0; data = data[ring.RecHeader:] {
				stamp, tp := binary.LittleEndian.Uint64(data[ring.RecTSC:]), binary.LittleEndian.Uint64(data[ring.RecThread:])
				if !ok || !b.Holds(stamp, tp) {
					if ok = d.Batch(data, &b); ok && !b.Holds(stamp, tp) {
						t.Fatalf("seed %d: a batch does not hold its first record", seed)
					}
				}
				var ev Event
				if err := d.Decode(Record{TSC: stamp, Data: data[:ring.RecHeader]}, &ev); err != nil {
					t.Fatal(err)
				}
				if !ok {
					alone++
					continue
				}
				held++
				if ns := b.TimeNS(stamp); ns != ev.TimeNS || b.Tid != ev.Tid || b.Comm != ev.Comm || b.Pid != ev.Pid {
					t.Fatalf("seed %d: stamp %d: %d of %d %q, decoded %d of %d %q", seed, stamp, ns, b.Tid, b.Comm, ev.TimeNS, ev.Tid, ev.Comm)
				}
			}
		}
		if held < 500 || alone < 50 {
			t.Errorf("seed %d: %d records in batches, %d alone", seed, held, alone)
		}
	}
}
