package process

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/procdir"
	"github.com/jalon-trace/jalon/internal/process/runcontrol"
	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// controlImage discards run control's state of the old memory.
func (p *debugger) controlImage(t *task) {
	if p.ctl == nil {
		return
	}
	p.ctl.learnt = false
	p.ctl.machine.NewImage(t)
}

// endControl removes run control from a frozen process that is about to be detached from. Signals that were
// held back are delivered.
func (p *debugger) endControl() {
	if p.ctl == nil {
		return
	}
	p.exclusive.postponeExclusive()
	if p.handovers.leftBorrowed == nil {
		p.breakpoints.liftBreaks(p.space)
	}
	m := p.ctl.machine
	m.Watches = [runcontrol.WatchSlots]runcontrol.Watch{}
	for _, t := range p.listedTasks() {
		d := &t.dbg
		if t.State != threads.Stopped {
			continue
		}
		if d.Gen != 0 {
			_ = p.breakpoints.setWatches(t) // ESRCH: dying
		}
		for _, k := range d.Late {
			p.execute([]runcontrol.Effect[*task]{{Op: runcontrol.SendAgain, T: t, Signal: k}})
		}
		if k := d.Kept; k != nil {
			p.execute(m.Give(t, k.Sig))
		}
		*d = runcontrol.Thread{}
	}
	clear(m.Removed)
	p.ctl = nil
}

// controlBorn holds a thread that has created a process, and the child, where
// ControlOptions ask for that.
func (p *children) controlBorn(t, c *task, flags uint64) {
	if !p.debugger.controlled(t) || flags&unix.CLONE_THREAD != 0 || c.CloneChild {
		return
	}
	kind := StopForked
	switch {
	case flags&unix.CLONE_VM == 0 && p.ctl.machine.Options.Forks:
	case flags&unix.CLONE_VM != 0 && flags&unix.CLONE_VFORK != 0 && p.ctl.machine.Options.VForks:
		kind = StopVForked
	default:
		return
	}
	c.Offered = true
	c.Hold |= threads.HoldDebug
	if c.State == threads.Starting {
		ws, err := p.waits.firstStop(c)
		if err != nil {
			return // killed; its end is reported
		}
		p.driver.handleStop(c.TID, ws)
	}
	p.debugger.stopFor(t, Stop{Kind: kind, Child: c.TID})
}

// firstStop waits for the first stop of a child, which executes nothing before it.
func (p *waiter) firstStop(c *task) (unix.WaitStatus, error) {
	if i := slices.IndexFunc(p.queue, func(w waited) bool { return w.tid == c.TID }); i >= 0 {
		ws := p.queue[i].ws
		if !ws.Stopped() {
			return ws, sys.ErrThreadGone
		}
		p.remove(i)
		return ws, nil
	}
	return p.await(c)
}

// heldChild finds a child of StopForked or StopVForked.
func (p *children) heldChild(pid int) (*task, error) {
	t := p.threads.Get(pid)
	if t == nil || !t.Offered || t.State != threads.Stopped {
		return nil, ErrGone
	}
	return t, nil
}

// ReleaseChild lets a child of StopForked or StopVForked go, as without the option
// in ControlOptions: a copy gets its bytes restored and is detached from, one that
// borrows the memory is traced until it leaves it.
func (p *Process) ReleaseChild(pid int) error {
	return p.controlDo(func() error {
		t, err := p.children.heldChild(pid)
		if err != nil {
			return err
		}
		p.children.releaseChild(t)
		return nil
	})
}

func (p *children) releaseChild(t *task) {
	t.Offered = false
	t.Hold &^= threads.HoldDebug
	if t.Copy {
		p.release(t)
		return
	}
	p.world.resume(t)
}

// releaseChildren releases all children that TakeChild has not taken.
func (p *children) releaseChildren() {
	for _, t := range p.threads.All() {
		if t.Offered && t.Copy && t.State == threads.Stopped {
			p.releaseChild(t)
		}
	}
}

// reportExit reports that a thread ends.
func (p *debugger) reportExit(t *task) {
	if !p.controlled(t) || !p.ctl.machine.Options.Threads || t.dbg.Exited {
		return
	}
	t.dbg.Exited = true
	why := Stop{Kind: StopThreadExit, TID: t.TID}
	if msg, err := sys.EventMessage(t.TID); err == nil {
		if ws := unix.WaitStatus(msg); ws.Signaled() {
			why.Signal = ws.Signal()
		} else {
			why.Code = ws.ExitStatus()
		}
	}
	p.report(why)
}

// reportNoneRuns reports that the only thread that ran has ended, unless the others end
// with it.
func (p *debugger) reportNoneRuns(t *task) {
	if !p.controlled(t) || p.ctl.collect != nil {
		return
	}
	var other *task
	for _, o := range p.threads.All() {
		if o == t || o.State == threads.Exiting || o.Died || !p.threads.Listed(o) {
			continue
		}
		if o.Hold&threads.HoldDebug == 0 {
			return
		}
		other = o
	}
	if other != nil && !dying(other.TID) {
		p.report(Stop{Kind: StopNoneRuns, TID: t.TID})
	}
}

// Ending reports whether the process is ending: each of its threads was killed or has ended.
func (p *Process) Ending() bool {
	runs := false
	_ = p.controlDo(func() error { // ErrGone: it has ended
		for _, t := range p.threads.All() {
			if p.threads.Listed(t) && t.State != threads.Exiting && !t.Died && !dying(t.TID) {
				runs = true
				break
			}
		}
		return nil
	})
	return !runs
}

// dying reports whether a stopped thread was killed, which wakes it.
func dying(tid int) bool {
	var si sys.Siginfo
	st, err := sys.ReadStatus(tid)
	if err != nil || st.Pending&sys.SigBit(unix.SIGKILL) != 0 {
		return true
	}
	return sys.GetSiginfo(tid, &si) != nil || si.Code>>8 == unix.PTRACE_EVENT_EXIT
}

// program is the path of what the process runs.
func (p *debugger) program() string {
	path, err := procdir.Exe(p.pid)
	if err != nil {
		return ""
	}
	return path
}
