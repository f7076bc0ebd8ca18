package event

import (
	"fmt"
	"math"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/procdir"
)

// TSC reads the processor's time stamp counter: rdtsc, or cntvct_el0 of arm64.
func TSC() uint64

// Clock converts time stamps (TSC ticks) to CLOCK_MONOTONIC nanoseconds. It interpolates between two samples,
// and so follows the kernel's correction of the clock. After the last sample it extrapolates with the latest
// rate. It is monotone: a larger stamp never gives a smaller time, whenever the two are converted.
//
// Refresh it before records are converted; then their stamps lie between samples.
// It needs a TSC that runs at one rate on all CPUs (constant_tsc, nonstop_tsc). Where the TSC goes on while the machine sleeps,
// CLOCK_MONOTONIC does not: see slept.
type Clock struct {
	mu    sync.Mutex
	nodes []node
	// The largest stamp after the last node that was converted, and its time. Later nodes must be consistent
	// with it.
	seen   uint64
	seenNS int64
	wall   int64 // CLOCK_REALTIME - CLOCK_MONOTONIC at the start, ns
	asleep sleepTime
	sleep  func() sleepTime // nil: the machine does not sleep
	sample func() (tsc uint64, mono int64, err error)
	now    func() uint64
}

// node starts a segment of the piecewise linear function.
type node struct {
	tsc  uint64
	ns   int64
	rate float64 // ns per tick from here on
	top  int64   // the largest time before this node: ns, but where the machine has slept
}

const (
	// minSpan is the minimum distance of two samples from which a rate is computed. 50 ns of uncertainty in 1
	// ms are 50 ppm, corrected by later samples.
	minSpan = time.Millisecond
	// maxNodes limits the memory. Older stamps use the oldest segment.
	maxNodes = 1 << 14
)

// NewClock takes the first samples, in about two milliseconds.
func NewClock() (*Clock, error) {
	c, err := newClock(readClocks, TSC)
	if err != nil {
		return nil, err
	}
	c.sleep, c.asleep = readSleep, readSleep()
	var real unix.Timespec
	mono := Monotonic()
	if err := unix.ClockGettime(unix.CLOCK_REALTIME, &real); err != nil {
		return nil, fmt.Errorf("reading the wall clock: %w", err)
	}
	c.wall = real.Nano() - mono
	return c, nil
}

func newClock(sample func() (uint64, int64, error), now func() uint64) (*Clock, error) {
	c := &Clock{sample: sample, now: now}
	t0, ns0, err := sample()
	if err != nil {
		return nil, err
	}
	for {
		t1, ns1, err := sample()
		if err != nil {
			return nil, err
		}
		if ns1-ns0 < int64(2*minSpan) {
			continue
		}
		if t1 <= t0 {
			return nil, fmt.Errorf("the time stamp counter does not advance (%d, then %d)", t0, t1)
		}
		rate := float64(ns1-ns0) / float64(t1-t0)
		c.nodes = []node{{t0, ns0, rate, ns0}, {t1, ns1, rate, ns1}}
		return c, nil
	}
}

// Rate returns nanoseconds for each tick, from the first sample to now: the longer the clock exists, the more exact.
func (c *Clock) Rate() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.nodes[0]
	if tsc, ns, err := c.sample(); err == nil && tsc > first.tsc && ns > first.ns {
		return float64(ns-first.ns) / float64(tsc-first.tsc)
	}
	return first.rate
}

// clockReader reads a TSC and a clock at one moment.
type clockReader struct {
	tsc  func() uint64
	mono func() (int64, error)
	// least is the smallest number of ticks between the two readings of the TSC around a reading of the clock. A
	// span of that length was not interrupted.
	least atomic.Uint64
}

// clocks is the reader of the process: all Clocks learn from each other's spans.
var clocks = clockReader{tsc: TSC, mono: func() (int64, error) { return Monotonic(), nil }}

func readClocks() (uint64, int64, error) { return clocks.read() }

// Reading goes on until the span is close to the smallest that was ever seen, but for minReads to maxReads times.
const (
	minReads = 5
	maxReads = 64
)

// read returns both clocks by the reading with the smallest span. A span may contain an interrupt, or, in a virtual
// machine, the time in which the CPU did something else; its middle is off by up to half of that.
func (r *clockReader) read() (tsc uint64, mono int64, err error) {
	best := uint64(math.MaxUint64)
	for i := 1; i <= maxReads && (i <= minReads || !r.undisturbed(best)); i++ {
		before := r.tsc()
		ns, err := r.mono()
		after := r.tsc()
		if err != nil {
			return 0, 0, fmt.Errorf("reading the monotonic clock: %w", err)
		}
		if span := after - before; span < best {
			best, tsc, mono = span, before+span/2, ns
		}
	}
	return tsc, mono, nil
}

// undisturbed reports whether a span is at most 1.5 times the smallest, and remembers a smaller one.
func (r *clockReader) undisturbed(span uint64) bool {
	least := r.least.Load()
	for (least == 0 || span < least) && !r.least.CompareAndSwap(least, max(span, 1)) {
		least = r.least.Load()
	}
	return least != 0 && span <= least+least/2
}

// Monotonic reads the machine's CLOCK_MONOTONIC, nanoseconds.
func Monotonic() int64 { return procdir.Monotonic() }

