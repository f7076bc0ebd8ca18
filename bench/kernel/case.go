package main

import (
	"fmt"
	"math"
	"strings"
)

// what is measured of a tracer at a place.
type what uint8

const (
	falseCond what = iota // a condition that does not hold
	data                  // two values recorded, no condition
	both                  // a condition that holds, and the two values
	empty                 // a program that does nothing
	numWhat
)

var whatNames = [numWhat]string{"false condition", "data", "condition and data", "empty program"}

// testCase is one figure.
type testCase struct {
	group  *group
	tracer string // name of the column
	what   what
	start  func() (tracing, error)

	ns   []float64 // per hit, one a round
	seen seen
	busy []float64 // as ns, of rounds in which the machine was not quiet at any try
	note string    // why there is no figure
}

// group is one kind of place, tried by all tracers: a table.
type group struct {
	title string
	mode  string // of the workload
	notes []string
}

// tracing is a tracer at work.
type tracing interface {
	// stop ends it and says what it saw.
	stop() (seen, error)
}

// seen is what a tracer says of the hits; -1: it does not say.
type seen struct{ hits, recorded, lost int64 }

func (c *testCase) name() string {
	return strings.Join([]string{c.group.title, c.tracer, whatNames[c.what]}, ": ")
}

// tries is how often a measurement is repeated in which the bare loop did not take
// the same time before and after, or the batches varied: others used the machine, or
// traced it.
const tries = 4

// measure adds a round's figure to the case.
func (b *bench) measure(c *testCase) {
	last := math.NaN()
	for range tries {
		ns, steady, err := b.once(c)
		if err != nil {
			c.note = err.Error()
			return
		}
		if steady {
			c.ns = append(c.ns, ns)
			return
		}
		last = ns
	}
	c.busy = append(c.busy, last)
}

// once measures a case between two measurements of the bare loop.
func (b *bench) once(c *testCase) (ns float64, steady bool, err error) {
	bare, err := b.loop.run(c.group.mode, b.calls, b.batches/2+1)
	if err != nil {
		return 0, false, err
	}
	tr, err := c.start()
	if err != nil {
		return 0, false, err
	}
	got, err := b.loop.run(c.group.mode, b.calls, b.batches)
	s, serr := tr.stop()
	if err == nil {
		err = serr
	}
	if err != nil {
		return 0, false, err
	}
	again, err := b.loop.run(c.group.mode, b.calls, b.batches/2+1)
	if err != nil {
		return 0, false, err
	}
	c.seen = s
	before, after := median(bare), median(again)
	diff := before - after
	if diff < 0 {
		diff = -diff
	}
	// A guest is at the mercy of its host at all times.
	steady = b.guest || (diff < 0.06*before || diff < 3) && quartiles(got) < 0.1*median(got)
	return median(got) - (before+after)/2, steady, c.check(s, int64(b.calls*b.batches+warmUp(b.calls)))
}

// figures are those of quiet rounds; of busy ones where there are no others.
func (c *testCase) figures() []float64 {
	if len(c.ns) > 0 {
		return c.ns
	}
	return c.busy
}

// check holds that the tracer did what it is measured for.
func (c *testCase) check(s seen, calls int64) error {
	switch {
	case c.what == empty:
		return nil
	case s.hits >= 0 && s.hits < calls:
		return fmt.Errorf("%d calls, but it saw %d hits", calls, s.hits)
	case c.what == falseCond && s.recorded > 0:
		return fmt.Errorf("%d records with a false condition", s.recorded)
	case c.what != falseCond && s.recorded >= 0 && s.recorded+max(s.lost, 0) < calls-c.unprinted(calls):
		return fmt.Errorf("%d calls, but %d records and %d lost", calls, s.recorded, s.lost)
	}
	return nil
}

// unprinted is how many records may be missing of those that the loop made.
// bpftrace prints what is in its buffers at its end or not, as it happens.
func (c *testCase) unprinted(calls int64) int64 {
	if c.tracer == byBpftrace {
		return calls / 4
	}
	return 0
}
