package event

import (
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/test/testkit"
)

// fakeTime is a TSC of 2.5 GHz and a clock whose rate changes, as under NTP.
type fakeTime struct {
	tsc  uint64
	ns   float64
	rate float64
}

func (f *fakeTime) pass(ticks uint64) {
	f.tsc += ticks
	f.ns += float64(ticks) * f.rate
}

func (f *fakeTime) clock(t testing.TB) *Clock {
	c, err := newClock(func() (uint64, int64, error) {
		f.pass(1000)
		return f.tsc, int64(f.ns), nil
	}, func() uint64 { return f.tsc })
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestClockReader: interruptions around the readings of the clocks do not move the samples, although most readings are
// interrupted.
func TestClockReader(t *testing.T) {
	random := rand.New(rand.NewPCG(uint64(testkit.Seed(t, 0)), 1))
	now := uint64(1 << 40)
	pass := func() uint64 {
		now += 10 + random.Uint64N(3)
		if random.IntN(4) != 0 {
			now += random.Uint64N(100_000)
		}
		return now
	}
	r := clockReader{tsc: pass, mono: func() (int64, error) { return int64(pass()), nil }}
	for range 20 { // the smallest span becomes known
		if _, _, err := r.read(); err != nil {
			t.Fatal(err)
		}
	}
	worst, off := uint64(0), 0
	for range 1000 {
		tsc, mono, err := r.read()
		if err != nil {
			t.Fatal(err)
		}
		if d := max(tsc, uint64(mono)) - min(tsc, uint64(mono)); d > 20 {
			worst = max(worst, d)
			off++
		}
	}
	// A reading has two intervals of which each is free with probability 1/4: of 64 none is with 1.6 %.
	if off > 60 {
		t.Errorf("%d of 1000 samples are off, by up to %d ticks", off, worst)
	}
}

// TestClockDrift: stamps between samples are exact although the rate changes by 500 ppm, the kernel's maximum.
// Times are monotone in the stamps, whether converted before or after the next sample.
func TestClockDrift(t *testing.T) {
	first := uint64(testkit.Seed(t, 0))
	for seed := first; seed < first+50; seed++ {
		rnd := rand.New(rand.NewPCG(seed, 0))
		f := &fakeTime{tsc: 1 << 40, ns: 1e15, rate: 0.4}
		c := f.clock(t)
		type converted struct {
			tsc uint64
			ns  int64
		}
		var all []converted
		for range 300 {
			f.rate = 0.4 * (1 + (rnd.Float64()-0.5)*1e-3)
			var asked []converted
			for range rnd.IntN(5) {
				f.pass(rnd.Uint64N(5e6))
				if rnd.IntN(3) == 0 { // converted before the next sample
					ns := c.Mono(f.tsc)
					if diff := ns - int64(f.ns); diff < -100e3 || diff > 100e3 {
						t.Fatalf("seed %d: extrapolated %d ns off", seed, diff)
					}
					all = append(all, converted{f.tsc, ns})
				} else {
					asked = append(asked, converted{f.tsc, int64(f.ns)})
				}
			}
			f.pass(1e7)
			if err := c.Refresh(); err != nil {
				t.Fatal(err)
			}
			for _, a := range asked {
				ns := c.Mono(a.tsc)
				if diff := ns - a.ns; diff < -20e3 || diff > 20e3 {
					t.Fatalf("seed %d: interpolated %d ns off", seed, diff)
				}
				all = append(all, converted{a.tsc, ns})
			}
		}
		byTSC := map[uint64]int64{}
		var last converted
		for _, a := range all {
			byTSC[a.tsc] = a.ns
		}
		for pass := range 2 {
			keys := make([]converted, 0, len(all))
			for tsc, ns := range byTSC {
				if pass == 1 {
					ns = c.Mono(tsc) // converted again
				}
				keys = append(keys, converted{tsc, ns})
			}
			last = converted{}
			sortBy(keys, func(a, b converted) bool { return a.tsc < b.tsc })
			for _, k := range keys {
				if k.ns < last.ns {
					t.Fatalf("seed %d: %d -> %d, but earlier %d -> %d", seed, k.tsc, k.ns, last.tsc, last.ns)
				}
				last = k
			}
		}
	}
}

func sortBy[T any](s []T, less func(a, b T) bool) {
	for i := range s {
		for j := i; j > 0 && less(s[j], s[j-1]); j-- {
			s[j], s[j-1] = s[j-1], s[j]
		}
	}
}

func TestClockFuture(t *testing.T) {
	f := &fakeTime{tsc: 1 << 40, ns: 1e15, rate: 0.4}
	c := f.clock(t)
	c.Mono(^uint64(0)) // a damaged record
	c.Mono(0)
	f.pass(1e8)
	if err := c.Refresh(); err != nil {
		t.Fatal(err)
	}
	if diff := c.Mono(f.tsc) - int64(f.ns); diff < -10 || diff > 10 {
		t.Errorf("%d ns off after a stamp in the future", diff)
	}
	for range 3 * maxNodes {
		f.pass(1e7)
		if err := c.Refresh(); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.nodes) > maxNodes+1 {
		t.Errorf("%d nodes", len(c.nodes))
	}
}

// TestClockReal compares with the kernel's clock: the time of a stamp that was read between two readings of
// the clock lies between them.
func TestClockReal(t *testing.T) {
	c, err := NewClock()
	if err != nil {
		t.Fatal(err)
	}
	type sample struct {
		before, after int64
		tsc           uint64
	}
	var samples []sample
	for range 2000 {
		var a, b unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &a); err != nil {
			t.Fatal(err)
		}
		tsc := TSC()
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &b); err != nil {
			t.Fatal(err)
		}
		samples = append(samples, sample{a.Nano(), b.Nano(), tsc})
		if len(samples)%100 == 0 {
			if err := c.Refresh(); err != nil {
				t.Fatal(err)
			}
		}
	}
	const off = 2000 // ns: half of the time for reading the clock at either end, on a busy machine
	bad := 0
	for _, s := range samples {
		if ns := c.Mono(s.tsc); ns < s.before-off || ns > s.after+off {
			bad++
		}
	}
	if bad > len(samples)/50 {
		t.Errorf("%d of %d are more than %d ns off", bad, len(samples), off)
	}
	if d := time.Since(c.Wall(c.Mono(TSC()))); d < -time.Second || d > time.Second {
		t.Errorf("the wall clock is %v off", d)
	}
	if ticks := c.Ticks(time.Second); ticks < 1e8 || ticks > 1e11 {
		t.Errorf("%d ticks a second", ticks)
	}
}

func BenchmarkMono(b *testing.B) {
	f := &fakeTime{tsc: 1 << 40, ns: 1e15, rate: 0.4}
	c := f.clock(b)
	for range 100 {
		f.pass(1e8)
		if err := c.Refresh(); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		c.Mono(f.tsc - 1000)
	}
}
