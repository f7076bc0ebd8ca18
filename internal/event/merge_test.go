package event

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/test/testkit"
)

func rawRecord(dst []byte, site uint32, tsc, thread uint64, fields int) []byte {
	size := ring.RecHeader + 8*fields
	dst = binary.LittleEndian.AppendUint32(dst, uint32(size))
	dst = binary.LittleEndian.AppendUint32(dst, site+1)
	dst = binary.LittleEndian.AppendUint64(dst, tsc)
	dst = binary.LittleEndian.AppendUint64(dst, thread)
	for range fields {
		dst = binary.LittleEndian.AppendUint64(dst, tsc)
	}
	return dst
}

// TestMerger: records whose stamps are up to Slack older than their position in the ring are emitted in
// order, each once and unchanged.
func TestMerger(t *testing.T) {
	first := uint64(testkit.Seed(t, 0))
	for seed := first; seed < first+200; seed++ {
		rnd := rand.New(rand.NewPCG(seed, 5))
		rings := 1 + rnd.IntN(5)
		m := NewMerger(rings)
		m.Slack = 1000
		now, added, got := uint64(10000), uint64(0), uint64(0)
		last := uint64(0)
		ids := map[uint64]bool{}
		unit := func(t uint64) uint64 { return t }
		check := func(r Record) error {
			if unit(r.TSC) < unit(last) {
				t.Fatalf("seed %d: %d after %d", seed, r.TSC, last)
			}
			last = r.TSC
			if ids[r.Thread()] || r.Site() != uint32(r.CPU) || (len(r.Data)-ring.RecHeader)/8 != int(r.Thread()%4) {
				t.Fatalf("seed %d: record %d of site %d on %d", seed, r.Thread(), r.Site(), r.CPU)
			}
			ids[r.Thread()] = true
			got++
			return nil
		}
		for i := range 100 {
			if i == 50 && seed%2 == 1 { // add the rings of another engine with another clock
				unit = func(t uint64) uint64 { return t/2 + 1 }
				m.Grow(1)
				m.Rekey(func(_ int, stamp uint64) uint64 { return unit(stamp) }, unit(m.Slack), 0)
			}
			for cpu := range rings {
				start := now
				var data []byte
				for range rnd.IntN(20) {
					now += rnd.Uint64N(300)
					added++
					data = rawRecord(data, uint32(cpu), now-rnd.Uint64N(1000), added, int(added%4))
				}
				m.Add(cpu, data)
				if rnd.IntN(5) > 0 {
					m.Looked(cpu, ring.Empty, unit(start))
				}
			}
			if len(m.queues) > rings {
				m.Looked(rings, ring.Empty, unit(now))
			}
			if err := m.Emit(check); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Flush(check); err != nil {
			t.Fatal(err)
		}
		if got != added || m.Late != 0 || m.Waiting() != 0 {
			t.Fatalf("seed %d: %d of %d, %d late, %d bytes left", seed, got, added, m.Late, m.Waiting())
		}
	}
}

func TestMergerBounds(t *testing.T) {
	m := NewMerger(2)
	var out []uint64
	emit := func(r Record) error { out = append(out, r.TSC); return nil }
	step := func(want ...uint64) {
		t.Helper()
		out = nil
		if err := m.Emit(emit); err != nil {
			t.Fatal(err)
		}
		if len(out) != len(want) {
			t.Fatalf("got %v, want %v", out, want)
		}
		for i := range out {
			if out[i] != want[i] {
				t.Fatalf("got %v, want %v", out, want)
			}
		}
	}
	m.Add(0, rawRecord(rawRecord(nil, 0, 100, 1, 0), 0, 300, 1, 0))
	m.Looked(0, ring.Empty, 400)
	step() // ring 1 was never read
	m.Looked(1, ring.Empty, 150)
	step(100)
	m.Add(1, rawRecord(nil, 0, 200, 1, 0))
	m.Looked(1, ring.Empty, 160) // its writer is stuck
	step()
	m.Hold = 50
	m.Looked(0, ring.Empty, 1000)
	step(200, 300)
	m.Add(1, rawRecord(nil, 0, 170, 1, 0))
	step(170)
	if m.Late != 1 {
		t.Errorf("%d late", m.Late)
	}
	m.Hold, m.Limit = 0, 2*(ring.RecHeader+entrySize)
	m.Add(0, rawRecord(rawRecord(rawRecord(nil, 0, 2000, 1, 0), 0, 2002, 1, 0), 0, 2001, 1, 0))
	step(2000)
	stop := errors.New("stop")
	if err := m.Flush(func(Record) error { return stop }); err != stop {
		t.Errorf("error %v", err)
	}
	m.Add(0, []byte{1, 2, 3})
	m.Add(0, make([]byte, 64))
	if err := m.Flush(emit); err != nil || len(out) != 2 || out[1] != 2002 {
		t.Errorf("after an error: %v, %v", out, err)
	}
}

func BenchmarkMerger(b *testing.B) {
	m := NewMerger(4)
	var data [4][]byte
	for i := range uint64(4000) {
		data[i%4] = rawRecord(data[i%4], 0, i, i, 2)
	}
	n := 0
	for b.Loop() {
		for cpu := range data {
			m.Add(cpu, data[cpu])
		}
		if err := m.Flush(func(Record) error { n++; return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Mrecords/s")
}
