package process

import "github.com/jalon-trace/jalon/internal/process/sys"

// syscallStop is a stop at the entry to a system call or at its exit, outside of
// injections.
func (p *debugger) syscallStop(t *task) {
	if p.children.borrows(t) {
		p.children.letGain(t)
	}
	if p.ctl == nil || t.Apart() {
		return
	}
	d := &t.dbg
	info, ok := sys.GetSyscallInfo(t.TID)
	if !ok {
		return // before Linux 5.3, or dying
	}
	d.entry = info.Op == sys.SyscallEntry
	if d.call {
		if !d.entry {
			p.exclusive.callDone(t)
		}
	} else if !d.entry && (d.step || d.inner) {
		d.stepDone = true
	}
	p.reportCall(t, int(info.Nr))
	if d.exclusive == nil && d.stepDone && !p.inside(t) {
		p.reportPending(t)
	} else if d.exclusive == nil && d.stepDone {
		p.exclusive.needExclusive(t)
	}
}

// reportCall holds a thread at a call that is to be caught.
func (p *debugger) reportCall(t *task, nr int) {
	o := &p.ctl.opt
	if !o.CatchSyscalls || !p.threads.Listed(t) {
		return
	}
	kind := StopSyscallEntry
	if !t.dbg.entry {
		kind = StopSyscallReturn
		var regs Regs
		if sys.GetRegs(t.TID, &regs) != nil {
			return
		}
		nr = int(regs.Call())
	}
	if len(o.Syscalls) > 0 && !o.Syscalls[nr] {
		return
	}
	p.stopFor(t, Stop{Kind: kind, Syscall: nr})
}
