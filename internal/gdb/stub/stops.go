package stub

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// How stops reach GDB. The target reports each once, and take puts it into pending. It
// stays there until it may be sent. In all-stop mode that is one stop when GDB waits for a
// reply, and the others when GDB resumes their threads; in non-stop mode it is when GDB has
// resumed the thread.

// reporter decides which stop GDB gets, and when.
type reporter struct {
	*core
	backlog     *backlog
	roster      *roster
	breakpoints *breakpoints
	replier     *replier
	count       int  // of the stops that were sent
	ended       Stop // the last process that ended
	owed        bool // all-stop: a stop is the answer to what GDB sent last
	late        bool // all-stop: an interrupt that was not reported: it is for the next resumption
	// forward: GDB has left and the target goes on: stops are answered at once.
	forward bool
}

func newReporter(m *Machine) *reporter {
	return &reporter{
		core: m.core, backlog: m.backlog, roster: m.roster, breakpoints: m.breakpoints, replier: m.replier,
		ended: Stop{Kind: StopExited},
	}
}

func (x *reporter) reset() { x.owed, x.late = false, false }

// collect takes the events that were not delivered yet.
func (x *reporter) collect() {
	for {
		select {
		case s, ok := <-x.target.Events():
			if !ok {
				return
			}
			x.take(s)
		default:
			return
		}
	}
}

// take notes a stop.
func (x *reporter) take(s Stop) {
	switch {
	case s.Kind == StopExited || s.Kind == StopKilled:
		x.processGone(s)
	case s.Kind == StopNoResumed && x.anyResumed():
		return
	case ofThread(s) && !x.noteStop(&s):
		return
	}
	x.backlog.pending = append(x.backlog.pending, s)
}

// anyResumed reports whether a thread is left that GDB has resumed.
func (x *reporter) anyResumed() bool {
	x.roster.sync()
	for _, t := range x.roster.threads {
		if t.resumed {
			return true
		}
	}
	return x.backlog.exitPending()
}

// noteStop notes that a thread is stopped; it is false if there is nothing to report.
func (x *reporter) noteStop(s *Stop) bool {
	t := x.roster.threads[s.Thread]
	if t == nil {
		x.roster.sync()
		if t = x.roster.threads[s.Thread]; t == nil {
			return false // it has ended already
		}
		t.resumed = true // it was born running
	}
	if s.Kind == StopHalted {
		if t.stopped {
			return false // another stop, or HaltAll, came first
		}
		if t.interrupt {
			*s = Stop{Kind: StopSignal, Thread: s.Thread, Signal: sigInt}
		}
	}
	t.stopped, t.halting, t.interrupt = true, false, false
	t.why = *s
	switch s.Kind {
	case StopForked, StopVForked:
		x.roster.sync()
		if c := x.roster.threads[s.Child]; c != nil {
			c.stopped, c.resumed = true, false
		}
		x.breakpoints.copy(s.Thread.PID, s.Child.PID)
	case StopExec:
		t.resumed = anyOf(x.resumed(), s.Thread.PID) // the caller may have been another
		x.roster.sync()
		x.breakpoints.forget(s.Thread.PID)
	}
	return true
}

// processGone drops a process and the pending events of its threads.
func (x *reporter) processGone(s Stop) {
	if s.Kind == StopExited {
		x.log(fmt.Sprintf("\nChild exited with status %d", s.Code))
	} else {
		x.log(fmt.Sprintf("\nChild terminated with signal = %#x (%s)", gdbSignal(s.Signal), signalName(s.Signal)))
	}
	x.ended = s
	x.forgetProcess(s.Thread.PID)
	x.roster.sync()
}

func (x *reporter) forgetProcess(pid int) {
	x.breakpoints.forget(pid)
	other := func(s Stop) bool { return s.Thread.PID != pid || !ofThread(s) }
	x.backlog.filter(other)
	for id, t := range x.roster.threads {
		switch {
		case id.PID == pid:
			delete(x.roster.threads, id)
		case t.why.Child.PID == pid && !x.backlog.hasPending(id) && !x.backlog.unsent(id):
			// A new GDB that received the fork would look for the child.
			t.why = Stop{Kind: StopHalted, Thread: id}
		}
	}
}

// begun sets the stop of a process that was launched or attached to: a trap, as in
// gdbserver, which GDB does not take for an event of the program.
func (x *reporter) begun(s Stop) {
	x.late = false // an interrupt was for what ran before
	x.roster.sync()
	if s.Kind == StopHalted || s.Kind == StopSignal && s.Signal == sigStop {
		s = Stop{Kind: StopSignal, Thread: s.Thread, Signal: sigTrap}
	}
	for id, t := range x.roster.threads {
		if id.PID == s.Thread.PID {
			t.stopped, t.resumed = true, false
		}
	}
	if t := x.roster.threads[s.Thread]; t != nil {
		t.why = s
		x.roster.last = s.Thread
	}
}

// wanted reports whether GDB waits for a stop.
func (x *reporter) wanted(s Stop) bool {
	if !ofThread(s) {
		return true
	}
	t := x.roster.threads[s.Thread]
	return t != nil && t.resumed
}

// announce moves reportable stops to the queue of non-stop mode.
func (x *reporter) announce() {
	empty := len(x.backlog.queue) == 0
	var rest []Stop
	for _, s := range x.backlog.pending {
		switch {
		case s.Kind == StopNoResumed && !x.offers["no-resumed"]:
		case x.wanted(s):
			if t := x.roster.threads[s.Thread]; t != nil {
				t.resumed = false
			}
			x.backlog.queue = append(x.backlog.queue, s)
		default:
			rest = append(rest, s)
		}
	}
	x.backlog.pending = rest
	if empty {
		x.notify()
	}
}

// notify sends the first of the queue.
func (x *reporter) notify() {
	if len(x.backlog.queue) > 0 {
		x.emit(Out{Kind: OutNotify, Payload: rsp.StopNotification(x.replier.stopReply(x.backlog.queue[0]))})
		x.noteReported(x.backlog.queue[0])
	}
}

// noteReported notes the thread whose stop was sent last.
func (x *reporter) noteReported(s Stop) {
	if s.Thread.TID == 0 {
		return
	}
	x.roster.last = s.Thread
	x.count++
	if t := x.roster.threads[s.Thread]; t != nil {
		t.reported = x.count
	}
}

// haltAll stops all threads and keeps their pending events.
func (x *reporter) haltAll() {
	if x.caps.Kernel {
		return
	}
	stops, err := x.target.HaltAll()
	if err != nil {
		x.log("stop all threads: " + err.Error())
	}
	x.collect() // in the order of time: what came before the halt
	for _, s := range stops {
		x.take(s)
	}
	x.roster.sync()
	for _, t := range x.roster.threads {
		if !t.stopped {
			t.stopped = true
			t.why = Stop{Kind: StopHalted, Thread: t.id}
		}
		t.resumed, t.halting, t.interrupt = false, false, false
	}
}
