package event

import (
	"slices"
	"sync"
	"time"
)

// CoarseClock writes the time stamp counter to memory again and again, for records that take their stamps from there.
type CoarseClock struct {
	mu      sync.Mutex
	written []uint64 // ascending; the oldest are dropped
	longest uint64   // time between two writes
	end     uint64   // when the last write ceased to be the newest, at Stop; 0: not stopped
	stop    chan struct{}
	done    chan struct{}
}

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
	if n := len(c.written); n > 0 {
		c.longest = max(c.longest, now-c.written[n-1])
	}
	if err := set(now); err != nil {
		return err
	}
	if len(c.written) == keptWrites {
		c.written = c.written[:copy(c.written, c.written[keptWrites/2:])]
	}
	c.written = append(c.written, now)
	return nil
}

// Last is the time that records get at present, or an earlier one.
func (c *CoarseClock) Last() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.written); n > 0 {
		return c.written[n-1]
	}
	return 0
}

// Early is how much earlier than its hit a stamp may be, in ticks.
func (c *CoarseClock) Early(stamp uint64) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, ok := slices.BinarySearch(c.written, stamp)
	if !ok || i == len(c.written)-1 {
		return c.worst()
	}
	return c.written[i+1] - stamp
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
		return max(c.longest, now-c.written[n-1])
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
