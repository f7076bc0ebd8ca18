package ctf

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/test/testkit"
)

// TestPlain: records that are taken in batches make the same packets as events, and each thread's name is that of its events.
func TestPlain(t *testing.T) {
	first := uint64(testkit.Seed(t, 1))
	for seed := first; seed < first+40; seed++ {
		for class := range State {
			plainAsEvents(t, rand.New(rand.NewPCG(seed, uint64(class))), class)
		}
	}
}

func plainAsEvents(t *testing.T, rnd *rand.Rand, class Class) {
	clock, err := event.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	threads := event.NewThreads()
	threads.Born(7, 0x700000001, "process", 0)
	d := event.Decoder{Clock: clock, Threads: threads, Pid: 5, Possible: event.Span{To: ^uint64(0)}}
	sites, lanes := map[*event.Schema]*Site{}, Lanes{}
	for i := range 1 + rnd.IntN(5) {
		s := randomSchema(rnd, uint32(i), class == Kernel)
		if i == 0 {
			s = twoInts()
			s.Kernel = class == Kernel
		}
		if class == Kernel && rnd.IntN(3) > 0 {
			s.CommOffset = s.RecordSize
			s.RecordSize += 16
		}
		x, err := NewSite(s)
		if err != nil {
			t.Fatal(err)
		}
		d.Schemas, sites[s] = append(d.Schemas, s), x
		lanes.Set(s, x)
	}
	data := plainRecords(rnd, d.Schemas)
	batched, events := NewStream([16]byte{1}, class, 3, 1, 5, false), NewStream([16]byte{1}, class, 3, 1, 5, false)
	alone, together, counts := 0, 0, make([]uint64, len(d.Schemas))
	var held event.Batch
	for left := 0; len(data) > 0; left-- {
		ev := decoded(t, &d, data)
		if left == 0 {
			ok := false
			if class == Kernel {
				ok = d.KernelBatch(data, &held)
			} else {
				ok = d.Batch(data, &held)
			}
			if ok {
				left, _ = batched.Plain(&held, lanes, counts)
				together += left
			}
		}
		if left == 0 {
			batched.Event(sites[ev.Schema], ev.TimeNS, ev.Pid, ev.Tid, ev.Raw, nil)
			alone, left = alone+1, 1
		} else if held.Tid != ev.Tid || held.Pid != ev.Pid || held.Comm != ev.Comm {
			t.Fatalf("%v: batch of %d/%d %q has an event of %d/%d %q", class, held.Pid, held.Tid, held.Comm, ev.Pid, ev.Tid, ev.Comm)
		}
		events.Event(sites[ev.Schema], ev.TimeNS, ev.Pid, ev.Tid, ev.Raw, nil)
		data = data[ev.Schema.RecordSize:]
	}
	if together == 0 && alone == 0 {
		t.Fatalf("%v: no record", class)
	}
	if a, b := batched.Take(0, nil), events.Take(0, nil); !bytes.Equal(a, b) {
		t.Fatalf("%v: %d records in batches and %d alone make another packet (%d bytes) than events (%d)", class, together, alone, len(a), len(b))
	}
}

// plainRecords makes records of three threads, of which one has the names of two others.
func plainRecords(rnd *rand.Rand, schemas []*event.Schema) (data []byte) {
	stamp := event.TSC()
	thread, name := uint64(0x700000001), "one"
	for range 300 {
		if rnd.IntN(6) == 0 {
			thread = 0x700000001 + rnd.Uint64N(3)
		}
		if rnd.IntN(20) == 0 {
			name = []string{"one", "two", "a name of 15 ch"}[rnd.IntN(3)]
		}
		s := schemas[rnd.IntN(len(schemas))*rnd.IntN(2)]
		stamp += []uint64{rnd.Uint64N(1000), rnd.Uint64N(1000), -rnd.Uint64N(1000), 1 << 30}[max(rnd.IntN(30)-26, 0)]
		rec := randomRecord(rnd, s)
		binary.LittleEndian.PutUint64(rec, uint64(s.RecordSize)|uint64(s.SiteID+1)<<32)
		binary.LittleEndian.PutUint64(rec[ring.RecTSC:], stamp)
		binary.LittleEndian.PutUint64(rec[ring.RecThread:], thread)
		if s.CommOffset > 0 {
			copy(rec[s.CommOffset:], name)
		}
		data = append(data, rec...)
	}
	return data
}

// decoded is the event of the first record.
func decoded(t *testing.T, d *event.Decoder, data []byte) (ev event.Event) {
	n := binary.LittleEndian.Uint32(data)
	r := event.Record{TSC: binary.LittleEndian.Uint64(data[ring.RecTSC:]), Data: bytes.Clone(data[:n])}
	if err := d.Decode(r, &ev); err != nil {
		t.Fatal(err)
	}
	return ev
}
