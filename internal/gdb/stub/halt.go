package stub

import "github.com/jalon-trace/jalon/internal/gdb/rsp"

// Halts at GDB's request, and queries of the present state.

// pause stops the program in all-stop mode for a packet that requires it, and replies to
// the packet that resumed it.
func (m *Machine) pause() {
	if m.owed {
		m.halt(0)
	}
}

// halt replies to the packet that resumed the program with an earlier event, or with a
// signal. In the first case the signal is kept for the next resumption, like a signal of the
// program: GDB may make steps without end, and the user wants to stop it.
func (m *Machine) halt(signal int) {
	runs := m.resumed()
	m.haltAll()
	s := m.firstOf(runs)
	m.late = signal != 0 && s.Kind != StopHalted && ofThread(s)
	switch {
	case s.Kind == StopHalted && s.Thread.TID == 0:
		s = m.ended
	case s.Kind == StopHalted && signal != 0:
		s = Stop{Kind: StopSignal, Thread: s.Thread, Signal: signal}
		m.threads[s.Thread].why = s
	default:
		m.drop(s)
	}
	m.owed = false
	m.noteReported(s)
	m.general = s.Thread
	m.reply(m.stopReply(s))
}

// resumed has the threads that GDB wants to run.
func (m *Machine) resumed() map[ThreadID]bool {
	list := map[ThreadID]bool{}
	for id, t := range m.threads {
		if t.resumed {
			list[id] = true
		}
	}
	return list
}

// anyOf says that one of them is of a process.
func anyOf(list map[ThreadID]bool, pid int) bool {
	for id := range list {
		if id.PID == pid {
			return true
		}
	}
	return false
}

// firstOf is the event to report after a halt, of one of the threads that ran. If none has
// an event it is a StopHalted; its ThreadID is zero if there is no thread.
func (m *Machine) firstOf(runs map[ThreadID]bool) Stop {
	if s, ok := m.choose(runs); ok {
		return s
	}
	// The first thread, as a signal for the process chooses it. If it were always the
	// one reported last, a GDB that must step over a breakpoint first would resume only
	// that thread, for ever.
	other := Stop{Kind: StopHalted}
	for _, id := range m.order {
		switch {
		case !runs[id]:
		case id.PID == m.last.PID:
			return Stop{Kind: StopHalted, Thread: id}
		case other.Thread.TID == 0:
			other.Thread = id
		}
	}
	if other.Thread.TID != 0 {
		return other
	}
	if t := m.current(); t != nil {
		return Stop{Kind: StopHalted, Thread: t.id}
	}
	return Stop{Kind: StopHalted}
}

// choose takes one of the events of the threads that ran: that of a thread which GDB has
// stepped, because GDB loses its place if it receives another's; otherwise that of the
// thread reported least recently, so that no event waits for ever.
func (m *Machine) choose(runs map[ThreadID]bool) (best Stop, ok bool) {
	for _, s := range m.pending {
		switch {
		case !ofThread(s):
			if !ok {
				return s, true
			}
		case !runs[s.Thread] && (s.Kind != StopExec || !anyOf(runs, s.Thread.PID)):
		case s.Kind == StopStep:
			return s, true
		case !ok || m.threads[s.Thread].reported < m.threads[best.Thread].reported:
			best, ok = s, true
		}
	}
	return best, ok
}

// interrupt is the interrupt byte.
func (m *Machine) interrupt() {
	switch {
	case !m.connected || m.denied["Stop"]:
	case m.nonStop:
		m.interruptOne()
	case m.owed:
		m.halt(sigInt)
	case !m.caps.Kernel:
		m.late = true // it has crossed the answer
	}
}

// interruptOne stops a thread as a SIGINT would, in non-stop mode.
func (m *Machine) interruptOne() {
	m.collect()
	m.sync()
	pid := 0
	if t := m.current(); t != nil {
		pid = t.id.PID
	}
	var chosen *thread
	for _, id := range m.order {
		t := m.threads[id]
		if !t.stopped && t.resumed && (chosen == nil || chosen.id.PID != pid && id.PID == pid) {
			chosen = t
		}
	}
	if chosen == nil {
		return
	}
	chosen.interrupt = true
	if chosen.halting {
		return
	}
	chosen.halting = true
	if err := m.target.Halt([]ThreadID{chosen.id}); err != nil {
		m.log("interrupt: " + err.Error())
	}
}

var _ = []struct{}{
	on((*Machine).queryHalt), on((*Machine).nextStop), on((*Machine).interruptAll),
}

func (m *Machine) interruptAll(rsp.InterruptAll) rsp.Packet {
	if m.denied["Stop"] {
		return forbidden("stop the program")
	}
	m.interrupt()
	return rsp.OK{}
}

// queryHalt replies to a new GDB with the present state. In all-stop mode all threads are
// stopped afterwards.
func (m *Machine) queryHalt(rsp.QueryHalt) rsp.Packet {
	m.forward = false
	m.applyOptions()
	if m.nonStop {
		return m.requeue()
	}
	m.pause()
	m.haltAll()
	t := m.reported()
	if t == nil {
		m.pending = nil
		return m.stopReply(m.ended)
	}
	s := t.why
	m.drop(s)
	m.last, m.general = t.id, t.id
	return m.stopReply(s)
}

// reported is the thread whose stop is the reply to `?`: the one reported last, else one
// with a pending event, else any.
func (m *Machine) reported() *thread {
	if t := m.threads[m.last]; t != nil && (m.hasPending(t.id) || t.why.Kind != StopHalted) {
		return t
	}
	for _, s := range m.pending {
		if t := m.threads[s.Thread]; t != nil && ofThread(s) {
			return t
		}
	}
	return m.current()
}

func (m *Machine) hasPending(id ThreadID) bool {
	for _, s := range m.pending {
		if s.Thread == id && ofThread(s) {
			return true
		}
	}
	return false
}

// requeue reports all stopped threads: one in the reply, the others in notifications
// after it. GDB 13 ends with an internal error ("Assertion
// `!async_event_handler_marked") when it fetches more than one before its connection
// is complete.
func (m *Machine) requeue() rsp.Packet {
	m.collect()
	m.sync()
	gone := func(s Stop) bool { return !ofThread(s) }
	m.queue = append(keep(m.queue, gone), keep(m.pending, gone)...)
	m.pending = nil
	for _, id := range m.order {
		if t := m.threads[id]; t.stopped {
			t.resumed = false
			m.queue = append(m.queue, t.why)
		}
	}
	m.firstOnly = true
	return m.head()
}

// nextStop acknowledges the first of the queue and asks for the next.
func (m *Machine) nextStop(rsp.NextStop) rsp.Packet {
	m.sync()
	if len(m.queue) > 0 {
		m.queue = m.queue[1:]
	}
	if !m.firstOnly {
		return m.head()
	}
	m.firstOnly = false
	m.reply(rsp.OK{})
	m.notify()
	return nil
}

// head is the first of the queue, or OK.
func (m *Machine) head() rsp.Packet {
	if len(m.queue) == 0 {
		return rsp.OK{}
	}
	m.noteReported(m.queue[0])
	return m.stopReply(m.queue[0])
}
