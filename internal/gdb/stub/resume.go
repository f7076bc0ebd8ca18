package stub

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

var _ = []struct{}{
	on((*Machine).queryResume), on((*Machine).resumeActions), on((*Machine).continueAt),
	on((*Machine).continueSignal), on((*Machine).stepAt), on((*Machine).stepSignal),
}

func (m *Machine) queryResume(rsp.QueryResume) rsp.Packet {
	if m.caps.Kernel {
		return rsp.ResumeSupported{Actions: []rsp.Word{"c", "C"}}
	}
	return rsp.ResumeSupported{Actions: []rsp.Word{"c", "C", "s", "S", "t", "r"}}
}

func (m *Machine) continueAt(p rsp.Continue) rsp.Packet {
	return m.plainResume('c', 0, p.Addr)
}

func (m *Machine) continueSignal(p rsp.ContinueSignal) rsp.Packet {
	return m.plainResume('C', p.Signal, p.Addr)
}

func (m *Machine) stepAt(p rsp.Step) rsp.Packet { return m.plainResume('s', 0, p.Addr) }

func (m *Machine) stepSignal(p rsp.StepSignal) rsp.Packet {
	return m.plainResume('S', p.Signal, p.Addr)
}

// plainResume is c, C, s and S: for the thread of Hc, or the present one and, behind
// it, all others.
func (m *Machine) plainResume(kind byte, signal rsp.Octet, addr *uint64) rsp.Packet {
	if m.owed {
		return fail(errRuns)
	}
	m.sync()
	one := m.cont.TID > 0
	t := m.current()
	if one {
		t = m.find(m.cont)
	}
	if t == nil {
		return noThread
	}
	if addr != nil {
		if err := m.setPC(t, *addr); err != nil {
			return fail(err)
		}
	}
	id := m.name(t.id)
	actions := []rsp.ResumeAction{{Kind: kind, Signal: signal, Thread: &id}}
	if !one {
		actions = append(actions, rsp.ResumeAction{Kind: 'c'})
	}
	return m.resume(actions)
}

func (m *Machine) setPC(t *thread, addr uint64) error {
	if m.caps.Kernel || m.denied["WriteReg"] || !t.stopped {
		return errors.New("the program counter cannot be changed")
	}
	for _, r := range m.target.Description().Registers {
		if r.Name == host.Processor.Register(host.Processor.PC).Name {
			return m.target.SetRegister(t.id, r.Number, binary.LittleEndian.AppendUint64(nil, addr))
		}
	}
	return errors.New("the target has no program counter")
}

func (m *Machine) resumeActions(p rsp.Resume) rsp.Packet { return m.resume(p.Actions) }

var errRuns = errors.New("the program runs already")

// resume carries out vCont.
func (m *Machine) resume(actions []rsp.ResumeAction) rsp.Packet {
	switch {
	case m.owed:
		return fail(errRuns)
	case len(actions) == 0:
		return fail(errors.New("vCont without an action"))
	}
	for _, a := range actions {
		if err := m.possible(a); err != nil {
			return fail(err)
		}
	}
	if m.caps.Kernel {
		return m.resumeKernel()
	}
	m.forward = false // a GDB that resumes wants to know
	m.collect()
	m.sync()
	plan := m.plan(actions)
	if err := m.carryOut(plan); err != nil {
		return fail(err)
	}
	if m.nonStop {
		return rsp.OK{}
	}
	m.owed = true
	if m.late {
		m.halt(sigInt)
		return nil
	}
	if !plan.any && !m.exitPending() && !m.target.Ending() {
		m.pending = append(m.pending, Stop{Kind: StopNoResumed})
	}
	return nil
}

// possible finds what is wrong with an action by itself.
func (m *Machine) possible(a rsp.ResumeAction) error {
	if _, ok := linuxSignal(int(a.Signal)); !ok {
		return fmt.Errorf("signal %d of GDB is none of Linux", a.Signal)
	}
	switch {
	case a.Kind == 't' && !m.nonStop:
		return errors.New("the action t is for non-stop mode")
	case a.Kind == 't' && m.denied["Stop"]:
		return errForbidden("stop the program")
	case a.Kind == 'r' && a.Range.End < a.Range.Start:
		return fmt.Errorf("the range ends before it begins: %#x, %#x", a.Range.Start, a.Range.End)
	case m.caps.Kernel && a.Kind != 'c' && a.Kind != 'C' && a.Kind != 't':
		return errors.New("the kernel cannot be stepped")
	}
	return nil
}

// resumeKernel waits for the interrupt: the kernel runs all the time.
func (m *Machine) resumeKernel() rsp.Packet {
	if m.nonStop {
		return rsp.OK{}
	}
	for _, t := range m.threads {
		t.resumed = true
	}
	m.owed = true
	return nil
}

func (m *Machine) exitPending() bool {
	for _, s := range m.pending {
		if !ofThread(s) {
			return true
		}
	}
	return false
}

