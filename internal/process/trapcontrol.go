package process

import (
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
	m := p.ctl.machine
	switch si.Code {
	case sys.SIKernel:
		do, ours := m.Int3(t, regs.PC())
		p.debugger.execute(do)
		return ours
	case sys.TrapNotify:
		t.Stop = threads.StopEvent
	case sys.TrapBrkpt, sys.TrapTrace, sys.TrapHwbkpt:
		handled = p.watchTrap(t)
	default:
		return false
	}
	do, ours := m.StepTrap(t)
	p.debugger.execute(do)
	return ours || handled
}

// watchTrap handles the debug registers that have triggered.
func (p *breakpoints) watchTrap(t *task) bool {
	m := p.ctl.machine
	if !p.threads.Listed(t) || t.Copy || m.Gen == 0 {
		return false
	}
	do, ours := m.Watch(t, sys.PeekDebug(t.TID, sys.DR6))
	p.debugger.execute(do)
	return ours
}

func (p *breakpoints) isInt3(addr uint64) bool {
	var b [1]byte
	return p.space.ReadRaw(addr, b[:]) == nil && b[0] == memory.Int3
}
