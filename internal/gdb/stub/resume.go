package stub

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// resumer lets threads go on.
type resumer struct {
	*core
	backlog  *backlog
	roster   *roster
	reporter *reporter
}

// packets are those that it handles.
func (x *resumer) packets() []row {
	return []row{
		on("vCont?", "the actions of vCont", x.queryResume),
		on("vCont", "resumes and stops threads, one by one", x.resumeActions),
		on("c", "continues", x.continueAt),
		on("C", "continues with a signal", x.continueSignal),
		on("s", "steps", x.stepAt),
		on("S", "steps with a signal", x.stepSignal),
	}
}

func (x *resumer) queryResume(rsp.QueryResume) rsp.Packet {
	if x.caps.Kernel {
		return rsp.ResumeSupported{Actions: []rsp.Word{"c", "C"}}
	}
	return rsp.ResumeSupported{Actions: []rsp.Word{"c", "C", "s", "S", "t", "r"}}
}

func (x *resumer) continueAt(p rsp.Continue) rsp.Packet {
	return x.plainResume('c', 0, p.Addr)
}

func (x *resumer) continueSignal(p rsp.ContinueSignal) rsp.Packet {
	return x.plainResume('C', p.Signal, p.Addr)
}

func (x *resumer) stepAt(p rsp.Step) rsp.Packet { return x.plainResume('s', 0, p.Addr) }

func (x *resumer) stepSignal(p rsp.StepSignal) rsp.Packet {
	return x.plainResume('S', p.Signal, p.Addr)
}

// plainResume is c, C, s and S: for the thread of Hc, or the present one and, behind
// it, all others.
func (x *resumer) plainResume(kind byte, signal rsp.Octet, addr *uint64) rsp.Packet {
	if x.reporter.owed {
		return fail(errRuns)
	}
	x.roster.sync()
	one := x.roster.cont.TID > 0
	t := x.roster.current()
	if one {
		t = x.roster.find(x.roster.cont)
	}
	if t == nil {
		return noThread
	}
	if addr != nil {
		if err := x.setPC(t, *addr); err != nil {
			return fail(err)
		}
	}
	id := x.name(t.id)
	actions := []rsp.ResumeAction{{Kind: kind, Signal: signal, Thread: &id}}
	if !one {
		actions = append(actions, rsp.ResumeAction{Kind: 'c'})
	}
	return x.resume(actions)
}

func (x *resumer) setPC(t *thread, addr uint64) error {
	if x.caps.Kernel || x.denied["WriteReg"] || !t.stopped {
		return errors.New("the program counter cannot be changed")
	}
	for _, r := range x.target.Description().Registers {
		if r.Name == host.Processor.Register(host.Processor.PC).Name {
			return x.target.SetRegister(t.id, r.Number, binary.LittleEndian.AppendUint64(nil, addr))
		}
	}
	return errors.New("the target has no program counter")
}

func (x *resumer) resumeActions(p rsp.Resume) rsp.Packet { return x.resume(p.Actions) }

var errRuns = errors.New("the program runs already")

// resume carries out vCont.
func (x *resumer) resume(actions []rsp.ResumeAction) rsp.Packet {
	switch {
	case x.reporter.owed:
		return fail(errRuns)
	case len(actions) == 0:
		return fail(errors.New("vCont without an action"))
	}
	for _, a := range actions {
		if err := x.possible(a); err != nil {
			return fail(err)
		}
	}
	if x.caps.Kernel {
		return x.resumeKernel()
	}
	x.reporter.forward = false // a GDB that resumes expects the report
	x.reporter.collect()
	x.roster.sync()
	plan := x.plan(actions)
	if err := x.carryOut(plan); err != nil {
		return fail(err)
	}
	if x.nonStop {
		return rsp.OK{}
	}
	x.reporter.owed = true
	if x.reporter.late {
		x.reporter.halt(sigInt)
		return nil
	}
	if !plan.any && !x.backlog.exitPending() && !x.target.Ending() {
		x.backlog.pending = append(x.backlog.pending, Stop{Kind: StopNoResumed})
	}
	return nil
}

