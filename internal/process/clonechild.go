package process

import "golang.org/x/sys/unix"

// A clone that is neither a thread of the process (CLONE_THREAD) nor ends with SIGCHLD nor borrows its parent
// (CLONE_VFORK) is reported by the kernel as a clone, as threads are, and debuggers take it for one. So does
// run control: such a clone child is listed, halted, resumed and stepped among the threads, and its signals
// are reported. It is nevertheless a separate process:
//
//   - what goes to the process (exec, exit, its signals and their actions) does not go
//     to it; when the process ends or calls exec it is let go, Kill ends it too
//   - one with a copy of the memory (no CLONE_VM) has none of our bytes: breakpoints and tracepoints do not
//     apply to it, and memory is read from the process
//
// Without run control it is a child like any other.

// cloneChildExecs lets a clone child go that runs another program.
func (p *children) cloneChildExecs(t *task) {
	if !t.CloneChild {
		return
	}
	if p.ctl.machine.Options.Threads {
		p.debugger.report(Stop{Kind: StopThreadExit, TID: t.TID})
	}
	p.debugger.reportNoneRuns(t)
}

// killCloneChildren ends the clone children with the process.
func (p *children) killCloneChildren() {
	for _, t := range p.threads.All() {
		if t.CloneChild {
			_ = unix.Kill(t.TGID, unix.SIGKILL) // ESRCH: it has ended by itself
		}
	}
}
