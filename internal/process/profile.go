package process

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/runcontrol"
	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// A profiler's signal shows its handler the pc, and where that is in a hit program or a
// displaced copy the profile has an address of nowhere. The thread is led out first:
//
//  1. It is in the delivery-stop of the signal, which is held back. By single steps it
//     leaves the code; faults of guarded accesses are handled as always.
//  2. In the stop behind the last step the signal is given to it, with what the kernel
//     had noted of it (Siginfo). No instruction of the program has run.
//
// Should jalon be killed in between, the signal is lost. That is one tick of a profiler;
// other signals are delivered where they meet the thread.

// How far a thread is led. A hit program has some 50 instructions.
const (
	outSteps = 1000
	outTime  = 100 * time.Millisecond // steps are slow on a busy machine
)

// profileSignal delivers a profiler's signal behind generated code.
func (p *signals) profileSignal(t *task, sig unix.Signal, si *sys.Siginfo) {
	t.Sig = sig
	stepped := t.sentAgain(si)
	if p.ctl == nil && p.threads.Frozen == 0 && !t.Copy && p.threads.Member(t) && p.cfg.InCode != nil {
		stepped = p.leaveCode(t, sig) || stepped
	}
	switch {
	case !stepped || !p.threads.Has(t) || t.State != threads.Stopped:
	case t.Stop == threads.StopSignal && (t.Sig == 0 || t.Sig == sig):
		t.Sig = sig
		_ = sys.SetSiginfo(t.TID, si) // ESRCH: dying
	default: // another signal, or a stop in which none can be given
		if unix.Tgkill(t.TGID, t.TID, sig) == nil {
			info := *si
			t.again = &info
		}
	}
}

// sentAgain reports whether a signal is one that was put off, and gives it what was
// known of it.
func (t *task) sentAgain(si *sys.Siginfo) bool {
	// si_pid is where si_addr is; it is 0 for a process of another namespace.
	if pid := int(uint32(si.Addr)); t.again == nil || si.Code != sys.SITkill || pid != os.Getpid() && pid != 0 {
		return false
	}
	*si, t.again = *t.again, nil
	return true
}

// leaveCode leads a thread out of generated code, as far as that goes; moved: it has run.
// More signals of the kind that is held back become one with it, as pending ones do.
func (p *signals) leaveCode(t *task, held unix.Signal) (moved bool) {
	start := time.Now()
	for range outSteps {
		var regs Regs
		if sys.GetRegs(t.TID, &regs) != nil || !p.cfg.InCode(regs.PC()) || time.Since(start) > outTime {
			return moved
		}
		kind := p.stepper.insnAt(regs.PC()).Kind
		if kind == runcontrol.InsnCall { // it may sleep
			return moved
		}
		if kind == runcontrol.InsnPopf { // a step would confuse the kernel
			if !p.stepper.doPopf(t, &regs) {
				return moved
			}
			continue
		}
		moved = true
		if sys.Resume(t.TID, sys.ByStep, 0) != nil {
			return moved
		}
		t.State, t.Sig = threads.Running, 0
		late := time.Now()
		ws, err := p.waits.awaitUnless(t, func(s byte) bool { return (s == 'S' || s == 'D') && time.Since(late) > exclusiveLimit })
		if err == errTimeout { // it waits for a page
			p.world.interrupt(t)
			ws, err = p.waits.await(t)
		}
		if err != nil {
			return moved
		}
		if p.stepped(t, ws) {
			p.stepper.fixStep(t, kind)
			continue
		}
		p.threads.Frozen++ // the event is handled, the thread stays
		p.driver.handleStop(t.TID, ws)
		p.threads.Frozen--
		if !p.threads.Has(t) || t.State != threads.Stopped || t.Stop != threads.StopSignal || t.Sig != 0 && t.Sig != held {
			return moved
		}
	}
	return moved
}

// stepped reports whether a stop is that of our single step, which is no signal of the
// program's.
func (p *signals) stepped(t *task, ws unix.WaitStatus) bool {
	var si sys.Siginfo
	if sys.EventOf(ws) != 0 || !ws.Stopped() || ws.StopSignal() != unix.SIGTRAP || sys.GetSiginfo(t.TID, &si) != nil || si.Code != sys.TrapTrace {
		return false
	}
	t.State, t.Stop, t.Asked = threads.Stopped, threads.StopSignal, false
	return true
}
