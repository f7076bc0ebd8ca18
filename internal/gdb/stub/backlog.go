package stub

// backlog are the stops of which GDB does not know yet, or has not said so.
type backlog struct {
	pending   []Stop // not reported, in the order of arrival
	queue     []Stop // non-stop: to be fetched with vStopped; the first was sent
	firstOnly bool   // the rest of the queue is sent as a new notification
}

// reset takes the queue back: the GDB that it was for has gone, or changes the mode.
func (x *backlog) reset() {
	x.pending = append(eventsOf(x.queue), x.pending...)
	x.queue, x.firstOnly = nil, false
}

// filter drops stops that are not wanted, but for the one that was sent.
func (x *backlog) filter(want func(Stop) bool) {
	x.pending = keep(x.pending, want)
	if len(x.queue) > 0 {
		x.queue = append(x.queue[:1], keep(x.queue[1:], want)...)
	}
}

// ofThread reports whether a stop is of a stopped thread, not of one that has ended.
func ofThread(s Stop) bool {
	switch s.Kind {
	case StopThreadExit, StopExited, StopKilled, StopNoResumed:
		return false
	}
	return true
}

// keep filters in place.
func keep(list []Stop, want func(Stop) bool) []Stop {
	out := list[:0]
	for _, s := range list {
		if want(s) {
			out = append(out, s)
		}
	}
	return out
}

// eventsOf removes from a list the threads that are stopped only at GDB's request.
func eventsOf(list []Stop) []Stop {
	return keep(list, func(s Stop) bool { return s.Kind != StopHalted })
}

// drop removes one pending stop.
func (x *backlog) drop(s Stop) {
	for i := range x.pending {
		if x.pending[i] == s {
			x.pending = append(x.pending[:i], x.pending[i+1:]...)
			return
		}
	}
}

func (x *backlog) hasPending(id ThreadID) bool {
	for _, s := range x.pending {
		if s.Thread == id && ofThread(s) {
			return true
		}
	}
	return false
}

// queued reports whether a thread's stop waits until GDB fetches it.
func (x *backlog) queued(id ThreadID) bool {
	for _, s := range x.queue {
		if s.Thread == id && ofThread(s) {
			return true
		}
	}
	return false
}

// unsent reports whether a thread's stop is in the queue and was not sent yet; the first one was.
func (x *backlog) unsent(id ThreadID) bool {
	for i, s := range x.queue {
		if i > 0 && s.Thread == id && ofThread(s) {
			return true
		}
	}
	return false
}

func (x *backlog) exitPending() bool {
	for _, s := range x.pending {
		if !ofThread(s) {
			return true
		}
	}
	return false
}

// unreportedChildren are the children whose fork was not reported to GDB yet, with their
// parents: no action of GDB's applies to them.
func (x *backlog) unreportedChildren() map[ThreadID]int {
	list := map[ThreadID]int{}
	for _, stops := range [][]Stop{x.pending, x.queue} {
		for _, s := range stops {
			if s.Kind == StopForked || s.Kind == StopVForked {
				list[s.Child] = s.Thread.PID
			}
		}
	}
	return list
}