// Now returns the counter and CLOCK_MONOTONIC at one moment.
func (c *Clock) Now() (tsc uint64, ns int64, err error) { return c.sample() }

// Refresh takes a further sample. Calls within a millisecond of the last do nothing.
func (c *Clock) Refresh() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	tsc, ns, err := c.sample()
	if err != nil {
		return err
	}
	last := &c.nodes[len(c.nodes)-1]
	slept, err := c.sleeps(last, tsc)
	if err != nil {
		return err
	}
	if !slept && (ns-last.ns < int64(minSpan) || tsc <= last.tsc) {
		return nil
	}
	if c.seen >= tsc {
		return nil // times after this sample have already been returned
	}
	from := last
	if c.seen > last.tsc {
		// The function must go through the last returned point.
		c.nodes = append(c.nodes, node{c.seen, c.seenNS, last.rate, c.seenNS})
		from = &c.nodes[len(c.nodes)-1]
	}
	if slept && c.over(*from, tsc, ns) {
		return nil
	}
	// Continue with the rate of the samples, not of the segment, which may be short and correct an error.
	rate := float64(ns-last.ns) / float64(tsc-last.tsc)
	ns = max(ns, from.ns)
	from.rate = float64(ns-from.ns) / float64(tsc-from.tsc)
	c.nodes = append(c.nodes, node{tsc, ns, rate, ns})
	if drop := len(c.nodes) - maxNodes; drop > 0 {
		c.nodes = append(c.nodes[:0], c.nodes[drop+maxNodes/4:]...)
	}
	c.seen = 0
	return nil
}

// Mono converts a time stamp to CLOCK_MONOTONIC nanoseconds.
func (c *Clock) Mono(tsc uint64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.nodes)
	if last := &c.nodes[n-1]; tsc > last.tsc {
		ns := saturate(last.ns, float64(tsc-last.tsc)*last.rate)
		// Only a damaged record has a future stamp. It does not constrain later nodes.
		if tsc > c.seen && tsc <= c.now() {
			c.seen, c.seenNS = tsc, ns
		}
		return ns
	}
	// Most stamps are in one of the last segments.
	i := n - 2
	for back := 0; i > 0 && c.nodes[i].tsc > tsc; i-- {
		if back++; back == 8 {
			i = sort.Search(i, func(k int) bool { return c.nodes[k].tsc > tsc }) // first after tsc
			i = max(i-1, 0)
			break
		}
	}
	a, b := &c.nodes[i], &c.nodes[i+1]
	if tsc < a.tsc { // before the first sample
		return saturate(a.ns, -float64(a.tsc-tsc)*a.rate)
	}
	return min(saturate(a.ns, float64(tsc-a.tsc)*a.rate), b.top)
}

// segment is the part of a Clock's function between two samples. It does not change.
type segment struct {
	from, to uint64 // stamps in [from, to)
	ns, end  int64
	rate     float64
}

// mono is Mono for a reader that caches the segment of the last stamp.
func (c *Clock) mono(s *segment, tsc uint64) int64 {
	if tsc < s.from || tsc >= s.to {
		*s = c.segment(tsc)
	}
	if tsc < s.from || tsc >= s.to {
		return c.Mono(tsc)
	}
	return min(saturate(s.ns, float64(tsc-s.from)*s.rate), s.end)
}

// segment returns the segment of a stamp; an empty one for a stamp outside the samples.
func (c *Clock) segment(tsc uint64) segment {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := sort.Search(len(c.nodes), func(k int) bool { return c.nodes[k].tsc > tsc }) - 1
	if i < 0 || i+1 >= len(c.nodes) {
		return segment{}
	}
	a, b := &c.nodes[i], &c.nodes[i+1]
	return segment{a.tsc, b.tsc, a.ns, b.top, a.rate}
}

// ahead returns the segment from the last sample to now, if it has the stamp. The next sample is consistent with all of it, as it is
// with a stamp that Mono has converted.
func (c *Clock) ahead(tsc uint64) segment {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, now := &c.nodes[len(c.nodes)-1], c.now()
	if tsc <= last.tsc || tsc > now {
		return segment{}
	}
	if now > c.seen {
		c.seen, c.seenNS = now, saturate(last.ns, float64(now-last.tsc)*last.rate)
	}
	return segment{last.tsc, c.seen + 1, last.ns, c.seenNS, last.rate}
}

// saturate adds with saturation, because stamps may come from a damaged record.
func saturate(ns int64, delta float64) int64 {
	sum := float64(ns) + delta
	if sum >= math.MaxInt64 || sum <= math.MinInt64 {
		return int64(math.Copysign(math.MaxInt64/2, sum))
	}
	return ns + int64(delta)
}

// Ticks converts a duration to TSC ticks by the latest rate.
func (c *Clock) Ticks(d time.Duration) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return uint64(float64(d) / c.nodes[len(c.nodes)-1].rate)
}

// Wall converts CLOCK_MONOTONIC nanoseconds to wall clock time, by the offset at the time when the Clock was
// made. Setting the clock during the trace has no effect.
func (c *Clock) Wall(mono int64) time.Time { return time.Unix(0, mono+c.wall) }

// WallOffset returns the offset added by Wall, in nanoseconds.
func (c *Clock) WallOffset() int64 { return c.wall }
