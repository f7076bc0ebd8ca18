package session

// The life of a session is a pure function: handle takes a state and an event and returns the next state
// and the effects to perform. It does no I/O, so its rules are tested with random sequences of events.

// phase is a phase in the life of a session.
type phase uint8

const (
	starting  phase = iota // the process is held; the first sites are being armed
	running                // the process runs; events are drained
	detaching              // sites are being removed
	draining               // the process has ended or is detached; the rest of the rings is read
	done
)

func (p phase) String() string {
	return [...]string{"starting", "running", "detaching", "draining", "done"}[p]
}

// state is the information that the rules use.
type state struct {
	phase    phase
	launched bool // jalon started the process, which has not reached main
	pending  int  // tracepoints without a site
	kernel   bool // the kernel engine has sites: exec does not end the session
	replaced bool // the program has called exec: it has no code of jalon
	err      error
}

// evKind is a kind of event of a session.
type evKind uint8

const (
	evArmed    evKind = iota // first arming finished: pending, err
	evModules                // the link map changed
	evRearmed                // arming after evModules finished: pending
	evExec                   // the process has called exec
	evExit                   // the process has ended
	evStop                   // the user, a limit or an error ends the session: err
	evDetached               // effect detach finished
	evDrained                // effect drain finished
	evSignal                 // a signal waits until the program's own code is restored
	evRequest                // a request from another goroutine
)

type ev struct {
	kind    evKind
	pending int
	err     error
}

// effect is an action of the session; each is followed by an event, or needs none.
type effect uint8

const (
	effResume  effect = iota // let the process run
	effRearm                 // drop sites in unloaded modules, resolve pending tracepoints in new ones (evRearmed)
	effDetach                // remove the sites and detach from the process (evDetached)
	effKill                  // kill a process that jalon started and that has not reached main
	effForget                // drop the code and the rings of the old program
	effRelease               // detach from a process that has no code of jalon
	effDrain                 // read the remaining records (evDrained)
	effFinish                // make the summary and end
	effClear                 // restore the code that the signal's thread needs
	effServe                 // serve the request
	effRefuse                // refuse the request: the session is not running
)

// handle has all rules of the life of a session.
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
			if s.launched || s.kernel { // its exit status and the events of the kernel are still needed
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
			return s, []effect{effServe}
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
