package drain

import "github.com/jalon-trace/jalon/internal/event"

// Each ring that is overwritten has its own newest events. A thread that moves between CPUs leaves older ones in one ring than another has, so
// that they have gaps. All events are there from the latest time on before which something is missing in a ring.

// Completer is a Sink that needs the time from which on it gets all events that the rings have had.
type Completer interface {
	// CompleteFrom is called before the events of a snapshot, and again behind them if the time is later than was known. from is
	// CLOCK_MONOTONIC in nanoseconds. gaps: events before it are missing; otherwise the snapshot before has them.
	CompleteFrom(from int64, gaps bool) error
}

// whole is from which time on a snapshot has all events.
type whole struct {
	from int64 // 0: all that came
	gaps bool  // events before it are missing
}

// completion finds from which time on snapshots have all events.
type completion struct {
	clock *event.Clock
	sink  Completer // nil: it does not need it
	// before and now are when the rings had been copied for the last two snapshots, CLOCK_MONOTONIC; 0: they were not.
	before, now int64
	from        int64 // of all snapshots together; 0: nothing is missing
}

func newCompletion(clock *event.Clock, sink Sink) completion {
	to, _ := sink.(Completer)
	return completion{clock: clock, sink: to}
}

// copied notes that the rings have been copied.
func (c *completion) copied() { c.before, c.now = c.now, event.Monotonic() }

// report passes on to the sink what is known of the snapshot of rings, if that is not what was reported last.
func (c *completion) report(rings []overwritten, last *whole) error {
	w := whole{from: c.before}
	for i := range rings {
		if stamp, some := rings[i].snap.Missing(); some {
			w.from, w.gaps = max(w.from, c.time(rings[i].src, stamp)), true
		}
	}
	if w == *last || w.from == 0 {
		return nil
	}
	if *last = w; w.gaps {
		c.from = max(c.from, w.from)
	}
	if c.sink == nil {
		return nil
	}
	return c.sink.CompleteFrom(w.from, w.gaps)
}

// time is the earliest time behind all events with stamps before one of a snapshot, but not later than that was taken.
func (c *completion) time(src *Source, stamp uint64) int64 {
	switch {
	case stamp == ^uint64(0):
		return c.now
	case src.Kernel:
		return int64(min(stamp, uint64(c.now)))
	}
	at := c.clock.Mono(stamp)
	if src.coarse != nil {
		at++ // older events have the same stamp
	}
	return min(at, c.now)
}

// From is from which time on all events of rings that are overwritten have been shown, CLOCK_MONOTONIC in nanoseconds; 0: all that ever came.
func (c *completion) From() int64 { return c.from }
