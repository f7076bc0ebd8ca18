package process

import "golang.org/x/sys/unix"

// A clone that is neither a thread of the process (CLONE_THREAD) nor ends with SIGCHLD
// nor borrows its parent (CLONE_VFORK) is reported by the kernel as a clone, as threads
// are, and debuggers take it for one. So does run control: such a clone child is listed, halted,
// resumed and stepped among the threads, and its signals are reported. It is a process of
// its own still:
//
//   - what goes to the process (exec, exit, its signals and their actions) does not go
//     to it; when the process ends or calls exec it is let go, Kill ends it too
//   - one with a copy of the memory (no CLONE_VM) has none of our bytes there: neither
//     breakpoints nor tracepoints are for it, and what is read of memory is that of the
//     process
//
// Without run control it is a child like any other.

// cloneStop is childBorn where the kernel reports a clone.
func (p *Process) cloneStop(t *task, _ unix.Signal) { p.born(t, true) }

// adoptCloneChild marks a child that was just born as a clone child, where it is one.
func (p *Process) adoptCloneChild(t, c *task, flags uint64, clone bool) {
	switch {
	case !p.controlled(t):
	case flags&unix.CLONE_THREAD != 0:
		c.cloneChild = t.cloneChild
	case clone && flags&unix.CLONE_VFORK == 0:
		c.cloneChild = true
	}
	if c.cloneChild && c.state != starting { // its first stop came before
		p.numberBirth(c)
	}
}

// cloneChildExecs lets a clone child go that runs another program.
func (p *Process) cloneChildExecs(t *task) {
	if !t.cloneChild {
		return
	}
	if p.ctl.opt.Threads {
		p.report(Stop{Kind: StopThreadExit, TID: t.tid})
	}
	p.reportNoneRuns(t)
}

// killCloneChildren ends the clone children with the process.
func (p *Process) killCloneChildren() {
	for _, t := range p.tasks {
		if t.cloneChild {
			_ = unix.Kill(t.tgid, unix.SIGKILL) // ESRCH: it has ended by itself
		}
	}
}
