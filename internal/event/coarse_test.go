package event

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

// TestCoarseClock: what is written ascends, and no time between two writes is longer than Longest.
func TestCoarseClock(t *testing.T) {
	var writes atomic.Int64
	var last, longest uint64
	c := StartCoarse(func(tsc uint64) error {
		if writes.Add(1) > 1 {
			longest = max(longest, tsc-last)
		}
		if tsc < last {
			t.Errorf("%d after %d", tsc, last)
		}
		last = tsc
		return nil
	})
	for writes.Load() < 20 {
		time.Sleep(CoarsePeriod)
	}
	c.Stop()
	c.Stop()
	if stopped := c.Longest(); c.Last() != last || stopped < longest || c.Longest() != stopped {
		t.Errorf("last %d, is %d; longest %d, is %d", last, c.Last(), longest, c.Longest())
	}
}

// TestCoarseClockError: memory that cannot be written ends the writing; stamps become ever older.
func TestCoarseClockError(t *testing.T) {
	var writes atomic.Int64
	c := StartCoarse(func(uint64) error {
		if writes.Add(1) == 3 {
			return errors.New("no memory")
		}
		return nil
	})
	<-c.done
	for before := c.Longest(); c.Longest() <= before; {
		time.Sleep(CoarsePeriod)
	}
	if n := writes.Load(); n != 3 {
		t.Errorf("%d writes", n)
	}
	c.Stop()
}
