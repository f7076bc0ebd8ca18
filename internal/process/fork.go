package process

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/inject"
	"github.com/jalon-trace/jalon/internal/process/runcontrol"
	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// findChild: t has created a thread or a process; clone says that the kernel reports a
// clone. We are attached to it already; it stops (PTRACE_EVENT_STOP) before its first
// instruction.
func (p *children) findChild(t *task, clone bool) {
	tid, err := sys.EventMessage(t.TID)
	if err != nil || tid == 0 {
		return // t is dying; the child shows up by itself
	}
	flags, known := p.cloneFlags(t)
	if !known {
		flags = guessFlags(tid, t.TGID)
	}
	c, do, ok := p.threads.Birth(t, tid, flags, clone, p.debugger.controlled(t))
	if !ok {
		return
	}
	p.driver.execute(do)
	p.controlBorn(t, c, flags)
}

// cloneFlags reads the flags of the clone, clone3, fork or vfork that t is in.
func (p *children) cloneFlags(t *task) (flags uint64, ok bool) {
	var regs Regs
	if sys.GetRegs(t.TID, &regs) != nil {
		return 0, false
	}
	switch nr := regs.Call(); nr {
	case unix.SYS_CLONE:
		return regs.CallArg(0), true
	case unix.SYS_CLONE3:
		var b [8]byte
		if p.space.Read(regs.CallArg(0), b[:]) != nil {
			return 0, false
		}
		return binary.LittleEndian.Uint64(b[:]), true
	default:
		flags, ok = sys.PlainForks[nr]
		return flags, ok // false: int $0x80 in a 64-bit program
	}
}

// guessFlags finds the flags of a clone from its result, if its arguments cannot be read.
func guessFlags(tid, tgid int) uint64 {
	if st, err := sys.ReadStatus(tid); err == nil && st.TGID == tgid {
		return unix.CLONE_THREAD | unix.CLONE_VM
	}
	return 0
}

// leavesMemory resumes the parents that wait for a child process which has left the shared memory.
func (p *children) leavesMemory(tgid int) { p.driver.execute(p.threads.LeavesMemory(tgid)) }

// release detaches from a stopped child that has a copy of the memory.
func (p *children) release(t *task) {
	p.restoreCopy(t)
	if p.threads.Has(t) && t.State == threads.Stopped {
		p.forget(t)
	}
}

// restoreCopy removes our changes from such a copy and passes the child to OnFork.
func (p *children) restoreCopy(t *task) {
	t.Leaving = true
	sp := inject.Open(t.TGID)
	defer sp.Close()
	sp.InheritStub(p.space)
	p.linker.modulesDisarm(sp)
	p.breakpoints.liftBreaks(sp)
	s := &Stopped{p: p.tracer, sp: sp, only: t}
	p.threads.Frozen++
	if p.cfg.OnFork != nil {
		p.cfg.OnFork(s)
	}
	if p.threads.Has(t) {
		_ = s.RemoveTrapHandler() // errors here and below: the child is gone
		p.injector.FreeScratch(sp, t)
	}
	_ = p.injector.End()
	p.threads.Frozen--
	s.sp = nil
}

// forget lets a stopped thread go for good.
func (p *children) forget(t *task) {
	p.threads.Remove(t.TID)
	p.letGo(t)
}

func (p *children) letGo(t *task) {
	delete(p.dispositions.masks, t.TID)
	p.injector.Forget(t.TID)
	_ = sys.Detach(t.TID, t.Sig) // ESRCH: it is dying
}

// orphans are children that shared the memory of a program that ended or called exec, or whose creator died
// before the event of their creation was seen. They have the patched code in their memory.
func (p *children) orphans() {
	for _, r := range p.threads.Early() {
		p.driver.handleReport(r)
	}
	for _, t := range p.threads.Orphans() {
		switch {
		case !p.threads.Has(t) || t.State == threads.Exiting:
			continue
		case t.State == threads.Stopped:
			t.dbg = runcontrol.Thread{}
		default:
			p.world.interrupt(t)
			ws, err := p.waits.await(t)
			if err != nil {
				continue
			}
			p.driver.handleStop(t.TID, ws)
		}
		if p.threads.Has(t) && t.State == threads.Stopped && p.world.settle(t) == nil && p.threads.Has(t) {
			p.release(t)
		}
	}
}
