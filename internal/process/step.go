package process

import (
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/memory"
	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// insnKind is what matters of an instruction to be single-stepped.
type insnKind uint8

const (
	insnOther insnKind = iota
	insnCall           // syscall, sysenter, int $0x80
	insnPushf          // pushes the trap flag that we have set
	insnPopf           // popf, iret: confuses the kernel about whose trap flag it is
	insnRep            // a string instruction: one step is one iteration
)

// insn is an instruction as far as it matters.
type insn struct {
	kind insnKind
	len  int
}

// insnAt looks at the instruction at an address.
func (p *stepper) insnAt(addr uint64) insn {
	var b [15]byte
	n := len(b)
	for n > 0 && p.space.Read(addr, b[:n]) != nil {
		n = min(n-1, int(memory.PageSize-addr%memory.PageSize)) // less at the end of the mapping
		if n == len(b)-1 {
			return insn{}
		}
	}
	return classify(b[:n])
}

// beginStep notes where a step begins.
func (p *stepper) beginStep(t *task) {
	var regs Regs
	if sys.GetRegs(t.TID, &regs) != nil {
		return // dying
	}
	c := p.debugger.where(regs.PC())
	t.dbg.from, t.dbg.copyAt, t.dbg.back, t.dbg.stepDone = regs.PC(), 0, false, false
	if c.In && c.Boundary {
		t.dbg.from, t.dbg.copyAt, t.dbg.back = c.Orig, regs.PC(), c.Back
	}
}

// request is how a thread under run control is resumed.
func (p *stepper) request(t *task) sys.How {
	d := &t.dbg
	if d.gen != p.ctl.gen {
		_ = p.breakpoints.setWatches(t) // ESRCH: dying
	}
	// What an instruction has raised, such as the trap of a step behind a group-stop, comes
	// before the next instruction. It would have to wait behind an interrupt, for ever if
	// there is one after the other. And to the kernel another step would be one of the
	// next instruction already, whose trap flag then is the program's (see fixStep).
	if (d.leaves || d.step || d.inner || d.stepping) && pendingFault(t.TID) {
		return sys.Free
	}
	d.stepping = false
	if d.leaves { // it stops again before it executes anything
		t.Asked = true
		_ = sys.Interrupt(t.TID) // ESRCH: dying
	}
	step := (d.step || d.inner) && p.threads.Listed(t)
	kind := insnOther
	if step {
		kind = p.arm(t)
	}
	switch {
	case d.call, p.ctl.opt.CatchSyscalls && p.threads.Listed(t) && (!step || kind == insnCall || t.Stop == threads.StopCall && d.entry):
		d.stepping = false
		return sys.ToCall
	case step && kind == insnPopf && t.Sig != 0:
		// The handler's frame would have the trap flag: it stops in front of the handler
		// by an interrupt, and steps from there.
		d.stepping, t.Asked = false, true
		_ = sys.Interrupt(t.TID) // ESRCH: dying
		return sys.Free
	case step:
		return sys.ByStep
	}
	return sys.Free
}

// arm notes what a thread that is about to be resumed by a single step is to execute.
func (p *stepper) arm(t *task) insnKind {
	d := &t.dbg
	d.stepping, d.insn = true, insnOther
	var regs Regs
	if sys.GetRegs(t.TID, &regs) == nil {
		d.insn, d.at, d.ownFlag = p.insnAt(regs.PC()).kind, regs.PC(), trapFlag(&regs)
	}
	return d.insn
}

// stepTrap is the trap of a single step of ours.
func (p *stepper) stepTrap(t *task, regs *Regs) bool {
	d := &t.dbg
	if !d.stepping {
		return false // the program has set the trap flag itself
	}
	d.stepping = false
	p.dispositions.repair(t, unix.SIGTRAP)
	p.fixStep(t, d.insn)
	if d.exclusive != nil {
		d.exclusive.done = true
		return true
	}
	d.stepDone = true
	if p.debugger.inside(t) {
		p.exclusive.needExclusive(t)
		return true
	}
	p.debugger.reportPending(t)
	return true
}

// stepMade decides what comes after a step: one more, or its end.
func (p *stepper) stepMade(t *task) {
	d := &t.dbg
	d.stepDone = false
	if !d.step && !d.inner || d.kept != nil {
		return
	}
	var regs Regs
	if sys.GetRegs(t.TID, &regs) != nil {
		return
	}
	if sys.Restarts(&regs) {
		return // a stop of ours has interrupted the call: it is made again
	}
	c := p.debugger.where(regs.PC())
	if c.In && !c.Boundary {
		return // it was not led out in time: it goes on by steps, and is led out at the next
	}
	boundary := c.In && c.Boundary
	if boundary && c.Orig == d.from && regs.PC() != d.copyAt {
		// It has come from the jump to the trampoline, or through the hit program to
		// the copy: nothing is executed yet.
		d.copyAt, d.back = regs.PC(), c.Back
		return
	}
	if d.back && !c.In && regs.PC() == d.from {
		// The jump back was executed, and nothing of the program. (A copy that leads to
		// its own address in the program is an instruction that loops on itself.)
		d.copyAt, d.back = 0, false
		return
	}
	if d.inner && p.ctl.OnStepped != nil {
		p.ctl.ask(t.TID, func() { d.inner = p.ctl.OnStepped(t.TID) })
	} else {
		d.inner = false
	}
	p.beginStep(t)
	if d.step && !(d.from >= d.lo && d.from < d.hi) && d.why == nil {
		p.debugger.stopFor(t, Stop{Kind: StopStep})
	}
}

// StepInternally begins internal single steps of a thread that is about to go on,
// or adds to them: OnStepped is asked after each.
func (p *Process) StepInternally(tid int) error {
	return p.controlDo(func() error {
		t := p.threads.Get(tid)
		if t == nil {
			return ErrGone
		}
		t.dbg.inner = true
		if t.State == threads.Stopped {
			p.stepper.beginStep(t)
		}
		return nil
	})
}
