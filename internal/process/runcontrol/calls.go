package runcontrol

import "github.com/jalon-trace/jalon/internal/process/sys"

// Call: a thread is at the entry to system call nr, or at its exit.
func (m *Machine[T]) Call(t T, entry bool, nr int) []Effect[T] {
	d := t.Control()
	d.Entry = entry
	if d.InCall {
		if !entry {
			m.callDone(t)
		}
	} else if !entry && (d.Step || d.Inner) {
		d.Made = true
	}
	return then(m.ReportCall(t, nr), t, m.calledLast)
}

func (m *Machine[T]) calledLast(t T) []Effect[T] {
	switch d := t.Control(); {
	case d.Exclusive != nil || !d.Made:
		return nil
	case m.Inside(t):
		return m.needExclusive(t)
	}
	return m.Arrived(t)
}

// ReportCall holds a thread at a call that is to be caught.
func (m *Machine[T]) ReportCall(t T, nr int) []Effect[T] {
	o := &m.Options
	if !o.CatchSyscalls || !m.Table.Listed(t) {
		return nil
	}
	kind := StopSyscallEntry
	if !t.Control().Entry {
		regs, ok := m.View.Regs(t)
		if !ok {
			return nil
		}
		kind, nr = StopSyscallReturn, int(regs.Call)
	}
	if len(o.Syscalls) > 0 && !o.Syscalls[nr] {
		return nil
	}
	return m.StopFor(t, Stop{Kind: kind, Syscall: nr})
}

// callDone is the exit from a system call under a breakpoint. A call that the kernel will restart reaches
// the breakpoint again.
func (m *Machine[T]) callDone(t T) {
	d := t.Control()
	d.InCall = false
	regs, ok := m.View.Regs(t)
	switch {
	case !ok:
	case regs.Restarts:
		d.Again = Again{regs.PC - sys.SyscallLen, regs.SP}
	default:
		d.Made = true
	}
}