// plan is what is to become of the threads.
type plan struct {
	going []Resumption
	halt  []ThreadID
	kept  []Resumption // those with an event to report
	any   bool         // an action was for a thread
}

// plan finds the first action of each thread and what it means for it.
func (m *Machine) plan(actions []rsp.ResumeAction) plan {
	var p plan
	hidden := m.unreportedChildren()
	for _, id := range m.order {
		t := m.threads[id]
		a := actionOf(actions, id)
		if a == nil {
			continue
		}
		p.any = true
		if a.Kind == 't' {
			if !t.stopped && !t.halting {
				p.halt = append(p.halt, id)
			}
			continue
		}
		if m.runs(t) || hidden[id] != 0 {
			continue
		}
		r := Resumption{Thread: id, Step: a.Kind == 's' || a.Kind == 'S' || a.Kind == 'r'}
		if a.Kind == 'r' && a.Range.Start < a.Range.End {
			r.Lo, r.Hi = a.Range.Start, a.Range.End
		}
		r.Signal, _ = linuxSignal(int(a.Signal))
		if m.stillPending(id, r.Step) {
			p.kept = append(p.kept, r)
		} else {
			p.going = append(p.going, r)
		}
	}
	return p
}

// actionOf is the first action that names a thread, else that which names none.
func actionOf(actions []rsp.ResumeAction, id ThreadID) *rsp.ResumeAction {
	for i := range actions {
		if a := &actions[i]; a.Thread == nil || named(*a.Thread, id) {
			return a
		}
	}
	return nil
}

// runs reports whether GDB takes a thread for running. In non-stop mode this includes a
// thread whose stop was not reported yet: an action for all threads does not apply to it.
// Otherwise a thread that GDB steps would run on after its step, perhaps past the end of a
// displaced instruction.
func (m *Machine) runs(t *thread) bool {
	return !t.stopped || m.queued(t.id) || m.nonStop && t.resumed
}

// queued reports whether a thread's stop waits until GDB fetches it.
func (m *Machine) queued(id ThreadID) bool {
	for _, s := range m.queue {
		if s.Thread == id && ofThread(s) {
			return true
		}
	}
	return false
}

// unreportedChildren are the children whose fork was not reported to GDB yet, with their
// parents: no action of GDB's applies to them.
func (m *Machine) unreportedChildren() map[ThreadID]int {
	list := map[ThreadID]int{}
	for _, stops := range [][]Stop{m.pending, m.queue} {
		for _, s := range stops {
			if s.Kind == StopForked || s.Kind == StopVForked {
				list[s.Child] = s.Thread.PID
			}
		}
	}
	return list
}

// stillPending reports whether a thread has an event to report before it may be resumed or
// stepped. Events that are no longer valid are dropped.
func (m *Machine) stillPending(id ThreadID, step bool) bool {
	for _, s := range m.pending {
		if s.Thread != id || !ofThread(s) {
			continue
		}
		if (step || s.Kind != StopStep) && m.target.Confirm(s) {
			return true
		}
		m.drop(s)
		if t := m.threads[id]; t != nil {
			t.why = Stop{Kind: StopHalted, Thread: id}
		}
		return m.stillPending(id, step)
	}
	return false
}

// carryOut resumes and halts. In all-stop mode nothing is resumed if an event,
// or an interrupt, must be reported first.
func (m *Machine) carryOut(p plan) error {
	wait := p.kept
	if !m.nonStop && (len(p.kept) > 0 || m.exitPending() || m.late) {
		wait, p.going = append(wait, p.going...), nil
	}
	for _, r := range wait {
		t := m.threads[r.Thread]
		t.resumed = true
		if r.Signal != 0 {
			t.signal = r.Signal
		}
	}
	if err := m.setGoing(p.going); err != nil {
		return err
	}
	if len(p.halt) == 0 {
		return nil
	}
	for _, id := range p.halt {
		m.threads[id].halting = true
	}
	return m.target.Halt(p.halt)
}

// setGoing resumes stopped threads.
func (m *Machine) setGoing(list []Resumption) error {
	if len(list) == 0 {
		return nil
	}
	for i := range list {
		r := &list[i]
		t := m.threads[r.Thread]
		if r.Signal == 0 {
			r.Signal = t.signal
		}
		t.signal = 0
		t.stopped, t.resumed, t.unread = false, true, false
	}
	// The thread that was reported least recently comes first.
	slices.SortStableFunc(list, func(a, b Resumption) int { return m.threads[a.Thread].reported - m.threads[b.Thread].reported })
	err := m.target.Resume(list)
	if err == nil {
		return nil
	}
	// It is unknown how far it came: threads that are not stopped run.
	stopped := map[ThreadID]bool{}
	for _, t := range m.target.Threads() {
		stopped[t.ID] = t.Stopped
	}
	for _, r := range list {
		if t := m.threads[r.Thread]; t != nil && stopped[r.Thread] {
			t.stopped, t.resumed = true, false
		}
	}
	if !m.nonStop {
		m.haltAll()
	}
	return err
}
