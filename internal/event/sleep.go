package event

import (
	"errors"

	"github.com/jalon-trace/jalon/internal/procdir"
)

// While the machine sleeps, CLOCK_MONOTONIC stands still. The TSC goes on, stands still too, or begins again at zero, depending on the
// processor and on the kind of sleep.
//
//	ns                              s: the last sample before    e: the first sample behind
//	      |        /      /e        Between them the clock has gone on by e.ns-s.ns, the time for which the machine was awake. A stamp that is
//	      |       /      /          no farther than that behind s is from before the sleep, on the line from s; one that is no farther
//	      |     s/      /           before e is from behind it, on the line to e. No stamps are between, since processes are frozen.
//	      |____________________ TSC

// sleepTime is for how long the machine has slept since it was started: CLOCK_BOOTTIME less CLOCK_MONOTONIC. They are read one after
// another, so that it is known to be in a range only.
type sleepTime struct{ least, most int64 }

// readSleep reads the sleepTime by the narrowest of some readings.
func readSleep() (best sleepTime) {
	for i := range 3 {
		before := procdir.Monotonic()
		boot := procdir.Boottime()
		s := sleepTime{boot - procdir.Monotonic(), boot - before}
		if i == 0 || s.most-s.least < best.most-best.least {
			best = s
		}
	}
	return best
}

// errCounterReset: stamps of before and after the sleep cannot be distinguished.
var errCounterReset = errors.New("the machine has slept, and the processor's time stamp counter was reset meanwhile: hits in programs have no times any more")

// sleeps reports whether the machine has slept since the last sample; tsc is the counter now.
func (c *Clock) sleeps(last *node, tsc uint64) (bool, error) {
	if c.sleep == nil {
		return false, nil
	}
	now := c.sleep()
	if now.least <= c.asleep.most {
		c.asleep.least, c.asleep.most = max(c.asleep.least, now.least), min(c.asleep.most, now.most)
		return false, nil
	}
	c.asleep = now
	if tsc <= last.tsc {
		return false, errCounterReset
	}
	return true, nil
}

// leastSleep is the shortest sleep that matters, in nanoseconds.
const leastSleep = 1000

// over adds the segments from a node up to the first sample behind a sleep. It reports false if the counter has stood still too: there is
// one line then, as without a sleep.
func (c *Clock) over(from node, tsc uint64, ns int64) bool {
	all, awake := float64(tsc-from.tsc), float64(max(ns-from.ns, 0))/from.rate
	if (all-awake)*from.rate < max(leastSleep, float64(ns-from.ns)/1000) { // the rate may be off by 1000 ppm
		return false
	}
	back := min(awake, all/2) // ticks before the sample; a sleep shorter than the time around it is taken to be in its middle
	begin := node{tsc - uint64(back), max(from.ns, ns-int64(back*from.rate)), from.rate, ns}
	c.nodes = append(c.nodes, begin, node{tsc, ns, from.rate, ns})
	c.seen = 0
	return true
}
