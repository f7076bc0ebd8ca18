package ctf

import (
	"encoding/binary"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ring"
)

// twoInts is a site that records two ints.
func twoInts() *event.Schema {
	f := func(name string, at int) event.Field {
		return event.Field{Name: name, Type: ctype.IntT, Kind: event.Fixed, Offset: at, Size: 4, StatusOffset: -1, StrStatusOffset: -1}
	}
	return &event.Schema{Place: "hit", RecordSize: ring.RecHeader + 8, Fields: []event.Field{f("a", ring.RecHeader), f("b", ring.RecHeader+4)}}
}

// BenchmarkPlain is the work for an event of two ints that is not copying between processors.
func BenchmarkPlain(b *testing.B) {
	clock, err := event.NewClock()
	if err != nil {
		b.Fatal(err)
	}
	threads := event.NewThreads()
	threads.Born(7, 0x700000001, "process", 0)
	s := twoInts()
	x, err := NewSite(s)
	if err != nil {
		b.Fatal(err)
	}
	var lanes Lanes
	lanes.Set(s, x)
	d := event.Decoder{Clock: clock, Threads: threads, Pid: 5, Possible: event.Span{To: ^uint64(0)}, Schemas: []*event.Schema{s}}
	stamp := event.TSC()
	const n = 4096
	data := make([]byte, n*s.RecordSize)
	for i := range n {
		r := data[i*s.RecordSize:]
		binary.LittleEndian.PutUint64(r, uint64(s.RecordSize)|1<<32)
		binary.LittleEndian.PutUint64(r[ring.RecTSC:], stamp+uint64(i))
		binary.LittleEndian.PutUint64(r[ring.RecThread:], 0x700000001)
	}
	var held event.Batch
	if !d.Batch(data, &held) {
		b.Fatal("no batch")
	}
	out := NewStream([16]byte{1}, Process, 3, 1, 5, false)
	counts := make([]uint64, 1)
	var buf []byte
	b.ResetTimer()
	for i := 0; i < b.N; {
		h := held
		out.last = 0 // the times begin again
		for h.Data = data; len(h.Data) > 0; {
			k, size := out.Plain(&h, lanes, counts)
			i += k
			h.Data = h.Data[size:]
			if k == 0 {
				b.Fatal("none")
			}
			if out.Full() {
				buf = out.Take(0, buf)
			}
		}
	}
}
