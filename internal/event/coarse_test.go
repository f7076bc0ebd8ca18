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

// TestCoarseClockLate: a stamp that is written long after its time leaves the one before to be read until then.
func TestCoarseClockLate(t *testing.T) {
	const late = 1 << 24 // ticks
	var first, lag atomic.Uint64
	var writes atomic.Int64
	c := StartCoarse(func(tsc uint64) error {
		switch writes.Add(1) {
		case 1:
			first.Store(tsc)
		case 2:
			for TSC()-tsc < late {
				continue
			}
			lag.Store(TSC() - first.Load())
		}
		return nil
	})
	for writes.Load() < 4 {
		time.Sleep(CoarsePeriod)
	}
	c.Stop()
	if early := c.Early(first.Load()); early < lag.Load() || c.Longest() < lag.Load() || lag.Load() < late {
		t.Errorf("the first stamp was read %d ticks after its time; Early is %d, Longest %d", lag.Load(), early, c.Longest())
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
