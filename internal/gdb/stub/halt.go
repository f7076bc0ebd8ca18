package stub

import "github.com/jalon-trace/jalon/internal/gdb/rsp"

// Halts at GDB's request, and queries of the present state.

// pause stops the program in all-stop mode for a packet that requires it, and replies to
// the packet that resumed it.
func (x *reporter) pause() {
	if x.owed {
		x.halt(0)
	}
}

// halt replies to the packet that resumed the program with an earlier event, or with a
// signal. In the first case the signal is kept for the next resumption, like a signal of the
// program: GDB may make steps without end, and the user must be able to stop it.
func (x *reporter) halt(signal int) {
	runs := x.resumed()
	x.haltAll()
	s := x.firstOf(runs)
	x.late = signal != 0 && s.Kind != StopHalted && ofThread(s)
	switch {
	case s.Kind == StopHalted && s.Thread.TID == 0:
		s = x.ended
	case s.Kind == StopHalted && signal != 0:
		s = Stop{Kind: StopSignal, Thread: s.Thread, Signal: signal}
		x.roster.threads[s.Thread].why = s
	default:
		x.backlog.drop(s)
	}
	x.owed = false
	x.noteReported(s)
	x.roster.general = s.Thread
	x.reply(x.replier.stopReply(s))
}

// resumed has the threads that GDB has resumed.
func (x *reporter) resumed() map[ThreadID]bool {
	list := map[ThreadID]bool{}
	for id, t := range x.roster.threads {
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
func (x *reporter) firstOf(runs map[ThreadID]bool) Stop {
	if s, ok := x.choose(runs); ok {
		return s
	}
	// The first thread, as a signal for the process chooses it. If it were always the
	// one reported last, a GDB that must step over a breakpoint first would resume only
	// that thread, for ever.
	other := Stop{Kind: StopHalted}
	for _, id := range x.roster.order {
		switch {
		case !runs[id]:
		case id.PID == x.roster.last.PID:
			return Stop{Kind: StopHalted, Thread: id}
		case other.Thread.TID == 0:
			other.Thread = id
		}
	}
	if other.Thread.TID != 0 {
		return other
	}
	if t := x.roster.current(); t != nil {
		return Stop{Kind: StopHalted, Thread: t.id}
	}
	return Stop{Kind: StopHalted}
}

// choose takes one of the events of the threads that ran: that of a thread which GDB has
// stepped, because GDB loses its place if it receives another's; otherwise that of the
// thread reported least recently, so that no event waits for ever.
func (x *reporter) choose(runs map[ThreadID]bool) (best Stop, ok bool) {
	for _, s := range x.backlog.pending {
		switch {
		case !ofThread(s):
			if !ok {
				return s, true
			}
		case !runs[s.Thread] && (s.Kind != StopExec || !anyOf(runs, s.Thread.PID)):
		case s.Kind == StopStep:
			return s, true
		case !ok || x.roster.threads[s.Thread].reported < x.roster.threads[best.Thread].reported:
			best, ok = s, true
		}
	}
	return best, ok
}

// interrupt is the interrupt byte.
func (x *reporter) interrupt() {
	switch {
	case !x.connected || x.denied["Stop"]:
	case x.nonStop:
		x.interruptOne()
	case x.owed:
		x.halt(sigInt)
	case !x.caps.Kernel:
		x.late = true // it has crossed the answer
	}
}

// interruptOne stops a thread as a SIGINT would, in non-stop mode.
func (x *reporter) interruptOne() {
	x.collect()
	x.roster.sync()
	pid := 0
	if t := x.roster.current(); t != nil {
		pid = t.id.PID
	}
	var chosen *thread
	for _, id := range x.roster.order {
		t := x.roster.threads[id]
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
	if err := x.target.Halt([]ThreadID{chosen.id}); err != nil {
		x.log("interrupt: " + err.Error())
	}
}

// packets are those that it handles.
func (x *reporter) packets() []row {
	return []row{
		on("?", "why it is stopped", x.queryHalt),
		on("vStopped", "confirms a notification, and asks for the next", x.nextStop),
		on("vCtrlC", "stops as the interrupt byte does", x.interruptAll),
	}
}

func (x *reporter) interruptAll(rsp.InterruptAll) rsp.Packet {
	if x.denied["Stop"] {
		return forbidden("stop the program")
	}
	x.interrupt()
	return rsp.OK{}
}

// queryHalt replies to a new GDB with the present state. In all-stop mode all threads are
// stopped afterwards.
func (x *reporter) queryHalt(rsp.QueryHalt) rsp.Packet {
	x.forward = false
	x.applyOptions()
	if x.nonStop {
		return x.requeue()
	}
	x.pause()
	x.haltAll()
	t := x.reported()
	if t == nil {
		x.backlog.pending = nil
		return x.replier.stopReply(x.ended)
	}
	s := t.why
	x.backlog.drop(s)
	x.roster.last, x.roster.general = t.id, t.id
	return x.replier.stopReply(s)
}

// reported is the thread whose stop is the reply to `?`: the one reported last, else one
// with a pending event, else any.
func (x *reporter) reported() *thread {
	if t := x.roster.threads[x.roster.last]; t != nil && (x.backlog.hasPending(t.id) || t.why.Kind != StopHalted) {
		return t
	}
	for _, s := range x.backlog.pending {
		if t := x.roster.threads[s.Thread]; t != nil && ofThread(s) {
			return t
		}
	}
	return x.roster.current()
}

// requeue reports all stopped threads: one in the reply, the others in notifications
// after it. GDB 13 ends with an internal error ("Assertion
// `!async_event_handler_marked") when it fetches more than one before its connection
// is complete.
func (x *reporter) requeue() rsp.Packet {
	x.collect()
	x.roster.sync()
	gone := func(s Stop) bool { return !ofThread(s) }
	x.backlog.queue = append(keep(x.backlog.queue, gone), keep(x.backlog.pending, gone)...)
	x.backlog.pending = nil
	for _, id := range x.roster.order {
		if t := x.roster.threads[id]; t.stopped {
			t.resumed = false
			x.backlog.queue = append(x.backlog.queue, t.why)
		}
	}
	x.backlog.firstOnly = true
	return x.head()
}

// nextStop acknowledges the first of the queue and asks for the next.
func (x *reporter) nextStop(rsp.NextStop) rsp.Packet {
	x.roster.sync()
	if len(x.backlog.queue) > 0 {
		x.backlog.queue = x.backlog.queue[1:]
	}
	if !x.backlog.firstOnly {
		return x.head()
	}
	x.backlog.firstOnly = false
	x.reply(rsp.OK{})
	x.notify()
	return nil
}

// head is the first of the queue, or OK.
func (x *reporter) head() rsp.Packet {
	if len(x.backlog.queue) == 0 {
		return rsp.OK{}
	}
	x.noteReported(x.backlog.queue[0])
	return x.replier.stopReply(x.backlog.queue[0])
}

// presentStop returns why a thread is stopped.
func (x *reporter) presentStop(id ThreadID) rsp.Packet {
	t := x.roster.threads[id]
	if t == nil {
		return noThread
	}
	return x.replier.stopReply(t.why)
}
