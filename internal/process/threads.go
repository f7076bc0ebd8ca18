package process

import "github.com/jalon-trace/jalon/internal/process/sys"

func (p *driver) reportBorn(t *task) {
	var regs Regs
	if sys.GetRegs(t.TID, &regs) == nil {
		t.fs = regs.ThreadPointer()
	}
	p.dispositions.inheritMask(t)
	p.numberBirth(t)
	p.reportThread(ThreadBorn, t)
}

// numberBirth notes in which order the threads that the caller sees were born.
func (p *driver) numberBirth(t *task) {
	if p.ctl != nil {
		p.ctl.births++
		t.dbg.Birth = p.ctl.births
	}
}

func (p *driver) reportDied(t *task) {
	if !t.CloneChild { // its birth was not reported: it may have the thread pointer of another
		p.reportThread(ThreadDied, t)
	}
}

// noteFS reports a thread pointer that was set since the thread was last looked
// at: libc's startup does it, after the thread's birth.
func (p *driver) noteFS(t *task) {
	if !p.threads.Member(t) {
		return
	}
	var regs Regs
	if sys.GetRegs(t.TID, &regs) == nil {
		p.noteFSIn(t, &regs)
	}
}

func (p *driver) noteFSIn(t *task, regs *Regs) {
	if p.threads.Member(t) && regs.ThreadPointer() != t.fs {
		t.fs = regs.ThreadPointer()
		p.reportThread(ThreadMoved, t)
	}
}

func (p *driver) reportThread(kind ThreadKind, t *task) {
	if p.cfg.OnThread != nil {
		p.cfg.OnThread(ThreadEvent{kind, t.TID, t.fs, sys.CommOf(t.TID), sys.Monotonic(), kind == ThreadDied && sys.ThreadState(t.TID) == 't', t.TID == p.pid})
	}
}

// applyPC sets the pc that was asked for while the thread could not be reached.
func (p *driver) applyPC(t *task) {
	if t.newPC == 0 {
		return
	}
	var regs Regs
	if sys.GetRegs(t.TID, &regs) == nil {
		regs.SetPC(t.newPC)
		_ = sys.SetRegs(t.TID, &regs)
	}
	t.newPC = 0
}
