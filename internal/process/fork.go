package process

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/sys"
)

func (p *Process) childBorn(t *task, _ unix.Signal) { p.born(t, false) }

// born: t has created a thread or a process; clone says what the kernel calls it. We
// are attached to it already; it stops (PTRACE_EVENT_STOP) before its first instruction.
func (p *Process) born(t *task, clone bool) {
	tid, err := sys.EventMessage(t.tid)
	if err != nil || tid == 0 {
		return // t is dying; the child shows up by itself
	}
	c := p.tasks[tid]
	if c == nil && p.unborn(tid) {
		return // all of its life was seen before
	}
	if c == nil {
		c = &task{tid: tid, state: starting}
		p.tasks[tid] = c
	}
	c.creator = t.tid
	if c.asBorn {
		p.takeMask(c, t.tid)
	}
	flags, known := p.cloneFlags(t)
	if !known {
		flags = guessFlags(tid, t.tgid)
	}
	switch {
	case flags&unix.CLONE_THREAD != 0:
		c.tgid = t.tgid
	case flags&unix.CLONE_VM != 0:
		c.tgid = tid
		if flags&unix.CLONE_VFORK != 0 {
			// The kernel makes the parent wait in a way that cannot be stopped.
			// Held here instead, it can be.
			t.hold |= holdVfork
			t.child = tid
		}
	default:
		c.tgid, c.fork = tid, true
	}
	p.adoptCloneChild(t, c, flags, clone)
	if ws, ok := p.early[tid]; ok {
		delete(p.early, tid)
		p.queue = append(p.queue, waited{tid, ws})
	}
	p.controlBorn(t, c, flags)
}

// cloneFlags reads the flags of the clone, clone3, fork or vfork that t is in.
func (p *Process) cloneFlags(t *task) (flags uint64, ok bool) {
	var regs Regs
	if sys.GetRegs(t.tid, &regs) != nil {
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

// guessFlags looks at what came of a clone whose arguments are not to be had.
func guessFlags(tid, tgid int) uint64 {
	if st, err := sys.ReadStatus(tid); err == nil && st.TGID == tgid {
		return unix.CLONE_THREAD | unix.CLONE_VM
	}
	return 0
}

// vforkDone lets parents go on whose child has left the shared memory.
func (p *Process) vforkDone(tgid int) {
	for _, t := range p.tasks {
		if t.hold&holdVfork != 0 && t.child == tgid {
			t.hold &^= holdVfork
			t.child = 0
			if p.controlled(t) && p.ctl.opt.VForks {
				p.stopFor(t, Stop{Kind: StopVForkDone, Child: tgid})
			}
			p.resume(t)
		}
	}
}

// release lets a stopped child go that owns its copy of the memory.
func (p *Process) release(t *task) {
	p.restoreCopy(t)
	if p.tasks[t.tid] == t && t.state == stopped {
		p.forget(t)
	}
}

// restoreCopy takes what is ours out of such a copy, and hands the child to OnFork.
func (p *Process) restoreCopy(t *task) {
	t.leaving = true
	sp := newSpace(t.tgid)
	defer sp.Close()
	sp.inheritStub(p.space)
	p.modulesDisarm(sp)
	p.liftBreaks(sp)
	s := &Stopped{p: p, sp: sp, only: t}
	p.frozen++
	if p.cfg.OnFork != nil {
		p.cfg.OnFork(s)
	}
	if p.tasks[t.tid] == t {
		_ = s.RemoveTrapHandler() // errors here and below: the child is gone
		p.freeScratch(sp, t)
	}
	_ = p.endInjection()
	p.frozen--
	s.sp = nil
}

// forget lets a stopped thread go for good.
func (p *Process) forget(t *task) {
	delete(p.tasks, t.tid)
	delete(p.masks, t.tid)
	delete(p.recovers, t.tid)
	_ = sys.Detach(t.tid, t.sig) // ESRCH: it is dying
}

// orphans are children that shared the memory of a program that is no more (it
// ended, or called exec), or whose creator died before its event was seen.
// They have the patched code in their memory.
func (p *Process) orphans() {
	for tid, ws := range p.early {
		delete(p.early, tid)
		p.tasks[tid] = &task{tid: tid, tgid: tid, fork: true, state: starting}
		p.handleStop(tid, ws)
	}
	for _, t := range p.tasks {
		if p.member(t) || t.state == exiting {
			continue
		}
		t.fork, t.cloneChild = true, false
		if t.state == stopped {
			t.hold, t.dbg = 0, stopState{}
			if p.settle(t) == nil && p.tasks[t.tid] == t {
				p.release(t)
			}
			continue
		}
		p.interrupt(t)
		if ws, err := p.await(t); err == nil {
			p.handleStop(t.tid, ws)
			if p.tasks[t.tid] == t && t.state == stopped && p.settle(t) == nil && p.tasks[t.tid] == t {
				p.release(t)
			}
		}
	}
}
