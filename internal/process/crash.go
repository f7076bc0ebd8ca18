package process

import (
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/inject"
	"github.com/jalon-trace/jalon/internal/process/memory"
	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// A signal of the program may arrive while its thread is in generated code, or may end the program. A
// handler, and the core dump, must then see what they would see without jalon. The pc is moved back to the
// displaced instruction's own address. That is not enough if bytes at that address are changed (it is inside
// a jump, and a handler would return there), or if the program ends (the core contains the code and all
// threads). Then the caller is asked first:
//
//  1. The signal of a fault is suppressed. The thread stays before the instruction
//     that faulted: should jalon be killed, it faults again.
//  2. The thread is held, and the caller puts the program's own bytes back with the
//     world stopped: those at the instruction, or, where the program ends, all of
//     them, with the pcs of all threads and the actions of signals.
//  3. The thread goes on and faults again: at its own address where the program
//     ends; in the copy else, and then the pc can be moved back.
//
// Some signals would not be raised again, so they are not suppressed: a signal that was sent, one from a
// single step, and one that the kernel raised because there was no stack.

// Origin is the place in the program that a pc in generated code is for.
type Origin struct {
	PC uint64 // of the displaced instruction
	// The program's bytes strictly between Lo and Hi are changed: nothing may come
	// back to them.
	Lo, Hi uint64
	SP     int64 // what the copy has taken from the stack pointer
}

// cores are the signals whose default action is a core dump.
const cores = 1<<(unix.SIGQUIT-1) | 1<<(unix.SIGABRT-1) | 1<<(unix.SIGXCPU-1) | 1<<(unix.SIGXFSZ-1) |
	1<<(unix.SIGSYS-1) | sys.Synchronous

// raised is a signal that an instruction has raised.
type raised struct {
	own    bool   // an instruction of the program did
	again  bool   // and does again
	behind uint64 // how far the pc is behind the instruction's beginning
}

func (p *signals) raisedBy(t *task, sig unix.Signal, si *sys.Siginfo, regs *Regs) (r raised) {
	if si.Code <= sys.SIUser {
		return r
	}
	ends := func(code ...byte) bool {
		b := make([]byte, len(code))
		return p.spaceOf(t).Read(regs.PC()-uint64(len(b)), b) == nil && string(b) == string(code)
	}
	switch sig {
	case unix.SIGSEGV:
		// From the kernel itself also when it finds no stack for a handler's frame.
		r.own, r.again = true, si.Code != sys.SIKernel
	case unix.SIGBUS, unix.SIGILL, unix.SIGFPE:
		r.own, r.again = true, true
	case unix.SIGTRAP:
		if r.own = si.Code == sys.SIKernel; r.own && ends(memory.Int3) {
			r.again, r.behind = true, 1
		}
	case unix.SIGSYS:
		if r.own = si.Code == sys.SysSeccomp; r.own && ends(0x0f, 0x05) {
			r.again, r.behind = true, 2
		}
	}
	return r
}

// refer asks the caller about a signal and reports whether the caller holds the thread.
func (p *signals) refer(t *task, sig unix.Signal, r raised, regs *Regs, inside bool) bool {
	if p.cfg.OnSignal == nil || p.ctl != nil || t.Copy || !p.threads.Member(t) || cores&sys.SigBit(sig) == 0 {
		return false
	}
	dies := p.dies(t, sig, r.own)
	if st, err := sys.ReadStatus(t.TID); dies && !r.again && err == nil && disposition(st, sig) == sigCaught {
		return false // whether the handler still is ours shows in front of it, see atHandler
	}
	if !dies && !(inside && r.again) || !p.cfg.OnSignal(t.TID, dies) {
		return false
	}
	if r.again {
		p.waits.drop(t) // before the pc is moved, or it would come twice
		regs.SetPC(regs.PC() - r.behind)
		_ = sys.SetRegs(t.TID, regs) // ESRCH: dying
	} else {
		t.Sig = sig
	}
	t.Hold |= threads.HoldCaller
	return true
}

// dies reports whether a signal ends the program, by what is known of its action
// without asking.
func (p *signals) dies(t *task, sig unix.Signal, own bool) bool {
	st, err := sys.ReadStatus(t.TID)
	if err != nil {
		return false
	}
	known, seen := p.dispositions.actions[sig]
	switch now := disposition(st, sig); {
	case now == sigDfl:
		return !seen || known.kind() == sigDfl // else reset for a fault of ours, see repair.go
	case now == sigIgn:
		return own
	}
	h, ours := p.handlerOf(sig)
	return ours && (!seen || known.handler == h.addr) && h.prev.kind() != sigCaught
}

// handlerOf is the handler of ours for a signal.
func (p *signals) handlerOf(sig unix.Signal) (trapHandler, bool) {
	h := p.dispositions.faultHandlers[sig]
	if sig == unix.SIGTRAP {
		h = p.dispositions.trap
	}
	return h, h.addr != 0
}

// spaceOf is the memory that a thread runs in.
func (p *signals) spaceOf(*task) *inject.Workspace { return p.space }

// Dying reports whether the signal of a thread that OnSignal has held ends the
// program, and whether it will be raised again. ok is false when the thread is not
// held for a signal any more.
func (s *Stopped) Dying(tid int) (dies, again, ok bool) {
	t := s.p.threads.Get(tid)
	if t == nil || t.State != threads.Stopped || t.Stop != threads.StopSignal || t.Hold&threads.HoldCaller == 0 {
		return false, false, false
	}
	if t.Sig != 0 {
		return true, false, true
	}
	var si sys.Siginfo
	if sys.GetSiginfo(tid, &si) != nil {
		return false, false, false
	}
	sig := unix.Signal(si.Signo)
	st, err := sys.ReadStatus(tid)
	if err != nil {
		return false, false, false
	}
	if disposition(st, sig) == sigCaught {
		cur, err := s.action(sig) // the thread may have to come to another stop for it
		if err != nil {
			return false, false, false
		}
		s.p.dispositions.actions[sig] = cur
	}
	return s.p.signals.dies(t, sig, true), true, true
}

// Rewind moves a thread that OnSignal has held back to the instruction that faulted.
func (s *Stopped) Rewind(tid int, o Origin) error {
	var regs Regs
	if err := s.p.injector.End(); err != nil {
		return err
	}
	if err := sys.GetRegs(tid, &regs); err != nil {
		return err
	}
	regs.SetPC(o.PC)
	regs.SetSP(regs.SP() + uint64(o.SP))
	return sys.SetRegs(tid, &regs)
}
