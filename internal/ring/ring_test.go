package ring

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/test/testkit"
)

func geometry(t testing.TB, cpus, size, sites int) Geometry {
	t.Helper()
	g, err := NewGeometry(cpus, size, sites)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestGeometry(t *testing.T) {
	for _, c := range []struct{ cpus, size, sites int }{
		{1, 1, 1}, {2, 4096, 1}, {3, 5000, 127}, {6, 1 << 16, 129}, {64, 1 << 20, 100000},
	} {
		testGeometry(t, geometry(t, c.cpus, c.size, c.sites), c.size)
		g := geometry(t, c.cpus, c.size, c.sites)
		g.Restartable = true
		testGeometry(t, g, c.size)
	}
	for _, g := range []Geometry{
		{},
		{CPUs: 0, RingSize: 4096, Sites: 1},
		{CPUs: 1, RingSize: 0, Sites: 1},
		{CPUs: 1, RingSize: 4096, Sites: 0},
		{CPUs: 1, RingSize: 5000, Sites: 1},
		{CPUs: 1 << 20, RingSize: 4096, Sites: 1},
		{CPUs: 1, RingSize: 4096, Sites: 1 << 30},
		{CPUs: 1, RingSize: 2048, Sites: 1},
		{CPUs: 1, RingSize: -1, Sites: 1},
	} {
		if g.check() == nil {
			t.Errorf("%+v accepted", g)
		}
		if _, err := Map(-1, g); err == nil {
			t.Errorf("%+v mapped", g)
		}
	}
}

func testGeometry(t *testing.T, g Geometry, size int) {
	t.Helper()
	for _, p := range []uint64{g.CounterStride(), g.RingStride(), uint64(g.RingSize)} {
		if p&(p-1) != 0 {
			t.Errorf("%+v: %d is no power of two", g, p)
		}
	}
	if g.Rings() < g.CPUs || g.RingSize < size {
		t.Errorf("%+v: too small", g)
	}
	mem, file := uint64(0), map[uint64]bool{}
	for _, m := range g.Maps() {
		if m.Mem < mem || m.Mem%PageSize != 0 || m.File%PageSize != 0 || m.Len%PageSize != 0 {
			t.Errorf("%+v: mapping %+v overlaps or is not of whole pages", g, m)
		}
		mem = m.Mem + m.Len
		if m.File+m.Len > g.FileSize() || mem > g.MemSize() {
			t.Errorf("%+v: mapping %+v reaches outside", g, m)
		}
		for p := m.File; p < m.File+m.Len; p += PageSize {
			file[p] = true
		}
	}
	if uint64(len(file)) != g.FileSize()/PageSize {
		t.Errorf("%+v: %d pages mapped of %d", g, len(file), g.FileSize()/PageSize)
	}
	l := g.Layout(1<<40, uint32(g.Sites-1))
	counters, rings := l.Counters+uint64(l.CPUMask+1)*l.CounterStride, l.Rings+uint64(l.CPUMask+1)*l.RingStride
	if g.Restartable {
		if l.LockedCounters != counters || l.LockedRings != rings {
			t.Errorf("%+v: layout %+v", g, l)
		}
		if l.Registered < 1<<40+PageSize || l.Registered+RegisteredSize > 1<<40+g.CounterOffset(0, 0, 0) {
			t.Errorf("%+v: the table of thread pointers overlaps: %+v", g, l)
		}
		counters += uint64(l.CPUMask+1) * l.CounterStride
		rings += uint64(l.CPUMask+1) * l.RingStride
	}
	if last := counters - l.CounterStride + (CountersPerSite-1)*l.CounterStep + 8; last > 1<<40+g.ringsOffset() {
		t.Errorf("%+v: counters reach into the rings", g)
	}
	if first := l.Switch - uint64(g.Sites-1); first < counters-l.CounterStride+(CountersPerSite-1)*l.CounterStep+8 || l.Switch >= l.Stacks {
		t.Errorf("%+v: switches overlap: layout %+v", g, l)
	}
	if end := rings - l.RingStride + RingData + 2*l.RingSize; end > 1<<40+g.MemSize() {
		t.Errorf("%+v: rings reach outside", g)
	}
	if n := l.CPUMask + 1; n&(n-1) != 0 || n < uint32(g.CPUs) {
		t.Errorf("%+v: mask %#x", g, l.CPUMask)
	}
}

// TestFlat: what is promised to the code generator and to the verifier.
func TestFlat(t *testing.T) {
	f, err := NewFlat(6, 1<<20, 5000, 100, false, MaxFlat)
	if err != nil {
		t.Fatal(err)
	}
	l := f.Layout(7)
	if f.Rings() != 8 || f.Slack != 8192 || l.CPUMask != 7 || l.Counters != 7*32 || l.CounterStride != 4096 {
		t.Errorf("%+v, layout %+v", f, l)
	}
	if end := l.Rings + 7*l.RingStride + PageSize + l.RingSize + uint64(f.Slack); end != l.Variables || l.Switch != end+PageSize+7 || f.switches()+PageSize != f.Size() {
		t.Errorf("the last ring ends at %d, variables begin at %d of %d", end, l.Variables, f.Size())
	}
	big, err := NewFlat(256, 64<<20, 5000, 100, false, MaxFlat)
	if err != nil || big.Size() > MaxFlat || big.RingSize < 1<<20 {
		t.Errorf("%+v, %v", big, err)
	}
	if _, err := NewFlat(8192, 64<<20, 1<<20, 100, false, MaxFlat); err == nil {
		t.Error("a size beyond the limit is accepted")
	}
	over, err := NewFlat(6, 1<<20, 5000, 100, true, MaxFlat)
	if err != nil {
		t.Fatal(err)
	}
	if l := over.Layout(99); SubSize(l.RingSize) < LargestEvent(5000) || l.Recorded != 99*32+24 || l.Given != 100*32+99*8 || l.CounterStride != 4096 || !l.Overwrite {
		t.Errorf("%+v", l)
	}
	if over.Fill(); over.Sites != 102 || over.Layout(101).Given+8 > over.CounterStride() {
		t.Errorf("%+v", over)
	}
	for _, size := range []int{1 << 12, 4 << 20, 32 << 20, 64 << 20, MaxOverwrite} {
		if sub := SubSize(uint64(size)); sub&(sub-1) != 0 || uint64(size)/sub > MaxSubs {
			t.Errorf("a ring of %d bytes has sub-buffers of %d", size, sub)
		}
	}
	if _, err := f.Wrap(make([]byte, f.Size()-1)); err == nil {
		t.Error("too little memory is accepted")
	}
}

func TestParsePossible(t *testing.T) {
	for list, want := range map[string]int{"0\n": 1, "0-3": 4, "0-3,8-11\n": 12, "5": 6, "": 0, "x": 0, "0-99999999": 0, "-1": 2} {
		got, err := ParsePossible(list)
		if (err != nil) != (want == 0) || got != want {
			t.Errorf("%q: %d, %v; want %d", list, got, err, want)
		}
	}
}

func TestMapErrors(t *testing.T) {
	g := geometry(t, 1, 4096, 1)
	fd, err := unix.MemfdCreate("ring-test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if _, err := Map(fd, g); err == nil || !strings.Contains(err.Error(), "0 bytes and needs") {
		t.Errorf("a file that is too short: %v", err)
	}
	if err := Prepare(fd, g); err != nil {
		t.Errorf("a file that cannot be sealed: %v", err)
	}
}

// record is a decoded test record.
type record struct {
	site        uint32
	tsc, thread uint64
	fields      []uint64
}

func decode(t *testing.T, data []byte) []record {
	t.Helper()
	var out []record
	for len(data) > 0 {
		size := binary.LittleEndian.Uint32(data)
		if size < RecHeader || int(size) > len(data) {
			t.Fatalf("record of %d bytes in %d", size, len(data))
		}
		r := record{
			site:   binary.LittleEndian.Uint32(data[RecSite:]) - 1,
			tsc:    binary.LittleEndian.Uint64(data[RecTSC:]),
			thread: binary.LittleEndian.Uint64(data[RecThread:]),
		}
		for o := RecHeader; o < int(size); o += 8 {
			r.fields = append(r.fields, binary.LittleEndian.Uint64(data[o:]))
		}
		out = append(out, r)
		data = data[size:]
	}
	return out
}

func TestWrap(t *testing.T)     { testWrap(t, newShared(t, geometry(t, 2, 4096, 3))) }
func TestWrapFlat(t *testing.T) { testWrap(t, newFlat(t, 2, 4096, 100, 3)) }

func testWrap(t *testing.T, s *Shared) {
	r, w := NewReader(s), newWriter(s, 2, nil)
	var buf []byte
	for i := range uint64(10000) {
		if !w.write(1, i, 7, i, ^i, i*i) {
			t.Fatal("full")
		}
		if i%13 == 0 {
			var st State
			buf, st = r.Drain(1, buf)
			if st != Empty || s.Used(1) != 0 {
				t.Fatalf("state %v, %d used", st, s.Used(1))
			}
		}
	}
	buf, _ = r.Drain(1, buf)
	recs := decode(t, buf)
	if len(recs) != 10000 {
		t.Fatalf("%d records", len(recs))
	}
	for i, rec := range recs {
		i := uint64(i)
		if rec.site != 2 || rec.tsc != i || rec.thread != 7 || rec.fields[0] != i || rec.fields[1] != ^i || rec.fields[2] != i*i {
			t.Fatalf("record %d is %+v", i, rec)
		}
	}
	if st := r.Stats(); st.Records != 10000 || st.Bytes != uint64(len(buf)) || st.Corrupt != 0 || st.Torn != 0 {
		t.Errorf("%+v", st)
	}
}

// TestHammer: goroutines of all sites write to all rings, give way at random
// between any two steps, and change rings as migrating threads do, while
// readers drain. Every record arrives once, whole, in the order of its writer;
// what does not fit is counted exactly.
func TestHammer(t *testing.T)     { testHammer(t, newShared(t, geometry(t, 4, 4096, 3))) }
func TestHammerFlat(t *testing.T) { testHammer(t, newFlat(t, 4, 4096, 500, 3)) }

func testHammer(t *testing.T, s *Shared) {
	const writers, sites = 16, 3
	perWriter := 20000
	if testing.Short() {
		perWriter = 2000
	}
	r := NewReader(s)
	var lost atomic.Uint64
	var wg sync.WaitGroup
	for id := range uint64(writers) {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(id, 1))
			site := uint32(id % sites)
			w := newWriter(s, site, func() {
				if rnd.IntN(50) == 0 {
					runtime.Gosched()
				}
			})
			for seq := range uint64(perWriter) {
				fields := make([]uint64, 1+rnd.IntN(12))
				for i := range fields {
					fields[i] = id<<48 | seq<<8 | uint64(i)
				}
				if !w.write(rnd.IntN(4), seq, id, fields...) {
					lost.Add(1)
				}
			}
		})
	}
	var done atomic.Bool
	out := make([][]byte, 4)
	var readers sync.WaitGroup
	for cpu := range out {
		readers.Go(func() {
			for {
				stop := done.Load()
				var st State
				out[cpu], st = r.Drain(cpu, out[cpu])
				if stop && st == Empty {
					return
				}
				runtime.Gosched()
			}
		})
	}
	wg.Wait()
	done.Store(true)
	readers.Wait()

	got := uint64(0)
	var seen [writers]map[uint64]bool
	for i := range seen {
		seen[i] = map[uint64]bool{}
	}
	for _, data := range out {
		var last [writers]int64
		for i := range last {
			last[i] = -1
		}
		for _, rec := range decode(t, data) {
			id, seq := rec.thread, rec.tsc
			if rec.site != uint32(id%sites) || seen[id][seq] || int64(seq) <= last[id] {
				t.Fatalf("record %+v: twice or out of order", rec)
			}
			seen[id][seq], last[id] = true, int64(seq)
			for i, f := range rec.fields {
				if f != id<<48|seq<<8|uint64(i) {
					t.Fatalf("record %+v is torn", rec)
				}
			}
			got++
		}
	}
	counted := uint64(0)
	for site := range uint32(sites) {
		counted += s.Counter(site, CounterLost)
	}
	if counted != lost.Load() || got+counted != writers*uint64(perWriter) {
		t.Errorf("%d read and %d counted lost (%d were) of %d", got, counted, lost.Load(), writers*perWriter)
	}
	if st := r.Stats(); st.Records != got || st.Corrupt != 0 {
		t.Errorf("%+v", st)
	}
	t.Logf("%d read, %d lost", got, counted)
}

