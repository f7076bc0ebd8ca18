package runcontrol

import "github.com/jalon-trace/jalon/internal/process/threads"

// Prepare sets the action of a thread for when the caller resumes it.
func (m *Machine[T]) Prepare(t T, r Resumption) []Effect[T] {
	d := t.Control()
	d.Step, d.Lo, d.Hi, d.Leaves, d.Halted = r.Step, r.Lo, r.Hi, false, false
	if d.Step || d.Inner {
		m.Begin(t)
	}
	if len(d.Pending) == 0 {
		return m.Give(t, r.Signal)
	}
	d.Kept = nil // it stays: the signal too
	if r.Signal == 0 {
		return nil
	}
	return one(Effect[T]{Op: SendAgain, T: t, Signal: Signal{Sig: r.Signal}})
}

// Release ends the caller's hold. If a stop has arrived meanwhile, it is reported and the thread stays
// stopped; otherwise it may be resumed.
func (m *Machine[T]) Release(t T) (do []Effect[T], stays bool) {
	d := t.Control()
	t.Core().Hold &^= threads.HoldDebug
	if len(d.Pending) == 0 {
		return nil, false
	}
	why := d.Pending[0]
	d.Pending = d.Pending[1:]
	return m.StopFor(t, why), true
}

// NewImage drops the state of the old program's memory.
func (m *Machine[T]) NewImage(t T) {
	clear(m.Breaks)
	clear(m.Removed)
	m.Watches, m.Gen = [WatchSlots]Watch{}, 0
	m.Table.PostponeExclusive()
	d := t.Control()
	*d = Thread{Birth: d.Birth, Leaves: d.Leaves, Step: d.Step, Lo: d.Lo, Hi: d.Hi, Sent: d.Sent}
}

// BreakGone: the caller's breakpoint at an address was removed. A pending hit is no longer reported.
func (m *Machine[T]) BreakGone(addr uint64) {
	delete(m.Breaks, addr)
	m.Removed[addr] = true
	for _, t := range m.Table.All() {
		if d := t.Control(); d.Again.Addr == addr {
			d.Again = Again{}
		}
	}
}
