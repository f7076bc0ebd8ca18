package session

import "errors"

// Arming a glob of a large program can take seconds. Its long loops ask now and then
// whether the user has ended the session, and give errInterrupted up to begin.
//
// Each place that asks leaves what detach takes back: the plans that are made are not
// in the process yet, and a patch is in the list of those placed before its first byte
// is written.

// errInterrupted: the user ends the session while it is being armed.
var errInterrupted = errors.New("interrupted")

// interrupted is errInterrupted when the user has ended the session.
func (s *Session) interrupted() error {
	if s.ctx == nil || s.ctx.Err() == nil {
		return nil
	}
	return errInterrupted
}

// step is interrupted for item i of n of a long loop, and shows how far it is.
func (s *Session) step(what string, i, n int) error {
	if s.opt.Progress != nil && i%64 == 0 {
		s.opt.Progress(what, i, n)
	}
	return s.interrupted()
}

// endedEarly ends a session that the user has ended before it was armed. held waits.
func (s *Session) endedEarly(held int) bool {
	if s.interrupted() == nil {
		return false
	}
	s.warn("ended before the tracepoints were in place")
	s.dispatch(ev{kind: evStop}, held)
	return true
}
