package runcontrol

import (
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// Signal decides about a signal of the program (the thread's Sig) that is about to be
// delivered.
//
//	during an exclusive step      kept, unless the instruction itself raised it
//	sent again by us              delivered, or reported if it was not yet
//	in PassSignals                delivered, unless the thread steps or has come to a
//	                              breakpoint where nothing can be executed
//	else                          reported
func (m *Machine[T]) Signal(t T, k Signal) (do []Effect[T]) {
	d, th := t.Control(), t.Core()
	own := sys.Synchronous&sys.SigBit(k.Sig) != 0 && k.Info.Code > sys.SIUser
	again := m.takeSent(d, &k)
	info := Effect[T]{Op: SetInfo, T: t, Signal: k}
	reported := again && !k.Unreported
	if d.Exclusive != nil && (reported || !own) {
		k.Unreported = !reported
		d.Late = append(d.Late, k)
		th.Sig = 0
		return nil
	}
	if reported {
		return one(info)
	}
	if again {
		do = one(info)
	}
	if d.Exclusive != nil {
		d.Exclusive.Done = true
	}
	if m.Passes(t, &k) {
		return do
	}
	th.Sig = 0
	d.Kept = &k
	return append(do, m.StopFor(t, Stop{Kind: StopSignal, Signal: k.Sig})...)
}

// Passes reports whether a signal is delivered without being reported.
func (m *Machine[T]) Passes(t T, k *Signal) bool {
	return m.Options.PassSignals[k.Sig] && !t.Control().Step && !m.breakFault(t, k)
}

// breakFault reports whether a signal is that of a breakpoint whose int3 could not
// be executed: GDB has functions that it calls return to the stack.
func (m *Machine[T]) breakFault(t T, k *Signal) bool {
	if k.Sig != unix.SIGSEGV && k.Sig != unix.SIGILL || k.Info.Code <= sys.SIUser {
		return false
	}
	regs, ok := m.View.Regs(t)
	return ok && regs.PC == k.Info.Addr && m.Breaks[regs.PC]
}

// takeSent finds the signal among those that were sent again.
func (m *Machine[T]) takeSent(d *Thread, k *Signal) bool {
	// si_pid is where si_addr is; it is 0 for a sender in another namespace.
	if pid := int(uint32(k.Info.Addr)); k.Info.Code != sys.SITkill || pid != m.Self && pid != 0 {
		return false
	}
	for i, s := range d.Sent {
		if s.Sig != k.Sig {
			continue
		}
		d.Sent = append(d.Sent[:i], d.Sent[i+1:]...)
		if s.Info.Signo == 0 {
			s.Info = k.Info
		}
		*k = s
		return true
	}
	return false
}

// late gives a thread the signals that arrived during its exclusive step.
func (m *Machine[T]) late(t T) (do []Effect[T]) {
	d, th := t.Control(), t.Core()
	list := d.Late
	d.Late = nil
	for _, k := range list {
		switch {
		case th.Hold&threads.HoldDebug != 0 || d.Kept != nil || th.Sig != 0 || th.Stop != threads.StopSignal:
			do = append(do, Effect[T]{Op: SendAgain, T: t, Signal: k})
		case !k.Unreported, m.Passes(t, &k):
			do = append(do, deliver(t, k)...)
		default:
			d.Kept = &k
			do = append(do, m.StopFor(t, Stop{Kind: StopSignal, Signal: k.Sig})...)
		}
	}
	return then(do, t, m.Halted)
}

// deliver delivers a signal in a signal-delivery-stop, whichever it is of.
func deliver[T Entry](t T, k Signal) []Effect[T] {
	t.Core().Sig = k.Sig
	if k.Info.Signo == 0 {
		return nil
	}
	return one(Effect[T]{Op: SetInfo, T: t, Signal: k})
}

// Give delivers a signal to a thread that continues: the signal at which it is stopped, or another.
func (m *Machine[T]) Give(t T, sig unix.Signal) []Effect[T] {
	d, th := t.Control(), t.Core()
	k := d.Kept
	d.Kept = nil
	if sig == 0 {
		return nil
	}
	give := Signal{Sig: sig}
	if k != nil && k.Sig == sig {
		give = *k
	} else if k != nil && unix.Signal(k.Info.Signo) == sig {
		give.Info = k.Info // the caller gave it for this one
	}
	if th.State == threads.Stopped && th.Stop == threads.StopSignal && th.Sig == 0 {
		return deliver(t, give)
	}
	give.Unreported = false
	return one(Effect[T]{Op: SendAgain, T: t, Signal: give})
}
