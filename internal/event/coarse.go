package event

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// CoarseClock writes the time stamp counter to memory again and again, for records that take their stamps from there.
type CoarseClock struct {
	mu      sync.Mutex
	written []coarseWrite // ascending; the oldest are dropped
	longest uint64        // that one could be read after its time
	end     uint64        // when the last write ceased to be the newest, at Stop; 0: not stopped
	stop    chan struct{}
	done    chan struct{}
}

// coarseWrite is a stamp that was written. until is when the next one had been written for certain, because a thread may lose its CPU
// between taking the time and writing it; 0: it is the newest.
type coarseWrite struct{ at, until uint64 }

// CoarsePeriod is how often a CoarseClock is meant to write.
const CoarsePeriod = time.Millisecond

// keptWrites is how many writes are remembered: some seconds.
const keptWrites = 1 << 13

// StartCoarse writes the time by set from now on, until Stop. The first error of set ends the writing.
func StartCoarse(set func(tsc uint64) error) *CoarseClock {
	c := &CoarseClock{stop: make(chan struct{}), done: make(chan struct{})}
	err := c.write(set)
	go func() {
		defer close(c.done)
		tick := time.NewTicker(CoarsePeriod)
		defer tick.Stop()
		for err == nil {
			select {
			case <-tick.C:
				err = c.write(set)
			case <-c.stop:
				return
			}
		}
	}()
	return c
}

// write writes the time. It is noted before it can be read.
func (c *CoarseClock) write(set func(tsc uint64) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := TSC()
	if err := set(now); err != nil {
		return err
	}
	if n := len(c.written); n > 0 {
		last := &c.written[n-1]
		last.until = TSC()
		c.longest = max(c.longest, last.until-last.at)
	}
	if len(c.written) == keptWrites {
		c.written = c.written[:copy(c.written, c.written[keptWrites/2:])]
	}
	c.written = append(c.written, coarseWrite{at: now})
	return nil
}

// Last is the time that records get at present, or an earlier one.
func (c *CoarseClock) Last() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.written); n > 0 {
		return c.written[n-1].at
	}
	return 0
}

// Early is how much earlier than its hit a stamp may be, in ticks.
func (c *CoarseClock) Early(stamp uint64) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, ok := slices.BinarySearchFunc(c.written, stamp, func(w coarseWrite, stamp uint64) int { return cmp.Compare(w.at, stamp) })
	if !ok || i == len(c.written)-1 {
		return c.worst()
	}
	return c.written[i].until - stamp
}

// Longest is how much earlier than its hit a stamp may be at most, in ticks.
func (c *CoarseClock) Longest() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.worst()
}

func (c *CoarseClock) worst() uint64 {
	now := c.end
	if now == 0 {
		now = TSC()
	}
	if n := len(c.written); n > 0 {
		return max(c.longest, now-c.written[n-1].at)
	}
	return now
}

// Stop ends the writing: the memory may be unmapped.
func (c *CoarseClock) Stop() {
	c.mu.Lock()
	again := c.end != 0
	if !again {
		c.end = TSC()
	}
	c.mu.Unlock()
	if !again {
		close(c.stop)
	}
	<-c.done
}
