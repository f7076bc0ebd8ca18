package process

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// controlSignal decides about a signal of the program (t.sig) that is about to be
// delivered.
//
//	sent again by us              delivered, or reported if it was not yet
//	during an exclusive step      kept, unless the instruction itself raised it
//	in PassSignals                delivered, unless the thread steps or has come to a
//	                              breakpoint where nothing can be executed
//	else                          reported
func (p *debugger) controlSignal(t *task) {
	d := &t.dbg
	k := kept{sig: t.Sig}
	if sys.GetSiginfo(t.TID, &k.info) != nil {
		return // dying
	}
	own := synchronous>>(uint(k.sig)-1)&1 != 0 && k.info.Code > sys.SIUser
	again := d.takeMade(&k)
	if again && !k.unreported {
		_ = sys.SetSiginfo(t.TID, &k.info) // ESRCH: dying
		return
	}
	if d.exclusive != nil && !own {
		k.unreported = true
		d.late = append(d.late, k)
		t.Sig = 0
		return
	}
	if again {
		_ = sys.SetSiginfo(t.TID, &k.info)
	}
	if d.exclusive != nil {
		d.exclusive.done = true
	}
	if p.passes(t, &k) {
		return
	}
	t.Sig = 0
	d.kept = &k
	p.stopFor(t, Stop{Kind: StopSignal, Signal: k.sig})
}

// passes reports whether a signal is delivered without being reported.
func (p *debugger) passes(t *task, k *kept) bool {
	return p.ctl.opt.PassSignals[k.sig] && !t.dbg.step && !p.breakFault(t, k)
}

// breakFault reports whether a signal is that of a breakpoint whose int3 could not
// be executed: GDB has functions that it calls return to the stack.
func (p *debugger) breakFault(t *task, k *kept) bool {
	if k.sig != unix.SIGSEGV && k.sig != unix.SIGILL || k.info.Code <= sys.SIUser {
		return false
	}
	var regs Regs
	return sys.GetRegs(t.TID, &regs) == nil && regs.PC() == k.info.Addr && p.ctl.user[regs.PC()]
}

// takeMade finds the signal among those that were sent again.
func (d *stopState) takeMade(k *kept) bool {
	// si_pid is where si_addr is; it is 0 for a sender in another namespace.
	if pid := int(uint32(k.info.Addr)); k.info.Code != sys.SITkill || pid != os.Getpid() && pid != 0 {
		return false
	}
	for i, m := range d.made {
		if m.sig != k.sig {
			continue
		}
		d.made = append(d.made[:i], d.made[i+1:]...)
		if m.info.Signo == 0 {
			m.info = k.info
		}
		*k = m
		return true
	}
	return false
}

// lateSignals gives a thread the signals that came during its exclusive step.
func (p *debugger) lateSignals(t *task) {
	d := &t.dbg
	list := d.late
	d.late = nil
	for _, k := range list {
		switch {
		case t.Hold&threads.HoldDebug != 0 || t.Sig != 0 || t.Stop != threads.StopSignal:
			p.sendAgain(t, k)
		case p.passes(t, &k):
			p.deliverKept(t, k)
		default:
			d.kept = &k
			p.stopFor(t, Stop{Kind: StopSignal, Signal: k.sig})
		}
	}
}

// Siginfo is the siginfo_t of the signal that a thread is stopped with. One that was only
// halted has none; what the kernel reports of our interrupt (a SIGTRAP without a sender)
// is shown as the signal that stops threads.
func (p *Process) Siginfo(tid int) (b []byte, err error) {
	err = p.withStopped(tid, func(t *task) error {
		si := sys.Siginfo{}
		if k := t.dbg.kept; k != nil {
			si = k.info
		} else if t.dbg.halted && t.Stop == threads.StopTrap {
			si.Signo = int32(unix.SIGSTOP)
		} else if err := sys.GetSiginfo(tid, &si); err != nil {
			return err
		}
		b = append(b, (*[unsafe.Sizeof(si)]byte)(unsafe.Pointer(&si))[:]...)
		return nil
	})
	return b, err
}

// SetSiginfo changes it. b may be shorter than a siginfo_t.
func (p *Process) SetSiginfo(tid int, b []byte) error {
	return p.withStopped(tid, func(t *task) error {
		k := t.dbg.kept
		var si sys.Siginfo
		if k != nil {
			si = k.info
		} else if err := sys.GetSiginfo(tid, &si); err != nil {
			return err
		}
		copy((*[unsafe.Sizeof(si)]byte)(unsafe.Pointer(&si))[:], b)
		if k != nil {
			k.info = si
			return nil
		}
		return sys.SetSiginfo(tid, &si)
	})
}