func TestCounters(t *testing.T) {
	s := newShared(t, geometry(t, 3, 4096, 200))
	w := newWriter(s, 199, nil)
	for cpu := range 4 {
		for range cpu + 1 {
			w.count(cpu, CounterFalse)
		}
	}
	w.count(3, CounterCondFault)
	if n := s.Counter(199, CounterFalse); n != 10 {
		t.Errorf("false: %d", n)
	}
	if n := s.Counter(199, CounterCondFault); n != 1 {
		t.Errorf("faults: %d", n)
	}
	if s.Counter(198, CounterFalse)+s.Counter(199, CounterLost)+s.Counter(200, 0)+s.Counter(0, 9)+s.Counter(0, -1) != 0 {
		t.Error("a counter has a value without a hit")
	}
}

// TestRecover: writers die at every step; what was committed is read.
func TestRecover(t *testing.T) {
	for _, known := range []bool{true, false} {
		first := uint64(testkit.Seed(t, 0))
		for seed := first; seed < first+300; seed++ {
			rnd := rand.New(rand.NewPCG(seed, 2))
			s := newShared(t, geometry(t, 1, 4096, 2))
			r := NewReader(s)
			w := []*writer{newWriter(s, 0, nil), newWriter(s, 1, nil)}
			sizes, short := []int{2, 5}, 3
			if known {
				r.SetSize(0, RecHeader+8*sizes[0])
				r.SetSize(1, RecHeader+8*sizes[1])
				r.SetShort(1, RecHeader+8*short)
			}
			var want []uint64
			holes := uint64(0)
			for i := range uint64(60) {
				site := rnd.IntN(2)
				// Field data that looks like a head, to mislead the search.
				fake := uint64(EventHead+8*sizes[rnd.IntN(2)])<<32 | KindContext<<WordKind
				if !known {
					fake = rnd.Uint64() | 1<<63
				}
				size := sizes[site]
				if site == 1 && rnd.IntN(2) == 0 {
					size = short
				}
				fields := make([]uint64, size)
				for j := range fields {
					fields[j] = fake
				}
				if rnd.IntN(4) == 0 { // dies
					room := w[site].reserve(0, uint64(RecHeader+8*size))
					if room == nil {
						continue
					}
					holes++
					switch rnd.IntN(3) {
					case 0:
						w[site].heads(room, 1<<44+i, 1)
						fallthrough
					case 1:
						*at(room.field(w[site], 0)) = fake
					}
					continue
				}
				if w[site].write(0, 1<<44+i, 1, fields...) {
					want = append(want, 1<<44+i)
				}
				if rnd.IntN(20) == 0 {
					break
				}
			}
			data := r.Recover(0, nil)
			var got []uint64
			for _, rec := range decode(t, data) {
				got = append(got, rec.tsc)
			}
			if len(got) != len(want) {
				t.Fatalf("seed %d: %d records of %d", seed, len(got), len(want))
			}
			for i := range got {
				if got[i] != want[i] {
					t.Fatalf("seed %d: record %d is %d, want %d", seed, i, got[i], want[i])
				}
			}
			st := r.Stats()
			if st.Torn > holes || (st.Torn == 0) != (holes == 0) || st.Corrupt != 0 {
				t.Errorf("seed %d: %+v with %d holes", seed, st, holes)
			}
			if s.Used(0) != 0 {
				t.Errorf("seed %d: %d bytes left", seed, s.Used(0))
			}
			for i, b := range s.mem[s.g.RingOffset(0)+RingData:][:s.g.size()] {
				if b != 0 {
					t.Fatalf("seed %d: byte %d of the free room is %#x", seed, i, b)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestPending: a record under way holds back those behind it until it is committed.
func TestPending(t *testing.T) {
	s := newShared(t, geometry(t, 1, 4096, 1))
	r, w := NewReader(s), newWriter(s, 0, nil)
	w.write(0, 1, 1)
	room := w.reserve(0, RecHeader)
	w.write(0, 3, 1)
	buf, st := r.Drain(0, nil)
	if len(buf) != RecHeader || st != Pending {
		t.Fatalf("%d bytes, state %v", len(buf), st)
	}
	if buf, st = r.Drain(0, buf); len(buf) != RecHeader || st != Pending {
		t.Fatalf("%d bytes, state %v", len(buf), st)
	}
	w.heads(room, 2, 1)
	if buf, st = r.Drain(0, buf); len(buf) != RecHeader || st != Pending {
		t.Fatalf("%d bytes, state %v", len(buf), st)
	}
	w.commit(room)
	if buf, st = r.Drain(0, buf); len(buf) != 3*RecHeader || st != Empty {
		t.Fatalf("%d bytes, state %v", len(buf), st)
	}
}

// TestVandal: whatever the traced program writes into the rings, the reader
// ends, stays inside and goes on with records written afterwards.
func TestVandal(t *testing.T) {
	s := newShared(t, geometry(t, 1, 4096, 2))
	r, w := NewReader(s), newWriter(s, 1, nil)
	r.SetSize(1, RecHeader+16)
	rnd := rand.New(rand.NewPCG(uint64(testkit.Seed(t, 3)), 4))
	ring := s.g.RingOffset(0)
	for round := range 3000 {
		for range rnd.IntN(4) {
			off := ring + RingData + uint64(rnd.IntN(s.RingSize()/8))*8
			switch rnd.IntN(4) {
			case 0:
				*s.word(ring + RingReserved) = rnd.Uint64()
			case 1:
				*s.word(ring + RingConsumed) = rnd.Uint64()
			case 2:
				*s.word(off) = rnd.Uint64()
			case 3:
				*s.word(off) = uint64(rnd.IntN(64)) | uint64(rnd.IntN(4))<<32
			}
		}
		w.write(0, 1, 1, 2, 3)
		if rnd.IntN(2) == 0 {
			r.Drain(0, nil)
		} else {
			r.Recover(0, nil)
		}
		if round%100 == 99 {
			r.Recover(0, nil)
			clear(s.mem[ring+RingData:][:s.RingSize()])
			if !w.write(0, 5, 6, 7, 8) {
				t.Fatal("the ring stays full")
			}
			if recs := decode(t, r.Recover(0, nil)); len(recs) != 1 || recs[0].tsc != 5 || recs[0].fields[1] != 8 {
				t.Fatalf("after the vandal: %+v", recs)
			}
		}
	}
}

// BenchmarkDrain reads full rings. In those of sequences, as threads that stay on their CPU fill them, one context serves
// the events behind it; writers with lock store one with each event.
func BenchmarkDrain(b *testing.B) {
	for _, fields := range []int{0, 1, 2, 8} {
		for _, contexts := range []bool{false, true} {
			b.Run(fmt.Sprintf("fields=%d/contexts=%t", fields, contexts), func(b *testing.B) { benchmarkDrain(b, fields, contexts) })
		}
	}
}

func benchmarkDrain(b *testing.B, fields int, contexts bool) {
	s := newShared(b, geometry(b, 1, 1<<20, 1))
	r, w := NewReader(s), newWriter(s, 0, nil)
	r.SetSize(0, RecHeader+8*fields)
	values := make([]uint64, fields)
	buf := make([]byte, 0, 4<<20)
	var records int
	var spent time.Duration
	for b.Loop() {
		for w.write(0, 1, 1, values...) {
			if !contexts {
				w.follow(0, values)
			}
		}
		start := time.Now()
		buf, _ = r.Drain(0, buf[:0])
		spent += time.Since(start)
		records += len(buf) / (RecHeader + 8*fields)
	}
	b.ReportMetric(float64(records)/spent.Seconds()/1e6, "Mrecords/s")
}

func TestVariables(t *testing.T) {
	g, err := NewGeometry(2, PageSize, 4)
	if err != nil {
		t.Fatal(err)
	}
	f, err := NewFlat(2, PageSize, 64, 4, false, MaxFlat)
	if err != nil {
		t.Fatal(err)
	}
	flat, err := f.Wrap(make([]byte, f.Size()))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Shared{{g: g, mem: make([]byte, g.MemSize()), foreign: true}, flat} {
		for i := range MaxVariables {
			s.SetVariable(i, uint64(i)+1)
		}
		for i := range MaxVariables {
			if got := s.Variable(i); got != uint64(i)+1 {
				t.Fatalf("variable %d is %d", i, got)
			}
		}
		if *s.Deadman() > 1 || s.Counter(0, 0) != 0 || s.Used(1) != 0 {
			t.Error("a variable lies over something else")
		}
	}
	if l := g.Layout(1<<20, 1); l.Variables != 1<<20+ControlVariables || l.VariableCount != MaxVariables {
		t.Errorf("layout: %+v", l)
	}
}

// BenchmarkSnapshot copies and decodes a full ring of 32 MiB.
func BenchmarkSnapshot(b *testing.B) {
	g := geometry(b, 1, 32<<20, 1)
	g.Overwrite = true
	s := newShared(b, g)
	w := newWriter(s, 0, nil)
	for w.write(0, 1, 1, 2) {
		w.follow(0, []uint64{3})
	}
	ring, sub := s.g.RingOffset(0), SubSize(s.g.size())
	for i := range s.g.size() / sub {
		*s.word(ring + SubTable + SubEntry*i) = sub / 8
	}
	var copied, decoded time.Duration
	var buf []byte
	for b.Loop() {
		r := NewReader(s)
		r.rings[0].pos = 0
		r.SetSize(0, RecHeader+8)
		start := time.Now()
		snap := r.Snapshot(0, false)
		copied += time.Since(start)
		for ok := true; ok; {
			buf, ok = snap.Next(buf[:0])
		}
		decoded += time.Since(start)
		if r.Stats().Records < s.g.size()/17 {
			b.Fatalf("%+v", r.Stats())
		}
	}
	b.ReportMetric(copied.Seconds()*1000/float64(b.N), "ms-copied")
	b.ReportMetric(decoded.Seconds()*1000/float64(b.N), "ms")
}

// TestCountLocked: jalon counts on behalf of hit programs where no restartable sequence does.
func TestCountLocked(t *testing.T) {
	g := geometry(t, 3, PageSize, 2)
	g.Restartable = true
	s := newShared(t, g)
	if err := s.Count(1, CounterCondFault); err != nil || s.Counter(1, CounterCondFault) != 1 {
		t.Errorf("%d counted, %v", s.Counter(1, CounterCondFault), err)
	}
	for cpu := range g.cpuRings() {
		if n := *s.word(g.CounterOffset(cpu, 1, CounterCondFault)); n != 0 {
			t.Errorf("CPU %d's cell of sequences is %d", cpu, n)
		}
	}
}
