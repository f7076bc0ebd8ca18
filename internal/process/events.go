package process

import (
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/inject"
	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// effect is an action that the table of threads requests.
type effect = threads.Effect[*task]

// handleStop handles one state change. Afterwards the thread runs again, unless it is held or the world is
// stopped. Package threads decides what each state change of a thread requires.
func (p *driver) handleStop(tid int, ws unix.WaitStatus) { p.handleReport(threads.Parse(tid, ws)) }

func (p *driver) handleReport(r threads.Report) {
	if p.threads.Asks(r) {
		if st, err := sys.ReadStatus(r.TID); err == nil {
			r.TGID = st.TGID
		}
	}
	t, do := p.threads.Report(r)
	if t != nil {
		t.handling++
		defer func() { t.handling-- }()
	}
	if t != nil && r.Kind != threads.Ended && p.ctl != nil {
		p.debugger.execute(p.ctl.machine.Stopped(t))
	}
	p.registered.report(t, r.Kind)
	if t != nil && r.Kind != threads.Ended {
		p.nesting.stopped(t)
	}
	p.execute(do)
	if t == nil || r.Kind == threads.Ended {
		return
	}
	t.last = sys.Monotonic()
	p.execute(p.threads.Handled(t))
}

// execute executes the table's effects, in order.
func (p *driver) execute(do []effect) {
	for _, e := range do {
		if !p.executeStop(e) {
			p.executeLife(e)
		}
	}
}

// executeStop does what belongs to a stop of a thread.
func (p *driver) executeStop(e effect) bool {
	switch t := e.T; e.Op {
	case threads.ApplyPC:
		p.applyPC(t)
	case threads.NoteMask:
		p.dispositions.noteMask(t, e.Signal)
	case threads.HandleSignal:
		p.signals.signalStop(t, e.Signal)
	case threads.HandleCall:
		p.debugger.syscallStop(t)
		p.nesting.atCall(t)
	case threads.FindChild:
		p.children.findChild(t, e.Clone)
	case threads.RestoreCopy:
		p.children.restoreCopy(t)
	case threads.ReleaseCopy:
		p.children.release(t)
	case threads.HandleExec:
		p.handleExec(t)
	case threads.HideInterrupt:
		p.hideInterrupt(t)
		if t.dbg.Leaves && t.handling == 1 { // else what its stop was for is not decided yet
			p.debugger.execute(p.ctl.machine.Halted(t))
		}
	case threads.Resume:
		p.world.resume(t)
	default:
		return false
	}
	return true
}

// executeLife does what belongs to the birth and the end of threads.
func (p *driver) executeLife(e effect) {
	switch t := e.T; e.Op {
	case threads.ReportBorn:
		p.reportBorn(t)
	case threads.NumberBirth:
		p.numberBirth(t)
	case threads.TakeMask:
		if t.asBorn {
			p.dispositions.takeMask(t, e.Number)
		}
	case threads.Requeue:
		p.waits.again(e.Report.TID, e.Report.Status)
	case threads.ReportCloned:
		if p.debugger.controlled(t) && p.ctl.machine.Options.Threads {
			p.debugger.stopFor(t, Stop{Kind: StopCloned})
		}
	case threads.VforkDone:
		p.registered.look(t) // its thread pointer was the child's too
		if p.debugger.controlled(t) && p.ctl.machine.Options.VForks {
			p.debugger.stopFor(t, Stop{Kind: StopVForkDone, Child: e.Number})
		}
	case threads.Forget:
		p.children.letGo(t)
	case threads.CloneChildExecs:
		p.children.cloneChildExecs(t)
	case threads.NoteFS:
		p.noteFS(t)
	case threads.ReportDied:
		p.reportDied(t)
	case threads.ReportExit:
		p.debugger.reportExit(t)
	case threads.LetExit:
		_ = sys.Cont(t.TID, 0) // ESRCH: it is gone already
	case threads.ReportNoneRuns:
		p.debugger.reportNoneRuns(t)
	case threads.Reaped:
		delete(p.dispositions.masks, t.TID)
	case threads.Finish:
		p.finish(exitStatus(e.Status))
	}
}

func exitStatus(ws unix.WaitStatus) ExitStatus {
	if ws.Signaled() {
		return ExitStatus{Signal: ws.Signal(), Core: ws.CoreDump()}
	}
	return ExitStatus{Code: ws.ExitStatus()}
}

// finish is the end of the process. Children that borrowed its memory own it now.
func (p *driver) finish(st ExitStatus) {
	if p.threads.Finished {
		return
	}
	p.threads.Finished = true
	p.mu.Lock()
	p.status = st
	p.mu.Unlock()
	p.handovers.leftMemory()
	p.children.orphans()
	if p.cfg.OnExit != nil {
		p.cfg.OnExit(st)
	}
}

// handleExec: the thread, now the only one, is another program.
func (p *driver) handleExec(t *task) {
	t.newPC, t.fs = 0, 0
	p.threads.Expect(p.unannounced(t))
	p.children.orphans()
	p.newImage(t)
	if err := p.world.settle(t); err != nil {
		return // dying
	}
	var regs Regs
	if err := sys.GetRegs(t.TID, &regs); err == sys.ErrNot64 {
		p.waits.later(func() { _ = p.detacher.detach() })
	} else if err == nil {
		p.threads.Frozen++
		p.linker.modulesArm()
		p.threads.Frozen--
	}
	p.reportBorn(t)
	if p.cfg.OnExec != nil && p.cfg.OnExec(t.TID) {
		t.Hold |= threads.HoldCaller
	}
	if p.ctl != nil && p.ctl.machine.Options.Execs {
		p.debugger.stopFor(t, Stop{Kind: StopExec, Path: p.debugger.program()})
	}
	if p.ctl != nil { // settle has gone past the call's return
		t.dbg.Entry = false
		p.debugger.execute(p.ctl.machine.ReportCall(t, unix.SYS_EXECVE))
	}
}

// unannounced returns children whose creators were killed by the exec before the events of their creation
// were seen. All children that t's process has at this moment are of the old program.
func (p *driver) unannounced(t *task) (pids []int) {
	for _, pid := range sys.Children(t.TID) {
		if !p.threads.Knows(pid) && p.attacher.attached(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// newImage discards everything that was known about the old memory.
func (p *driver) newImage(t *task) {
	p.injector.Drop()
	if p.handovers.leftBorrowed != nil { // the old memory lives on, and no thread of this process is in it
		p.space.DropStub()
	}
	p.space.Close()
	p.space = inject.Open(t.TGID)
	p.linker.modules, p.dispositions.trap = modules{}, trapHandler{}
	clear(p.dispositions.actions)
	clear(p.dispositions.masks)
	clear(p.dispositions.faultHandlers)
	p.registered.end()
	p.debugger.controlImage(t)
	p.handovers.leftMemory()
}