// possible finds what is wrong with an action by itself.
func (x *resumer) possible(a rsp.ResumeAction) error {
	if _, ok := linuxSignal(int(a.Signal)); !ok {
		return fmt.Errorf("signal %d of GDB is none of Linux", a.Signal)
	}
	switch {
	case a.Kind == 't' && !x.nonStop:
		return errors.New("the action t is for non-stop mode")
	case a.Kind == 't' && x.denied["Stop"]:
		return errForbidden("stop the program")
	case a.Kind == 'r' && a.Range.End < a.Range.Start:
		return fmt.Errorf("the range ends before it begins: %#x, %#x", a.Range.Start, a.Range.End)
	case x.caps.Kernel && a.Kind != 'c' && a.Kind != 'C' && a.Kind != 't':
		return errors.New("the kernel cannot be stepped")
	}
	return nil
}

// resumeKernel waits for the interrupt: the kernel runs all the time.
func (x *resumer) resumeKernel() rsp.Packet {
	if x.nonStop {
		return rsp.OK{}
	}
	for _, t := range x.roster.threads {
		t.resumed = true
	}
	x.reporter.owed = true
	return nil
}

// plan has the requested action for each thread.
type plan struct {
	going []Resumption
	halt  []ThreadID
	kept  []Resumption // those with an event to report
	any   bool         // an action was for a thread
}

// plan finds the first action of each thread and what it means for it.
func (x *resumer) plan(actions []rsp.ResumeAction) plan {
	var p plan
	hidden := x.backlog.unreportedChildren()
	for _, id := range x.roster.order {
		t := x.roster.threads[id]
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
		if x.runs(t) || hidden[id] != 0 {
			continue
		}
		r := Resumption{Thread: id, Step: a.Kind == 's' || a.Kind == 'S' || a.Kind == 'r'}
		if a.Kind == 'r' && a.Range.Start < a.Range.End {
			r.Lo, r.Hi = a.Range.Start, a.Range.End
		}
		r.Signal, _ = linuxSignal(int(a.Signal))
		if x.stillPending(id, r.Step) {
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
func (x *resumer) runs(t *thread) bool {
	return !t.stopped || x.backlog.queued(t.id) || x.nonStop && t.resumed
}

// stillPending reports whether a thread has an event to report before it may be resumed or
// stepped. Events that are no longer valid are dropped.
func (x *resumer) stillPending(id ThreadID, step bool) bool {
	for _, s := range x.backlog.pending {
		if s.Thread != id || !ofThread(s) {
			continue
		}
		if (step || s.Kind != StopStep) && x.target.Confirm(s) {
			return true
		}
		x.backlog.drop(s)
		if t := x.roster.threads[id]; t != nil {
			t.why = Stop{Kind: StopHalted, Thread: id}
		}
		return x.stillPending(id, step)
	}
	return false
}

// carryOut resumes and halts. In all-stop mode nothing is resumed if an event,
// or an interrupt, must be reported first.
func (x *resumer) carryOut(p plan) error {
	wait := p.kept
	if !x.nonStop && (len(p.kept) > 0 || x.backlog.exitPending() || x.reporter.late) {
		wait, p.going = append(wait, p.going...), nil
	}
	for _, r := range wait {
		t := x.roster.threads[r.Thread]
		t.resumed = true
		if r.Signal != 0 {
			t.signal = r.Signal
		}
	}
	if err := x.setGoing(p.going); err != nil {
		return err
	}
	if len(p.halt) == 0 {
		return nil
	}
	for _, id := range p.halt {
		x.roster.threads[id].halting = true
	}
	return x.target.Halt(p.halt)
}

// setGoing resumes stopped threads.
func (x *resumer) setGoing(list []Resumption) error {
	if len(list) == 0 {
		return nil
	}
	for i := range list {
		r := &list[i]
		t := x.roster.threads[r.Thread]
		if r.Signal == 0 {
			r.Signal = t.signal
		}
		t.signal = 0
		t.stopped, t.resumed, t.unread = false, true, false
	}
	// The thread that was reported least recently comes first.
	slices.SortStableFunc(list, func(a, b Resumption) int {
		return x.roster.threads[a.Thread].reported - x.roster.threads[b.Thread].reported
	})
	err := x.target.Resume(list)
	if err == nil {
		return nil
	}
	// It is unknown how far it came: threads that are not stopped run.
	stopped := map[ThreadID]bool{}
	for _, t := range x.target.Threads() {
		stopped[t.ID] = t.Stopped
	}
	for _, r := range list {
		if t := x.roster.threads[r.Thread]; t != nil && stopped[r.Thread] {
			t.stopped, t.resumed = true, false
		}
	}
	if !x.nonStop {
		x.reporter.haltAll()
	}
	return err
}
