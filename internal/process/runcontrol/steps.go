package runcontrol

import (
	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// Begin notes where a step begins.
func (m *Machine[T]) Begin(t T) {
	regs, ok := m.View.Regs(t)
	if !ok {
		return // dying
	}
	d, c := t.Control(), m.View.Where(regs.PC)
	d.From, d.CopyAt, d.Back, d.Made = regs.PC, 0, false, false
	if c.In && c.Boundary {
		d.From, d.CopyAt, d.Back = c.Orig, regs.PC, c.Back
	}
}

// StepInternally begins internal single steps of a thread that is about to continue, or adds to them.
func (m *Machine[T]) StepInternally(t T) {
	t.Control().Inner = true
	if t.Core().State == threads.Stopped {
		m.Begin(t)
	}
}

// Go says how a thread is resumed.
//
// What an instruction has raised, such as the trap of a step behind a group-stop, comes
// before the next instruction. It would have to wait behind an interrupt, for ever if
// there is one after the other. And to the kernel another step would be one of the
// next instruction already, whose trap flag then is the program's (see FixStep).
//
// A step of popf with a signal to deliver would have the trap flag in the handler's frame: the
// thread stops in front of the handler by an interrupt, and steps from there. So does one that
// the kernel still has as one that steps.
func (m *Machine[T]) Go(t T) (how sys.How, do []Effect[T]) {
	d, th := t.Control(), t.Core()
	if d.Gen != m.Gen {
		do = append(do, Effect[T]{Op: SetWatches, T: t})
	}
	if (d.Leaves || d.Step || d.Inner || d.Armed.On) && m.View.Waits(t) {
		return sys.Free, do
	}
	d.Armed.On = false
	if d.Leaves { // it stops again before it executes anything
		th.Asked = true
		do = append(do, Effect[T]{Op: Interrupt, T: t})
	}
	listed := m.Table.Listed(t)
	step := (d.Step || d.Inner) && listed
	var a Armed
	if step {
		a = m.armed(t)
	}
	switch {
	case d.InCall, m.Options.CatchSyscalls && listed && (!step || a.Insn == InsnCall || th.Stop == threads.StopCall && d.Entry):
		return sys.ToCall, do
	case step && m.unsafe(t, a):
		th.Asked, d.Marked = true, false
		return sys.Free, append(do, Effect[T]{Op: Interrupt, T: t})
	case step:
		d.Armed = a
		return sys.ByStep, do
	}
	return sys.Free, do
}

// unsafe reports whether a step would leave a trap flag that the kernel takes for the
// program's.
func (m *Machine[T]) unsafe(t T, a Armed) bool {
	return t.Control().Marked || a.Insn == InsnPopf && t.Core().Sig != 0
}

// armed is the single step that a thread would make.
func (m *Machine[T]) armed(t T) Armed {
	a := Armed{On: true}
	if regs, ok := m.View.Regs(t); ok {
		a.Insn, a.At, a.Own = m.View.Insn(regs.PC).Kind, regs.PC, regs.TrapFlag
	}
	return a
}

// Stopped is the first event of each stop. If the thread has not executed the popf that it was
// to step over, it has a trap flag that the kernel takes for the program's (see FixStep), and
// leaves there: after the popf the program would be ended by a SIGTRAP, and an injected
// call or a handler would begin with it. The kernel notes besides that the thread steps
// (TIF_SINGLESTEP), and would set the flag again at the next step, of whatever
// instruction, and again as the program's; a resume without a step ends that.
func (m *Machine[T]) Stopped(t T) []Effect[T] {
	a := t.Control().Armed
	if !a.On || a.Insn != InsnPopf || a.Own {
		return nil
	}
	if regs, ok := m.View.Regs(t); ok && regs.PC == a.At && regs.TrapFlag && !m.View.Waits(t) {
		t.Control().Marked = true
		return one(Effect[T]{Op: ClearTrapFlag, T: t})
	}
	return nil
}

// stepMade decides what follows a step: another one, or its end. asks: Stepped decides.
func (m *Machine[T]) stepMade(t T) (do []Effect[T], asks bool) {
	d := t.Control()
	if !d.Step && !d.Inner || d.Kept != nil {
		return nil, false
	}
	regs, ok := m.View.Regs(t)
	if !ok {
		return nil, false
	}
	if regs.Restarts {
		return nil, false // a stop of ours has interrupted the call: it is made again
	}
	c := m.View.Where(regs.PC)
	if c.In && !c.Boundary {
		return nil, false // it was not led out in time: it goes on by steps, and is led out at the next
	}
	if c.In && c.Orig == d.From && regs.PC != d.CopyAt {
		// It has jumped to the trampoline, or through the hit program to the copy: nothing has been
		// executed yet.
		d.CopyAt, d.Back = regs.PC, c.Back
		return nil, false
	}
	if d.Back && !c.In && regs.PC == d.From {
		// The jump back was executed, and nothing of the program. (A copy that leads to
		// its own address in the program is an instruction that loops on itself.)
		d.CopyAt, d.Back = 0, false
		return nil, false
	}
	if d.Inner && m.Asks {
		return one(Effect[T]{Op: AskStepped, T: t}), true
	}
	d.Inner = false
	return m.stepEnds(t), false
}

// Stepped is the caller's answer: again, one more internal step is to be made.
func (m *Machine[T]) Stepped(t T, again bool) []Effect[T] {
	t.Control().Inner = again
	return then(m.stepEnds(t), t, m.arrivedLast)
}

// stepEnds begins the next step, and ends the user's where that has left its range.
func (m *Machine[T]) stepEnds(t T) []Effect[T] {
	m.Begin(t)
	if d := t.Control(); d.Step && !(d.From >= d.Lo && d.From < d.Hi) && d.Why == nil {
		return m.StopFor(t, Stop{Kind: StopStep})
	}
	return nil
}
