package process

import (
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/sys"
)

// stopHandler gives the handler of each kind of stop (the upper half of the wait
// status). What is not listed was not asked for (seccomp, vfork-done) and is
// simply resumed.
//
//	stop                     meaning                          what is done
//	signal-delivery-stop     a signal is about to arrive      signals.go
//	PTRACE_EVENT_STOP/TRAP   interrupted, or newly born       resume
//	PTRACE_EVENT_STOP/other  group-stop (SIGSTOP, ^Z)         PTRACE_LISTEN: as without us
//	clone                    a thread, or a process that      trace it
//	                         shares the memory
//	fork                     a copy of the process            restore its bytes, let it go
//	vfork                    child borrows the memory         trace it, parent waits for its exec or exit
//	exec                     another program                  forget everything, OnExec
//	exit                     the thread runs no more          never wait for its stop again
func stopHandler(event int) func(p *Process, t *task, sig unix.Signal) {
	switch event {
	case 0:
		return (*Process).signalStop
	case unix.PTRACE_EVENT_STOP:
		return (*Process).eventStop
	case unix.PTRACE_EVENT_CLONE:
		return (*Process).cloneStop
	case unix.PTRACE_EVENT_FORK, unix.PTRACE_EVENT_VFORK:
		return (*Process).childBorn
	case unix.PTRACE_EVENT_EXEC:
		return (*Process).execStop
	case unix.PTRACE_EVENT_EXIT:
		return (*Process).exitStop
	}
	return func(*Process, *task, unix.Signal) {}
}

// handleStop handles one state change. Afterwards the thread runs again, unless it is
// held or the world is stopped.
func (p *Process) handleStop(tid int, ws unix.WaitStatus) {
	t := p.tasks[tid]
	if t == nil {
		if !ws.Stopped() {
			if _, ok := p.early[tid]; ok {
				delete(p.early, tid)
				p.endUnborn(tid)
			}
			return
		}
		if t = p.adopt(tid, ws); t == nil {
			return
		}
	}
	if ws.Exited() || ws.Signaled() {
		p.reaped(t, ws)
		return
	}
	first := t.state == starting
	sig := sys.SignalOf(ws)
	t.state, t.sig, t.asked, t.stop = stopped, 0, false, stopEvent
	p.applyPC(t)
	if first && p.member(t) {
		p.reportBorn(t)
	} else if first && t.cloneChild {
		p.numberBirth(t)
	}
	if forced := sig; !first {
		if sys.EventOf(ws) != 0 {
			forced = 0
		}
		p.noteMask(t, forced)
	}
	stopHandler(sys.EventOf(ws))(p, t, sig)
	if first && p.controlled(t) && p.ctl.opt.Threads && t.state == stopped {
		p.stopFor(t, Stop{Kind: StopCloned})
	}
	t.last = sys.Monotonic()
	if p.tasks[tid] == t && t.state == stopped {
		p.hideInterrupt(t)
		if t.dbg.leaves {
			p.halted(t)
		}
		p.resume(t)
	}
}

// adopt takes in a thread whose creator's event has not been seen yet, when it is
// one of the process; a new process must wait for that event, which says whether
// it shares the memory.
func (p *Process) adopt(tid int, ws unix.WaitStatus) *task {
	delete(p.endedUnborn, tid) // of another one, whose creator died before its event
	st, err := sys.ReadStatus(tid)
	if err == nil && (st.TGID == p.pid || p.tasks[st.TGID] != nil && st.TGID != tid) {
		t := &task{tid: tid, tgid: st.TGID, state: starting, adopted: true}
		p.tasks[tid] = t
		return t
	}
	p.early[tid] = ws
	return nil
}

// endUnborn notes the end of a thread whose creator's event has not been seen yet. On a
// busy machine the creator may come to its stop only after all of the new thread's life.
// To take the number in then would be to wait for ever for a thread that is no more.
func (p *Process) endUnborn(tid int) {
	if p.endedUnborn == nil {
		p.endedUnborn = map[int]bool{}
	}
	p.endedUnborn[tid] = true
}

// unborn reports whether that was noted of the thread that its creator's event names now.
func (p *Process) unborn(tid int) bool {
	was := p.endedUnborn[tid]
	delete(p.endedUnborn, tid)
	return was
}

