package process

import "golang.org/x/sys/unix"

// monotonic is CLOCK_MONOTONIC in nanoseconds.
func monotonic() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // fails for unknown clocks only
	return ts.Nano()
}

func (p *Process) tellBorn(t *task) {
	var regs Regs
	if getRegs(t.tid, &regs) == nil {
		t.fs = regs.ThreadPointer()
	}
	p.inheritMask(t)
	p.numberBirth(t)
	p.tell(ThreadBorn, t)
}

// numberBirth notes which thread of those that the owner sees it is.
func (p *Process) numberBirth(t *task) {
	if p.ctl != nil {
		p.ctl.births++
		t.dbg.birth = p.ctl.births
	}
}

func (p *Process) tellDied(t *task) {
	if t.died {
		return
	}
	t.died = true
	if !t.kin { // its birth was not told: it may have the thread pointer of another
		p.tell(ThreadDied, t)
	}
}

// noteFS tells of a thread pointer that was set since the thread was last looked
// at: libc's startup does it, after the thread's birth.
func (p *Process) noteFS(t *task) {
	if !p.member(t) {
		return
	}
	var regs Regs
	if getRegs(t.tid, &regs) == nil {
		p.noteFSIn(t, &regs)
	}
}

func (p *Process) noteFSIn(t *task, regs *Regs) {
	if p.member(t) && regs.ThreadPointer() != t.fs {
		t.fs = regs.ThreadPointer()
		p.tell(ThreadMoved, t)
	}
}

func (p *Process) tell(kind ThreadKind, t *task) {
	if p.cfg.OnThread != nil {
		p.cfg.OnThread(ThreadEvent{kind, t.tid, t.fs, commOf(t.tid), monotonic()})
	}
}

// applyPC sets the pc that was asked for while the thread could not be reached.
func (p *Process) applyPC(t *task) {
	if t.newPC == 0 {
		return
	}
	var regs Regs
	if getRegs(t.tid, &regs) == nil {
		regs.SetPC(t.newPC)
		_ = setRegs(t.tid, &regs)
	}
	t.newPC = 0
}
