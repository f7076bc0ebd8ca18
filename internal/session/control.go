package session

// The life of a session is a pure function: handle takes a state and an event
// and gives the next state and the effects to carry out. It does no I/O, so its
// rules are tested with random sequences of events.

// phase is a phase in the life of a session.
type phase uint8

const (
	starting  phase = iota // the process is held; first sites are being made
	running                // the process runs; events are drained
	detaching              // sites are being taken back
	draining               // the process is gone or let go; the rest of the rings is read
	done
)

func (p phase) String() string {
	return [...]string{"starting", "running", "detaching", "draining", "done"}[p]
}

// state is all that the rules need to know.
type state struct {
	phase    phase
	launched bool // the process was started by us and has not reached main
	pending  int  // tracepoints without a site
	kernel   bool // the kernel engine has sites: exec does not end the session
	replaced bool // the program has called exec: nothing of ours is in it
	err      error
}

// evKind is what can happen to a session.
type evKind uint8

const (
	evArmed    evKind = iota // first arming finished: pending, err
	evModules                // the link map changed
	evRearmed                // arming after evModules finished: pending
	evExec                   // the process runs another program now
	evExit                   // the process is gone
	evStop                   // the user, a limit or an error ends the session: err
	evDetached               // effect detach finished
	evDrained                // effect drain finished
	evSignal                 // a signal waits until the program's code is its own again
	evRequest                // a request from another goroutine
)

type ev struct {
	kind    evKind
	pending int
	err     error
}

// effect is what the session does to the world; each comes back as an event or
// needs no answer.
type effect uint8

const (
	effResume  effect = iota // let the process run
	effRearm                 // forget places in modules that are gone, look for pending ones in new modules (evRearmed)
	effDetach                // take the sites back, let the process go (evDetached)
	effKill                  // end a process of ours that has not reached main
	effForget                // the code and the rings are gone with the old program
	effRelease               // let a process go that holds nothing of ours
	effDrain                 // read what is left in the rings (evDrained)
	effFinish                // summary, end
	effClear                 // put the bytes back that the signal's thread needs
	effAnswer                // carry out the request
	effRefuse                // say that the session is not running
)

// handle is the whole life of a session.
func handle(s state, e ev) (state, []effect) {
	if s.phase == done {
		return s, nil
	}
	switch e.kind {
	case evArmed:
		return armed(s, e)
	case evModules:
		if s.phase == running && !s.replaced {
			return s, []effect{effRearm}
		}
	case evRearmed:
		s.pending = e.pending
	case evExec:
		if s.phase == running && !s.replaced {
			s.replaced = true
			if s.launched || s.kernel { // its exit status, and the kernel's events, are still wanted
				return s, []effect{effForget}
			}
			s.phase = draining
			return s, []effect{effForget, effRelease, effDrain}
		}
	case evExit:
		if s.phase == starting || s.phase == running || s.phase == detaching {
			s.phase = draining
			return s, []effect{effDrain}
		}
	case evSignal:
		if s.phase == running && !s.replaced {
			return s, []effect{effClear}
		}
	case evRequest:
		if s.phase == running {
			return s, []effect{effAnswer}
		}
		return s, []effect{effRefuse}
	case evStop:
		return stopped(s, e)
	case evDetached:
		if s.phase == detaching {
			s.phase = draining
			return s, []effect{effDrain}
		}
	case evDrained:
		if s.phase == draining {
			s.phase = done
			return s, []effect{effFinish}
		}
	}
	return s, nil
}

// armed: the first sites are armed, or the request was wrong. In the latter case a program that jalon started
// has not run yet and is ended; an attached one is released.
func armed(s state, e ev) (state, []effect) {
	if s.phase != starting {
		return s, nil
	}
	s.pending = e.pending
	if e.err == nil {
		s.phase = running
		return s, []effect{effResume}
	}
	s.err = e.err
	s.phase = detaching
	if s.launched {
		return s, []effect{effKill, effDetach}
	}
	return s, []effect{effDetach}
}

func stopped(s state, e ev) (state, []effect) {
	if s.phase != starting && s.phase != running {
		return s, nil
	}
	if e.err != nil && s.err == nil {
		s.err = e.err
	}
	s.phase = detaching
	return s, []effect{effDetach}
}
