package process

import (
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// signalHandler returns the handler for a signal that may be jalon's. All others are delivered.
func signalHandler(sig unix.Signal) func(p *signals, t *task, sig unix.Signal, si *sys.Siginfo) {
	switch sig {
	case unix.SIGTRAP:
		return (*signals).trapSignal
	case unix.SIGSEGV, unix.SIGBUS:
		return (*signals).faultSignal
	case unix.SIGILL, unix.SIGFPE, unix.SIGSYS:
		return (*signals).ownSignal
	case unix.SIGABRT, unix.SIGXCPU, unix.SIGXFSZ:
		return (*signals).coreSignal
	case unix.SIGINT, unix.SIGQUIT:
		return (*signals).ttySignal
	case unix.SIGPROF, unix.SIGVTALRM:
		return (*signals).profileSignal
	}
	return nil
}

// signalStop: a signal is about to be delivered. t.sig stays 0 where it is
// suppressed; then it is taken from the kernel, too.
func (p *signals) signalStop(t *task, sig unix.Signal) {
	p.handleSignal(t, sig)
	switch {
	case t.Sig == 0:
	case p.debugger.controlled(t):
		p.debugger.controlSignal(t)
	default:
		p.nesting.deliver(t, t.Sig)
		p.dispositions.learnOnDelivery(t)
	}
	if t.State == threads.Stopped && t.Stop == threads.StopSignal && t.Sig == 0 && t.dbg.Kept == nil {
		p.waits.drop(t)
	}
}

func (p *signals) handleSignal(t *task, sig unix.Signal) {
	handle := signalHandler(sig)
	if handle == nil {
		t.Sig = sig
		return
	}
	var si sys.Siginfo
	if err := sys.GetSiginfo(t.TID, &si); err != nil {
		return // dying
	}
	handle(p, t, sig, &si)
}

// ttySignal: Ctrl-C at the terminal is sent by the kernel to all of the foreground
// group; `kill -INT` is not.
func (p *signals) ttySignal(t *task, sig unix.Signal, si *sys.Siginfo) {
	if p.cfg.OnTyped != nil && si.Code == sys.SIKernel && p.threads.Member(t) {
		p.cfg.OnTyped()
	}
	p.coreSignal(t, sig, si)
}

// coreSignal delivers a signal that is not raised by an instruction and may end the program with a core dump.
func (p *signals) coreSignal(t *task, sig unix.Signal, _ *sys.Siginfo) {
	if !p.refer(t, sig, raised{}, nil, false) {
		t.Sig = sig
	}
}

// trapSignal: int3 is distinguished from `kill -TRAP`, single-steps and hardware
// breakpoints by its si_code, and ours from the program's own by its address.
func (p *signals) trapSignal(t *task, sig unix.Signal, si *sys.Siginfo) {
	if p.wasRedirected(t, sig) || p.breakpoints.controlTrap(t, si) {
		return
	}
	var regs Regs
	if si.Code != sys.SIKernel || t.Copy || sys.GetRegs(t.TID, &regs) != nil {
		p.ownSignal(t, sig, si)
		return
	}
	addr := regs.PC() - 1
	if p.linker.modulesHit(t, &regs, addr) {
		return
	}
	if p.cfg.OnTrap != nil {
		if pc, ok := p.cfg.OnTrap(t.TID, addr); ok {
			regs.SetPC(pc)
			t.trap.from, t.trap.to = addr, pc
			_ = sys.SetRegs(t.TID, &regs) // ESRCH: dying
			p.dispositions.repair(t, sig)
			return
		}
	}
	p.ownSignal(t, sig, si)
}

// faultSignal: a fault of generated code goes on at the fault path.
func (p *signals) faultSignal(t *task, sig unix.Signal, si *sys.Siginfo) {
	if p.wasRedirected(t, sig) {
		return
	}
	var regs Regs
	if si.Code > sys.SIUser && !t.Copy && p.cfg.OnFault != nil && sys.GetRegs(t.TID, &regs) == nil {
		p.driver.noteFSIn(t, &regs)
		ok := p.leaveSequence(t, sig, si.Code, &regs) || p.readClock(t.TID, sig, si.Code, &regs)
		pc := regs.PC()
		if !ok {
			pc, ok = p.cfg.OnFault(t.TID, int(sig), pc)
		}
		if ok {
			regs.SetPC(pc)
			_ = sys.SetRegs(t.TID, &regs)
			p.dispositions.repair(t, sig)
			return
		}
	}
	p.ownSignal(t, sig, si)
}

// ownSignal delivers a signal of the program. One that an instruction raised in a
// displaced copy shows the pc of the original; see crash.go.
func (p *signals) ownSignal(t *task, sig unix.Signal, si *sys.Siginfo) {
	var regs Regs
	if sys.GetRegs(t.TID, &regs) != nil {
		return // dying
	}
	r := p.raisedBy(t, sig, si, &regs)
	var o Origin
	displaced := false
	if r.own && p.cfg.PCBack != nil {
		o, displaced = p.cfg.PCBack(regs.PC() - r.behind)
	}
	pc := o.PC + r.behind
	inside := displaced && pc > o.Lo && pc < o.Hi
	// A handler may also go on behind the first of the instructions under a jump.
	if p.refer(t, sig, r, &regs, displaced && pc >= o.Lo && pc < o.Hi) {
		return
	}
	if displaced && !inside {
		if si.Addr == regs.PC() && sig != unix.SIGSEGV && sig != unix.SIGBUS {
			si.Addr = pc                  // for these si_addr is the instruction, or the one behind it
			_ = sys.SetSiginfo(t.TID, si) // ESRCH: dying
		}
		regs.SetPC(pc)
		regs.SetSP(regs.SP() + uint64(o.SP))
		_ = sys.SetRegs(t.TID, &regs)
	}
	p.dispositions.deliverOwn(t, sig)
}

// pendingFault reports whether an interrupted thread has already executed an
// instruction that raised a signal: the kernel reports the interrupt first, with
// the pc behind an int3 that may be gone when the signal comes.
func pendingFault(tid int) bool {
	var infos [8]sys.Siginfo
	n := sys.PeekSiginfo(tid, 0, infos[:])
	for _, si := range infos[:n] {
		if si.Code > sys.SIUser && sys.Synchronous&sys.SigBit(unix.Signal(si.Signo)) != 0 {
			return true
		}
	}
	return false
}

// pendingShared is the set of signals that wait for any thread of the process.
func pendingShared(tid int) (set uint64) {
	var infos [8]sys.Siginfo
	n := sys.PeekSiginfo(tid, unix.PTRACE_PEEKSIGINFO_SHARED, infos[:])
	for _, si := range infos[:n] {
		set |= sys.SigBit(unix.Signal(si.Signo))
	}
	return set
}

// flushFault lets a thread with such a signal go on to its delivery, which is
// handled as always; no instruction is executed.
func (p *world) flushFault(t *task) {
	for range 4 {
		grouped := t.Stop == threads.StopGroup && p.ctl != nil
		if t.State != threads.Stopped || t.Stop != threads.StopTrap && !grouped || t.Sig != 0 || !pendingFault(t.TID) {
			return
		}
		if sys.Cont(t.TID, 0) != nil {
			return
		}
		t.State = threads.Running
		ws, err := p.waits.await(t)
		if err != nil {
			return
		}
		p.driver.handleStop(t.TID, ws) // the world is stopped: t stays
		if !p.threads.Has(t) {
			return
		}
		if grouped && p.settle(t) != nil { // back to the group-stop
			return
		}
	}
}
