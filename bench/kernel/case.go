package main

import (
	"fmt"
	"strings"
)

// what is measured: a kind of tracepoint.
type what uint8

const (
	falseCond what = iota // a condition that does not hold
	data                  // two values recorded, no condition
	both                  // a condition that holds, and the two values
	empty                 // a program that does nothing
	numWhat
)

var whatNames = [numWhat]string{"false condition", "data", "condition and data", "empty program"}

// testCase is one figure: a tracer, a place, and what is measured.
type testCase struct {
	group  *group
	tracer string // column of the table
	what   what
	start  func() (tracing, error)

	ns   []float64 // per hit, one for each round
	seen seen
	busy []float64 // as ns, for rounds in which the machine was busy at every try
	note string    // reason if there is no figure
}

// group is one kind of place, measured with all tracers: a table.
type group struct {
	title string
	mode  string // of the workload
	notes []string
}

// tracing is a running tracer.
type tracing interface {
	// stop ends the tracer and returns its counts.
	stop() (seen, error)
}

// seen has the hits that a tracer counted; -1: not counted.
type seen struct{ hits, recorded, lost int64 }

func (c *testCase) name() string {
	return strings.Join([]string{c.group.title, c.tracer, whatNames[c.what]}, ": ")
}

// tries is how often a measurement is repeated while the machine is busy: other processes may use it or
// trace the same place.
const tries = 4

// measure adds the figure of a round to the case.
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
	// The host can disturb a guest at any time.
	if b.guest || quiet && steady && still {
		c.ns = append(c.ns, ns)
	} else {
		c.busy = append(c.busy, ns)
	}
}

// bare returns the median of the loop with nothing attached. The machine is quiet if the median is near the
// lowest that was ever measured.
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

// traced returns the median of the loop under the tracer of the case. It is steady if half of the batches
// lie close together.
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

// figures returns the figures of quiet rounds, or of busy rounds if there are no others.
func (c *testCase) figures() []float64 {
	if len(c.ns) > 0 {
		return c.ns
	}
	return c.busy
}

// check verifies that the tracer did what the case measures.
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

// unprinted returns how many of the loop's records may be missing. At its end bpftrace sometimes does not
// print the contents of its buffers.
func (c *testCase) unprinted(calls int64) int64 {
	if c.tracer == byBpftrace {
		return calls / 4
	}
	return 0
}
