package process

import "golang.org/x/sys/unix"

// A clone that is neither a thread of the process (CLONE_THREAD) nor ends with SIGCHLD
// nor borrows its parent (CLONE_VFORK) is reported by the kernel as a clone, as threads
// are, and debuggers take it for one. So does run control: such kin is listed, halted,
// resumed and stepped among the threads, and its signals are told. It is a process of
// its own still:
//
//   - what goes to the process (exec, exit, its signals and their actions) does not go
//     to it; when the process ends or calls exec it is let go, Kill ends it too
//   - one with a copy of the memory (no CLONE_VM) has none of our bytes there: neither
//     breakpoints nor tracepoints are for it, and what is read of memory is that of the
//     process
//
// Without run control nobody asks for it: it is a child like any other.

// cloneStop is childBorn where the kernel calls it a clone.
func (p *Process) cloneStop(t *task, _ unix.Signal) { p.born(t, true) }

// adoptKin makes kin of a child that was just born, where it is.
func (p *Process) adoptKin(t, c *task, flags uint64, clone bool) {
	switch {
	case !p.controlled(t):
	case flags&unix.CLONE_THREAD != 0:
		c.kin = t.kin
	case clone && flags&unix.CLONE_VFORK == 0:
		c.kin = true
	}
	if c.kin && c.state != starting { // its first stop came before
		p.numberBirth(c)
	}
}

// leaveKin lets kin go that runs another program.
func (p *Process) leaveKin(t *task) {
	if !t.kin {
		return
	}
	if p.ctl.opt.Threads {
		p.report(Stop{Kind: StopThreadExit, TID: t.tid})
	}
	p.tellNoneRuns(t)
}

// killKin ends kin with the process.
func (p *Process) killKin() {
	for _, t := range p.tasks {
		if t.kin {
			_ = unix.Kill(t.tgid, unix.SIGKILL) // ESRCH: it has ended by itself
		}
	}
}
