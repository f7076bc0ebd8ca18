package process

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// The handler of a profiler's signal sees the pc. If that is in a hit program or a displaced copy, the
// profile would contain an address that belongs to no function. So the thread leaves the code first:
//
//  1. It is in the delivery-stop of the signal, which is held back. It runs for a moment and
//     is interrupted, until it is outside; faults of guarded accesses are handled as
//     always.
//     At the first instruction, where an int3 has brought it, it has done nothing yet: it is taken back to
//     the int3, which raises the same hit when the handler returns. A program with an int3 in each function
//     is outside for a few nanoseconds only, and would not be interrupted there.
//  2. The signal is sent to it again, with the siginfo that it had.
//
// Should jalon be killed in between, the signal is lost. That is one tick of a profiler. Other signals are
// delivered wherever the thread is. The thread is not led out by single steps: if the tracer dies the kernel
// leaves it stepping, and it dies by SIGTRAP.

// How often and how long a thread is let run. It is in generated code most of the time if a
// place in a short loop is traced.
const (
	outRuns = 200
	outTime = 20 * time.Millisecond
	outRun  = 2 * time.Microsecond // at first; then longer, for a thread that wakes up slowly
)

// profileSignal delivers a profiler's signal outside of generated code.
func (p *signals) profileSignal(t *task, sig unix.Signal, si *sys.Siginfo) {
	t.Sig = sig
	moved := t.sentAgain(si)
	if p.ctl == nil && p.threads.Frozen == 0 && !t.Copy && p.threads.Member(t) && p.cfg.InCode != nil {
		moved = p.leaveCode(t, sig) || moved
	}
	switch {
	case !moved || !p.threads.Has(t) || t.State != threads.Stopped:
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

// soonest is how soon after a tick for which it was taken back a thread is taken back for another one: if hits cost more
// than the time between ticks, the thread has to come beyond the int3 in between.
const soonest = 100 * time.Microsecond

// takeBack moves a thread back to the int3 that it has just come from.
func (t *task) takeBack(regs *Regs) bool {
	if t.trap.to == 0 || regs.PC() != t.trap.to || time.Since(t.trap.back) < soonest {
		return false
	}
	regs.SetPC(t.trap.from)
	if sys.SetRegs(t.TID, regs) != nil {
		return false
	}
	t.trap.back = time.Now()
	return true
}

// leaveCode lets a thread run until it is outside of generated code, or gives up; moved reports whether it
// has run or was moved. Further signals of the kind that is held back are merged with it, as pending signals are.
func (p *signals) leaveCode(t *task, held unix.Signal) (moved bool) {
	start, run := time.Now(), outRun
	for range outRuns {
		var regs Regs
		if sys.GetRegs(t.TID, &regs) != nil || !p.cfg.InCode(regs.PC()) || time.Since(start) > outTime {
			return moved
		}
		if t.takeBack(&regs) {
			return true
		}
		moved = true
		request := sys.Free
		if t.holding() {
			request = sys.ToCall
		}
		if sys.Resume(t.TID, request, 0) != nil {
			return moved
		}
		t.State, t.Sig = threads.Running, 0
		for from := time.Now(); time.Since(from) < run; {
			if tid, _ := sys.PeekWait(t.TID); tid != 0 {
				break
			}
		}
		run = min(run+run/4, 50*time.Microsecond)
		p.world.interrupt(t)
		ws, err := p.waits.await(t)
		if err != nil {
			return moved
		}
		p.threads.Frozen++ // the event is handled, the thread stays
		p.driver.handleStop(t.TID, ws)
		p.threads.Frozen--
		if !p.threads.Has(t) || t.State != threads.Stopped || t.Stop != threads.StopTrap && t.Stop != threads.StopSignal || t.Sig != 0 && t.Sig != held {
			return moved
		}
	}
	return moved
}
