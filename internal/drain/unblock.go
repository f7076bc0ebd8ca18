package drain

import "time"

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

// Unblock lets the reader go on behind records of an engine in a process that threads have left for good. It is to be
// called again and again. outside is the engine's: it stops all threads, adds those that are in no hit to seen, and calls f
// meanwhile if each has been since seen was empty.
func (d *Drain) Unblock(src *Source, outside func(seen map[int]bool, f func(quiet bool) error) (all bool, err error)) error {
	u, now := &src.unblocking, time.Now()
	if u.seen == nil {
		after := blockedFor
		if u.found {
			after = blockedAgain
		}
		if !d.isBlocked(src, now.Add(-after)) {
			return nil
		}
		*u = unblocking{since: now, next: now, delay: leastDelay, seen: map[int]bool{}, found: u.found}
		d.begun(src)
	}
	if now.Before(u.next) {
		return nil
	}
	if !d.isBlocked(src, u.since) {
		u.seen = nil
		return nil
	}
	all, err := outside(u.seen, func(quiet bool) error { return d.left(src, quiet) })
	if u.delay = min(2*u.delay, mostDelay); all || err != nil {
		u.found, u.seen = u.found || err == nil, nil
	}
	u.next = time.Now().Add(u.delay)
	return err
}
