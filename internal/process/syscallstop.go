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
	info, ok := sys.GetSyscallInfo(t.TID)
	if !ok {
		return // before Linux 5.3, or dying
	}
	p.execute(p.ctl.machine.Call(t, info.Op == sys.SyscallEntry, int(info.Nr)))
}
