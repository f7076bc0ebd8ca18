package process

// controlImage forgets what run control knew of the old memory.
func (p *Process) controlImage(t *task) {
	if p.ctl == nil {
		return
	}
	c := p.ctl
	clear(c.user)
	clear(c.removed)
	c.watches, c.gen, c.learnt, c.work = [watchSlots]watch{}, 0, false, nil
	old := t.dbg
	t.dbg = standing{birth: old.birth, leaves: old.leaves, step: old.step, lo: old.lo, hi: old.hi, made: old.made}
}

// endControl takes everything of run control out of a frozen process that is about
// to be let go. Signals that were kept are delivered.
func (p *Process) endControl() {
	if p.ctl == nil {
		return
	}
	p.postpone()
	p.liftBreaks(p.space)
	p.ctl.watches = [watchSlots]watch{}
	for _, t := range p.memberTasks() {
		d := &t.dbg
		if t.state != stopped {
			continue
		}
		if d.gen != 0 {
			_ = p.setWatches(t) // ESRCH: dying
		}
		for _, k := range d.late {
			p.sendAgain(t, k)
		}
		if k := d.kept; k != nil {
			p.giveSignal(t, k.sig)
		}
		*d = standing{}
	}
	clear(p.ctl.removed)
	p.ctl = nil
}
