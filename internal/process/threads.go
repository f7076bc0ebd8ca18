package process

import "github.com/jalon-trace/jalon/internal/process/sys"

func (p *Process) reportBorn(t *task) {
	var regs Regs
	if sys.GetRegs(t.tid, &regs) == nil {
		t.fs = regs.ThreadPointer()
	}
	p.inheritMask(t)
	p.numberBirth(t)
	p.reportThread(ThreadBorn, t)
}

// numberBirth notes in which order the threads that the caller sees were born.
func (p *Process) numberBirth(t *task) {
	if p.ctl != nil {
		p.ctl.births++
		t.dbg.birth = p.ctl.births
	}
}

func (p *Process) reportDied(t *task) {
	if t.died {
		return
	}
	t.died = true
	if !t.cloneChild { // its birth was not reported: it may have the thread pointer of another
		p.reportThread(ThreadDied, t)
	}
}

// noteFS reports a thread pointer that was set since the thread was last looked
// at: libc's startup does it, after the thread's birth.
func (p *Process) noteFS(t *task) {
	if !p.member(t) {
		return
	}
	var regs Regs
	if sys.GetRegs(t.tid, &regs) == nil {
		p.noteFSIn(t, &regs)
	}
}

func (p *Process) noteFSIn(t *task, regs *Regs) {
	if p.member(t) && regs.ThreadPointer() != t.fs {
		t.fs = regs.ThreadPointer()
		p.reportThread(ThreadMoved, t)
	}
}

func (p *Process) reportThread(kind ThreadKind, t *task) {
	if p.cfg.OnThread != nil {
		p.cfg.OnThread(ThreadEvent{kind, t.tid, t.fs, sys.CommOf(t.tid), sys.Monotonic()})
	}
}

// applyPC sets the pc that was asked for while the thread could not be reached.
func (p *Process) applyPC(t *task) {
	if t.newPC == 0 {
		return
	}
	var regs Regs
	if sys.GetRegs(t.tid, &regs) == nil {
		regs.SetPC(t.newPC)
		_ = sys.SetRegs(t.tid, &regs)
	}
	t.newPC = 0
}
