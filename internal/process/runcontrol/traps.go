package runcontrol

// Int3 handles an int3 that was executed. ours: it is not the program's, and is suppressed.
func (m *Machine[T]) Int3(t T, pc uint64) (do []Effect[T], ours bool) {
	d, addr := t.Control(), pc-1
	switch x := d.Exclusive; {
	case t.Core().Copy: // none of ours is in its memory
	case x != nil && x.Temps[addr]:
		x.Done = true
		return back(t, addr), true
	case x != nil && d.Over == addr:
		x.Done = true // the byte below is an int3 itself
	case m.Breaks[addr] && x != nil: // led out of generated code to it: it comes here again
		x.Done = true
		return back(t, addr), true
	case m.Breaks[addr]:
		return then(back(t, addr), t, func(t T) []Effect[T] { return m.hit(t, addr) }), true
	case m.Removed[addr] && !m.View.Int3(addr):
		return back(t, addr), true
	}
	return nil, false
}

// back sets the pc back to an int3 that is not the program's.
func back[T Entry](t T, addr uint64) []Effect[T] {
	return []Effect[T]{{Op: SetPC, T: t, Addr: addr}, {Op: Repair, T: t}}
}

// hit: a thread has come to a breakpoint of the caller.
func (m *Machine[T]) hit(t T, addr uint64) []Effect[T] {
	d := t.Control()
	regs, ok := m.View.Regs(t)
	if !ok {
		return nil // dying
	}
	if !m.Table.Listed(t) || d.Again == (Again{addr, regs.SP}) {
		d.Again = Again{}
		return m.Verdict(t, addr, BreakGo)
	}
	return one(Effect[T]{Op: AskBreak, T: t, Addr: addr})
}

// Verdict is what becomes of a thread at a breakpoint.
func (m *Machine[T]) Verdict(t T, addr uint64, v BreakVerdict) []Effect[T] {
	if v == BreakStop {
		return m.StopFor(t, Stop{Kind: StopBreakpoint, Addr: addr})
	}
	if v == BreakStep {
		t.Control().Inner = true
	}
	m.Begin(t)
	if v == BreakPast {
		return then(one(Effect[T]{Op: SetPC, T: t, Addr: addr + 1}), t, m.Executed)
	}
	return one(Effect[T]{Op: Emulate, T: t, Addr: addr})
}

// Executed: the instruction under a breakpoint was executed.
func (m *Machine[T]) Executed(t T) []Effect[T] {
	d := t.Control()
	d.Made = true
	if (d.Step || d.Inner) && m.Inside(t) {
		return m.needExclusive(t)
	}
	return m.Arrived(t)
}

// StepOver: the instruction under a breakpoint is to be executed exclusively.
func (m *Machine[T]) StepOver(t T, addr uint64) []Effect[T] {
	t.Control().Over = addr
	return m.needExclusive(t)
}

// Watch handles the debug registers that have triggered, a bit each.
func (m *Machine[T]) Watch(t T, triggered uint64) (do []Effect[T], ours bool) {
	if triggered&(1<<WatchSlots-1) == 0 {
		return nil, false
	}
	do = []Effect[T]{{Op: ClearWatch, T: t}, {Op: Repair, T: t}}
	for i, w := range m.Watches {
		if triggered>>i&1 == 0 || !w.On {
			continue
		}
		why := Stop{Kind: StopWatch, Addr: w.Addr, Slot: i}
		if w.Kind == WatchExec {
			why.Kind = StopHardwareBreak
		}
		return then(do, t, func(t T) []Effect[T] {
			if t.Control().Why != nil {
				return nil
			}
			return m.StopFor(t, why)
		}), true // one is reported
	}
	return do, true // of one that was cleared meanwhile: not the program's either
}

// StepTrap handles the trap of a single step of ours; else the program has set the trap flag
// itself.
func (m *Machine[T]) StepTrap(t T) (do []Effect[T], ours bool) {
	a := &t.Control().Armed
	if !a.On {
		return nil, false
	}
	a.On = false
	do = one(Effect[T]{Op: Repair, T: t})
	if a.Insn == InsnCall || a.Insn == InsnPushf || a.Insn == InsnPopf {
		do = append(do, Effect[T]{Op: FixStep, T: t, Insn: a.Insn})
	}
	return then(do, t, m.landed), true
}

// landed: a single step is made.
func (m *Machine[T]) landed(t T) []Effect[T] {
	d := t.Control()
	if x := d.Exclusive; x != nil && x.armed {
		x.Done = true
		return nil
	}
	d.Made = true
	switch {
	case d.Exclusive != nil: // an earlier step's
		return nil
	case m.Inside(t):
		return m.needExclusive(t)
	}
	return m.Arrived(t)
}
