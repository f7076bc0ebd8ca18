package stub

import (
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// How stops reach GDB. The target reports each once, and take puts it into pending. It
// stays there until it may be sent. In all-stop mode that is one stop when GDB waits for a
// reply, and the others when GDB resumes their threads; in non-stop mode it is when GDB has
// resumed the thread.

// collect takes the events that were not delivered yet.
func (m *Machine) collect() {
	for {
		select {
		case s, ok := <-m.target.Events():
			if !ok {
				return
			}
			m.take(s)
		default:
			return
		}
	}
}

// take notes a stop.
func (m *Machine) take(s Stop) {
	switch {
	case s.Kind == StopExited || s.Kind == StopKilled:
		m.processGone(s)
	case s.Kind == StopNoResumed && m.anyResumed():
		return
	case ofThread(s) && !m.noteStop(&s):
		return
	}
	m.pending = append(m.pending, s)
}

// anyResumed says that a thread that GDB wants to run is left.
func (m *Machine) anyResumed() bool {
	m.sync()
	for _, t := range m.threads {
		if t.resumed {
			return true
		}
	}
	return m.exitPending()
}

// noteStop notes that a thread is stopped; it is false if there is nothing to report.
func (m *Machine) noteStop(s *Stop) bool {
	t := m.threads[s.Thread]
	if t == nil {
		m.sync()
		if t = m.threads[s.Thread]; t == nil {
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
		m.sync()
		if c := m.threads[s.Child]; c != nil {
			c.stopped, c.resumed = true, false
		}
		m.copyBreaks(s.Thread.PID, s.Child.PID)
	case StopExec:
		t.resumed = anyOf(m.resumed(), s.Thread.PID) // the caller may have been another
		m.sync()
		m.forgetBreaks(s.Thread.PID)
	}
	return true
}

// processGone drops a process and the pending events of its threads.
func (m *Machine) processGone(s Stop) {
	if s.Kind == StopExited {
		m.log(fmt.Sprintf("\nChild exited with status %d", s.Code))
	} else {
		m.log(fmt.Sprintf("\nChild terminated with signal = %#x (%s)", gdbSignal(s.Signal), signalName(s.Signal)))
	}
	m.ended = s
	m.forgetProcess(s.Thread.PID)
	m.sync()
}

func (m *Machine) forgetProcess(pid int) {
	m.forgetBreaks(pid)
	other := func(s Stop) bool { return s.Thread.PID != pid || !ofThread(s) }
	m.pending = keep(m.pending, other)
	if len(m.queue) > 0 {
		m.queue = append(m.queue[:1], keep(m.queue[1:], other)...)
	}
	for id, t := range m.threads {
		switch {
		case id.PID == pid:
			delete(m.threads, id)
		case t.why.Child.PID == pid && !m.hasPending(id):
			// A new GDB that received the fork would look for the child.
			t.why = Stop{Kind: StopHalted, Thread: id}
		}
	}
}

// begun sets the stop of a process that was launched or attached to: a trap, as in
// gdbserver, which GDB does not take for an event of the program.
func (m *Machine) begun(s Stop) {
	m.late = false // an interrupt was for what ran before
	m.sync()
	if s.Kind == StopHalted || s.Kind == StopSignal && s.Signal == sigStop {
		s = Stop{Kind: StopSignal, Thread: s.Thread, Signal: sigTrap}
	}
	for id, t := range m.threads {
		if id.PID == s.Thread.PID {
			t.stopped, t.resumed = true, false
		}
	}
	if t := m.threads[s.Thread]; t != nil {
		t.why = s
		m.last = s.Thread
	}
}

// wanted says whether GDB waits for a stop.
func (m *Machine) wanted(s Stop) bool {
	if !ofThread(s) {
		return true
	}
	t := m.threads[s.Thread]
	return t != nil && t.resumed
}

// settle reports the events that may be reported now.
func (m *Machine) settle() {
	if len(m.pending) > 0 && !m.owed {
		m.sync() // some may have ended; tell notices that itself
	}
	switch {
	case m.forward:
		m.passOn()
	case !m.connected:
	case m.nonStop:
		m.announce()
	case m.owed && slices.ContainsFunc(m.pending, m.wanted):
		m.halt(0)
	}
}

// announce moves reportable stops to the queue of non-stop mode.
func (m *Machine) announce() {
	empty := len(m.queue) == 0
	var rest []Stop
	for _, s := range m.pending {
		switch {
		case s.Kind == StopNoResumed && !m.offers["no-resumed"]:
		case m.wanted(s):
			if t := m.threads[s.Thread]; t != nil {
				t.resumed = false
			}
			m.queue = append(m.queue, s)
		default:
			rest = append(rest, s)
		}
	}
	m.pending = rest
	if empty {
		m.notify()
	}
}

// notify sends the first of the queue.
func (m *Machine) notify() {
	if len(m.queue) > 0 {
		m.emit(Out{Kind: OutNotify, Payload: rsp.StopNotification(m.stopReply(m.queue[0]))})
		m.noteReported(m.queue[0])
	}
}

// noteReported notes the thread whose stop was sent last.
func (m *Machine) noteReported(s Stop) {
	if s.Thread.TID == 0 {
		return
	}
	m.last = s.Thread
	m.reports++
	if t := m.threads[s.Thread]; t != nil {
		t.reported = m.reports
	}
}

// eventsOf removes from a list the threads that are stopped only at GDB's request.
func eventsOf(list []Stop) []Stop {
	return keep(list, func(s Stop) bool { return s.Kind != StopHalted })
}

// drop removes one pending stop.
func (m *Machine) drop(s Stop) {
	for i := range m.pending {
		if m.pending[i] == s {
			m.pending = append(m.pending[:i], m.pending[i+1:]...)
			return
		}
	}
}

// haltAll stops all threads and keeps their pending events.
func (m *Machine) haltAll() {
	if m.caps.Kernel {
		return
	}
	stops, err := m.target.HaltAll()
	if err != nil {
		m.log("stop all threads: " + err.Error())
	}
	m.collect() // in the order of time: what came before the halt
	for _, s := range stops {
		m.take(s)
	}
	m.sync()
	for _, t := range m.threads {
		if !t.stopped {
			t.stopped = true
			t.why = Stop{Kind: StopHalted, Thread: t.id}
		}
		t.resumed, t.halting, t.interrupt = false, false, false
	}
}
