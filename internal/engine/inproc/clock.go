package inproc

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

// Clock is the process's callback OnClock: it gives the value of an rdtsc of a hit program.
func (e *Engine) Clock(_ int, pc uint64) (uint64, bool) {
	if _, ours := e.tables.get().clock[pc]; !ours {
		return 0, false
	}
	if e.foundNoTSC() && e.opt.OnNoClock != nil { // forbidden since the sites were armed
		e.opt.OnNoClock()
	}
	return event.TSC(), true
}

// foundNoTSC notes that the counter may not be read; first: it was not known.
func (e *Engine) foundNoTSC() (first bool) {
	if first = e.noTSC.CompareAndSwap(false, true); first {
		e.warn("the program forbids reading the time stamp counter: each record takes a stop of its thread, of some 10 us")
	}
	return first
}

// ProtectClock installs the handler of memory faults for the hit programs that are there.
func (e *Engine) ProtectClock() error {
	err := e.stopped(func(st *process.Stopped) error { return e.installFaults(st, nil) })
	e.trouble("protecting the program from the end of jalon", err)
	return err
}