// eventStop: PTRACE_EVENT_STOP. A thread that is resumed from a group-stop by
// SIGCONT comes here too, with SIGTRAP.
func (p *Process) eventStop(t *task, sig unix.Signal) {
	t.stop = stopTrap
	if sig != unix.SIGTRAP {
		t.stop = stopGroup
	}
	switch {
	case !t.fork || t.leaving || t.dbg.child:
	case t.cloneChild:
		p.restoreCopy(t)
	default:
		p.release(t)
	}
}

// exitStop: the thread is on its way out; registers and memory can be read for the
// last time. It goes on even while the world is stopped.
func (p *Process) exitStop(t *task, _ unix.Signal) {
	p.noteFS(t)
	p.reportDied(t)
	p.reportExit(t)
	t.state, t.hold = exiting, 0
	_ = sys.Cont(t.tid, 0) // ESRCH: it is gone already
	p.reportNoneRuns(t)
}

// reaped: the thread does not exist any more.
func (p *Process) reaped(t *task, ws unix.WaitStatus) {
	delete(p.tasks, t.tid)
	delete(p.masks, t.tid)
	if t.adopted && t.creator == 0 {
		p.endUnborn(t.tid)
	}
	if !p.member(t) {
		if t.tid == t.tgid {
			p.vforkDone(t.tgid)
		}
		return
	}
	p.reportDied(t)
	if t.tid == p.pid || !p.anyMember() {
		// The leader's end is reported when all others are gone.
		st := ExitStatus{Code: ws.ExitStatus(), Core: ws.CoreDump()}
		if ws.Signaled() {
			st.Code, st.Signal = 0, ws.Signal()
		}
		p.finish(st)
	}
}

func (p *Process) anyMember() bool {
	for _, t := range p.tasks {
		if p.member(t) {
			return true
		}
	}
	return false
}

// finish is the end of the process. Children that borrowed its memory own it now.
func (p *Process) finish(st ExitStatus) {
	if p.finished {
		return
	}
	p.finished = true
	p.mu.Lock()
	p.status = st
	p.mu.Unlock()
	p.leftMemory()
	p.orphans()
	if p.cfg.OnExit != nil {
		p.cfg.OnExit(st)
	}
}

// execStop: the thread, now the only one, is another program. Its id is that of
// the process, whatever it was before.
func (p *Process) execStop(t *task, _ unix.Signal) {
	if t.tgid != p.pid {
		// A vfork child that leaves our memory, and with it our interest.
		p.forget(t)
		p.vforkDone(t.tgid)
		p.cloneChildExecs(t)
		return
	}
	for tid, o := range p.tasks {
		if o != t && p.member(o) {
			p.reportDied(o)
			delete(p.tasks, tid)
			delete(p.masks, tid)
		}
	}
	if t.died { // the old leader, whose id the caller of exec took over
		t.died = false
	}
	t.hold, t.child, t.newPC, t.fs = 0, 0, 0, 0
	p.orphans()
	p.newImage(t)
	if err := p.settle(t); err != nil {
		return // dying
	}
	var regs Regs
	if err := sys.GetRegs(t.tid, &regs); err == sys.ErrNot64 {
		p.late = append(p.late, func() { _ = p.detach() })
	} else if err == nil {
		p.frozen++
		p.modulesArm()
		p.frozen--
	}
	p.reportBorn(t)
	if p.cfg.OnExec != nil && p.cfg.OnExec(t.tid) {
		t.hold |= holdCaller
	}
	if p.ctl != nil && p.ctl.opt.Execs {
		p.stopFor(t, Stop{Kind: StopExec, Path: p.program()})
	}
	if p.ctl != nil { // settle has gone past the call's return
		t.dbg.entry = false
		p.reportCall(t, unix.SYS_EXECVE)
	}
}

// newImage forgets all that was known of the old memory.
func (p *Process) newImage(t *task) {
	p.dropInjection()
	if p.leftBorrowed != nil { // the old memory lives on, and no thread of this process is in it
		p.space.dropStub()
	}
	p.space.Close()
	p.space = newSpace(t.tgid)
	p.modules, p.trap = modules{}, trapHandler{}
	clear(p.actions)
	clear(p.masks)
	clear(p.faultHandlers)
	p.controlImage(t)
	p.leftMemory()
}
