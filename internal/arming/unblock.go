package arming

import (
	"time"
)

// unblocking is how it is found out that a record which blocks a ring will not be completed:
//
//  1. A ring has been blocked for some time. Then seen is empty, since is now, and it is noted what is reserved.
//  2. All threads are stopped for a moment. Those that are not in a hit, and in no handler of a signal that interrupted
//     one, are added to seen: they have completed, or left, all hits that they began before since. So it goes on, ever
//     more rarely, with the other threads.
//  3. All threads have been seen: what was reserved at since and is not complete has no writer, and the reader skips
//     it. If no thread is in a hit at that stop, the same holds for all that is reserved then.
//
// If the ring goes on by itself, its writer was not scheduled. A handler that switches to another context and comes back
// to the hit much later writes to a record that others have taken; no program is known that does.
type unblocking struct {
	since, next time.Time
	delay       time.Duration
	seen        map[int]bool // by thread
	found       bool         // a record was skipped before: the program does such things
}

const (
	blockedFor   = 300 * time.Millisecond // a thread on a busy machine waits less, mostly
	blockedAgain = 20 * time.Millisecond
	leastDelay   = 5 * time.Millisecond
	mostDelay    = 5 * time.Second
)

// Unblock lets the reader go on behind records that threads have left for good.
func (a *Process) Unblock() error {
	u, now := &a.unblock, time.Now()
	if a.Source == nil || a.Process == nil {
		return nil
	}
	if u.seen == nil {
		after := blockedFor
		if u.found {
			after = blockedAgain
		}
		if !a.Records.Drain.Blocked(a.Source, now.Add(-after)) {
			return nil
		}
		u.since, u.next, u.delay, u.seen = now, now, leastDelay, map[int]bool{}
		a.Records.Drain.Begun(a.Source)
	}
	if now.Before(u.next) {
		return nil
	}
	if !a.Records.Drain.Blocked(a.Source, u.since) {
		u.seen = nil
		return nil
	}
	all, err := a.Engine.Outside(u.seen, func(quiet bool) error { return a.Records.Drain.Left(a.Source, quiet) })
	if u.delay = min(2*u.delay, mostDelay); all || err != nil {
		u.found, u.seen = u.found || err == nil, nil
	}
	u.next = time.Now().Add(u.delay)
	if IsEnd(err) {
		err = nil
	}
	return err
}
