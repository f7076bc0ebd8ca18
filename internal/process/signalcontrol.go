package process

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/runcontrol"
	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// controlSignal decides about a signal of the program (t.Sig) that is about to be
// delivered.
func (p *debugger) controlSignal(t *task) {
	if k, ok := p.signalOf(t, t.Sig); ok { // else it is dying
		p.execute(p.ctl.machine.Signal(t, k))
	}
}

// signalOf is the signal of a delivery-stop.
func (p *debugger) signalOf(t *task, sig unix.Signal) (k runcontrol.Signal, ok bool) {
	k.Sig = sig
	return k, sys.GetSiginfo(t.TID, &k.Info) == nil
}

// passes reports whether a signal of a delivery-stop will be delivered without being
// reported.
func (p *debugger) passes(t *task, sig unix.Signal) bool {
	k, ok := p.signalOf(t, sig)
	return !ok || p.ctl.machine.Passes(t, &k)
}

// Siginfo is the siginfo_t of the signal that a thread is stopped with. One that was only
// halted has none; what the kernel reports of our interrupt (a SIGTRAP without a sender)
// is shown as the signal that stops threads.
func (p *Process) Siginfo(tid int) (b []byte, err error) {
	err = p.withStopped(tid, func(t *task) error {
		si := sys.Siginfo{}
		if k := t.dbg.Kept; k != nil {
			si = k.Info
		} else if t.dbg.Halted && t.Stop == threads.StopTrap {
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
		k := t.dbg.Kept
		var si sys.Siginfo
		if k != nil {
			si = k.Info
		} else if err := sys.GetSiginfo(tid, &si); err != nil {
			return err
		}
		copy((*[unsafe.Sizeof(si)]byte)(unsafe.Pointer(&si))[:], b)
		if k != nil {
			k.Info = si
			return nil
		}
		return sys.SetSiginfo(tid, &si)
	})
}
