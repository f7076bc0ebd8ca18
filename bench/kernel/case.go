package main

import (
	"fmt"
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

// tries is how often a measurement is repeated on a machine that is not quiet: others
// use it, or trace the same.
const tries = 4

// measure adds a round's figure to the case.
func (b *bench) measure(c *testCase) {
	before, quiet, err := b.bare(c.group.mode)
	if err != nil {
		c.note = err.Error()
		return
	}
	got, steady, err := b.traced(c)
	if err != nil {
		c.note = err.Error()
		return
	}
	after, still, err := b.bare(c.group.mode)
	if err != nil {
		c.note = err.Error()
		return
	}
	ns := got - (before+after)/2
	// A guest is at the mercy of its host at all times.
	if b.guest || quiet && steady && still {
		c.ns = append(c.ns, ns)
	} else {
		c.busy = append(c.busy, ns)
	}
}

// bare is the median of the loop with nothing attached. It is quiet when it is near
// the least that was ever measured.
func (b *bench) bare(mode string) (ns float64, quiet bool, err error) {
	for range tries {
		v, err := b.loop.run(mode, b.calls, b.batches/2+1)
		if err != nil {
			return 0, false, err
		}
		ns = median(v)
		if least, ok := b.least[mode]; !ok || ns < least {
			b.least[mode] = ns
		}
		if ns < 1.08*b.least[mode]+2 {
			return ns, true, nil
		}
	}
	return ns, false, nil
}

// traced is the median of the loop under the case's tracer. It is steady when half
// of the batches lie close together.
func (b *bench) traced(c *testCase) (ns float64, steady bool, err error) {
	tr, err := c.start()
	if err != nil {
		return 0, false, err
	}
	calls := int64(0)
	for range tries {
		var v []float64
		if v, err = b.loop.run(c.group.mode, b.calls, b.batches); err != nil {
			break
		}
		calls += int64(b.calls*b.batches + warmUp(b.calls))
		ns = median(v)
		if steady = quartiles(v) < 0.1*ns; steady || b.guest {
			break
		}
	}
	s, serr := tr.stop()
	if err == nil {
		err = serr
	}
	if err != nil {
		return 0, false, err
	}
	c.seen = s
	return ns, steady, c.check(s, calls)
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
