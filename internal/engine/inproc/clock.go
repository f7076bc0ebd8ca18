package session

import (
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/process"
)

// A program may forbid its threads to read the time stamp counter (prctl PR_SET_TSC, and
// strict seccomp). Records then get their time from the tracer: rdtsc raises a signal,
// which the tracer answers with its own counter, the same one. That is right, and slow.
//
// What happens when jalon is killed: programs compiled since it is known begin with the
// dead man's switch, and the handler of memory faults in the process sends a thread past
// an rdtsc that it has come to already.

const rdtscLen = 2

// onClock answers for an rdtsc of a hit program.
func (s *Session) onClock(_ int, pc uint64) (uint64, bool) {
	if _, ours := s.tables.get().clock[pc]; !ours {
		return 0, false
	}
	if s.foundNoTSC() && s.opt.breakpoints == nil { // forbidden since the sites were armed; a Run has no requests
		r := &request{s.protectClock, make(chan error, 1)}
		s.post.put(message{ev: ev{kind: evRequest}, req: r})
	}
	return event.TSC(), true
}

// foundNoTSC notes that the counter may not be read; first: it was not known.
func (s *Session) foundNoTSC() (first bool) {
	if first = s.noTSC.CompareAndSwap(false, true); first {
		s.warn("the program forbids reading the time stamp counter: each record takes a stop of its thread, of some 10 us")
	}
	return first
}

// protectClock installs the handler of memory faults for the hit programs that are there.
func (s *Session) protectClock() error {
	err := s.stopped(func(st *process.Stopped) error { return s.installFaults(st, nil) })
	s.trouble("protecting the program from the end of jalon", err)
	return err
}
