package runcontrol

import "github.com/jalon-trace/jalon/internal/process/threads"

// StopFor holds a thread for a reason. One that is in the midst of generated code is
// led out first.
func (m *Machine[T]) StopFor(t T, why Stop) []Effect[T] {
	d := t.Control()
	why.TID = t.Core().TID
	if d.Why != nil {
		d.Pending = append(d.Pending, why)
		return nil
	}
	d.Why = &why
	if d.Exclusive != nil {
		return nil // reported when it is done
	}
	if m.Inside(t) {
		return m.needExclusive(t)
	}
	return m.report(t)
}

// report reports why a thread is stopped.
func (m *Machine[T]) report(t T) []Effect[T] {
	d := t.Control()
	why := *d.Why
	d.Why = nil
	if t.Core().Hold&threads.HoldDebug != 0 {
		d.Pending = append(d.Pending, why)
		return nil
	}
	t.Core().Hold |= threads.HoldDebug
	d.Step, d.Leaves, d.Halted = false, false, why.Kind == StopHalted
	return one(Effect[T]{Op: Report, T: t, Stop: why})
}

// Arrived reports a stopped thread's pending events once its pc is a user address.
func (m *Machine[T]) Arrived(t T) []Effect[T] {
	if d := t.Control(); d.Made {
		d.Made = false
		do, asks := m.stepMade(t)
		if asks {
			return do // Stepped goes on
		}
		return then(do, t, m.arrivedLast)
	}
	return m.arrivedLast(t)
}

func (m *Machine[T]) arrivedLast(t T) (do []Effect[T]) {
	d := t.Control()
	if d.Why != nil {
		do = m.report(t)
	}
	if len(d.Late) > 0 {
		return then(do, t, m.late)
	}
	return then(do, t, m.Halted)
}

// Halted holds a thread that was to halt and has reached a stop that is not reported by itself.
func (m *Machine[T]) Halted(t T) []Effect[T] {
	if !m.mayHalt(t, threads.HoldExclusive|threads.HoldDebug) || t.Core().Sig != 0 {
		return nil
	}
	if t.Core().Stop == threads.StopGroup && m.View.Waits(t) {
		return one(Effect[T]{Op: FlushFault, T: t})
	}
	return m.haltHere(t)
}

// HaltFlushed is Halted after FlushFault.
func (m *Machine[T]) HaltFlushed(t T) []Effect[T] {
	if !m.Table.Has(t) || t.Core().State != threads.Stopped || !m.mayHalt(t, threads.HoldExclusive) {
		return nil
	}
	return m.haltHere(t)
}

func (m *Machine[T]) mayHalt(t T, held threads.HoldSet) bool {
	d := t.Control()
	return d.Leaves && d.Why == nil && t.Core().Hold&held == 0
}

func (m *Machine[T]) haltHere(t T) []Effect[T] {
	th := t.Core()
	still := th.Hold&(threads.HoldCaller|threads.HoldVfork) != 0 // it would not go on to such a stop
	if still || (th.Stop == threads.StopTrap || th.Stop == threads.StopGroup) && !m.View.Waits(t) {
		return m.StopFor(t, Stop{Kind: StopHalted})
	}
	return nil
}

// HaltNow holds a thread of a frozen world whose pc is a user address, or that is parked.
func (m *Machine[T]) HaltNow(t T) (halted bool) {
	d := t.Control()
	if t.Core().Hold&threads.HoldDebug != 0 {
		return false
	}
	t.Core().Hold |= threads.HoldDebug
	d.Step, d.Leaves, d.Halted = false, false, true
	return true
}
