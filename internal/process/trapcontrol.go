package process

import (
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/memory"
	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// controlTrap handles a SIGTRAP that run control caused. handled: it is not the
// program's, and is suppressed.
func (p *breakpoints) controlTrap(t *task, si *sys.Siginfo) (handled bool) {
	if p.ctl == nil || t.Apart() {
		return false
	}
	var regs Regs
	if sys.GetRegs(t.TID, &regs) != nil {
		return false // dying
	}
	switch si.Code {
	case sys.SIKernel:
		return p.int3Trap(t, &regs)
	case sys.TrapNotify:
		t.Stop = threads.StopEvent
		return p.stepper.stepTrap(t, &regs)
	case sys.TrapBrkpt, sys.TrapTrace, sys.TrapHwbkpt:
		watched := p.watchTrap(t, &regs)
		return p.stepper.stepTrap(t, &regs) || watched
	}
	return false
}

// int3Trap handles an int3 that was executed.
func (p *breakpoints) int3Trap(t *task, regs *Regs) bool {
	addr := regs.PC() - 1
	d := &t.dbg
	if t.Copy {
		return false // none of ours is in its memory
	}
	if d.exclusive != nil && d.exclusive.temps[addr] {
		p.backTo(t, regs, addr)
		d.exclusive.done = true
		return true
	}
	if d.exclusive != nil && d.over == addr {
		d.exclusive.done = true // the byte below is an int3 itself
		return false
	}
	if p.ctl.user[addr] {
		p.backTo(t, regs, addr)
		if d.exclusive != nil { // led out of generated code to it: it comes here again
			d.exclusive.done = true
			return true
		}
		p.breakHit(t, regs, addr)
		return true
	}
	if p.ctl.removed[addr] && !p.isInt3(addr) {
		p.backTo(t, regs, addr)
		return true
	}
	return false
}

// backTo sets the pc back to an int3 that is not the program's.
func (p *breakpoints) backTo(t *task, regs *Regs, addr uint64) {
	regs.SetPC(addr)
	_ = sys.SetRegs(t.TID, regs) // ESRCH: dying
	p.dispositions.repair(t, unix.SIGTRAP)
}

func (p *breakpoints) isInt3(addr uint64) bool {
	var b [1]byte
	return p.space.ReadRaw(addr, b[:]) == nil && b[0] == memory.Int3
}

// breakHit: a thread has come to a breakpoint of InsertBreak.
func (p *breakpoints) breakHit(t *task, regs *Regs, addr uint64) {
	d := &t.dbg
	verdict := BreakGo
	if !p.threads.Listed(t) || d.again == (again{addr, regs.SP()}) {
		d.again = again{}
	} else {
		if p.linker.modules.addr == addr {
			p.linker.modulesReached(t)
		}
		verdict = BreakStop
		if p.ctl.OnBreak != nil {
			p.ctl.ask(t.TID, func() { verdict = p.ctl.OnBreak(t.TID, addr) })
		}
	}
	if verdict == BreakStop {
		p.debugger.stopFor(t, Stop{Kind: StopBreakpoint, Addr: addr})
		return
	}
	if verdict == BreakStep && !d.inner {
		d.inner = true
	}
	p.stepper.beginStep(t)
	if verdict == BreakPast {
		regs.SetPC(addr + 1)
		_ = sys.SetRegs(t.TID, regs) // ESRCH: dying
	}
	if verdict == BreakPast || p.emulateAt(t, regs, addr) {
		d.stepDone = true
		if !d.step && !d.inner || !p.debugger.inside(t) {
			p.debugger.reportPending(t)
			return
		}
		p.exclusive.needExclusive(t)
		return
	}
	d.over = addr
	p.exclusive.needExclusive(t)
}
