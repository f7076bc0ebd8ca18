package process

import (
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// redirection is how redirect has handled the signal of a stop.
type redirection uint8

const (
	notRedirected      redirection = iota
	redirectedAtSite               // an int3 or a guarded access of the caller's
	redirectedAtLinker             // the breakpoint in ld.so
)

// beforeTake handles what must be done about a signal-delivery-stop before it is taken from the kernel with
// wait(2), and reports whether it is to be left there. jalon may be killed at any moment. The kernel then
// resumes the thread, with the signal if that was not taken.
//
// A thread at an int3 or a guarded access of ours is moved, and its signal is taken:
//
//  1. before this: the signal is delivered with the pc where it was raised; the
//     handlers in the process (traphandler.go, faulthandler.go) know it.
//  2. between this and wait: the signal is delivered at the new pc; they know it too.
//  3. between wait and the resume: nothing is delivered. The pc is the new one already.
//
// The trap of a step, a breakpoint or a watchpoint of ours would end the program: it is
// taken as soon as it is seen. So is what comes during an injected call.
//
// Any other signal is the program's. It is left with the kernel until the resume, which
// replaces it by what is to be delivered.
func (p *signals) beforeTake(t *task) (left bool) {
	var si sys.Siginfo
	if t.redirected != notRedirected || t.TID == p.injector.Borrowed() {
		return false
	}
	if t.State == threads.Exiting || sys.GetSiginfo(t.TID, &si) != nil {
		return false // dying
	}
	if !t.Copy && t.State != threads.Stopped {
		if p.redirect(t, &si); t.redirected != notRedirected {
			return false
		}
	}
	ours := unix.Signal(si.Signo) == unix.SIGTRAP && si.Code > sys.SIUser && (p.ctl != nil || si.Code != sys.SIKernel)
	return !ours
}

// redirect moves a thread that has stopped at an int3 or a guarded access of ours.
func (p *signals) redirect(t *task, si *sys.Siginfo) {
	var regs Regs
	sig, to := unix.Signal(si.Signo), notRedirected
	switch {
	case sig == unix.SIGTRAP && si.Code == sys.SIKernel:
		if sys.GetRegs(t.TID, &regs) != nil {
			return
		}
		addr := regs.PC() - 1
		if p.ctl != nil && p.ctl.machine.Breaks[addr] && t.dbg.Over != addr {
			return // the caller's breakpoint comes first
		}
		if p.linker.modules.addr != 0 && addr == p.linker.modules.addr && t.dbg.Over != addr {
			regs.SetPC(p.linker.next(t))
			to = redirectedAtLinker
		} else if p.cfg.OnTrap != nil {
			if pc, ok := p.cfg.OnTrap(t.TID, addr); ok {
				regs.SetPC(pc)
				t.trap.from, t.trap.to = addr, pc
				to = redirectedAtSite
			}
		}
	case (sig == unix.SIGSEGV || sig == unix.SIGBUS) && si.Code > sys.SIUser && p.cfg.OnFault != nil:
		if sys.GetRegs(t.TID, &regs) != nil {
			return
		}
		p.driver.noteFSIn(t, &regs)
		if p.readClock(t.TID, sig, si.Code, &regs) {
			to = redirectedAtSite
		} else if pc, ok := p.cfg.OnFault(t.TID, int(sig), regs.PC()); ok {
			regs.SetPC(pc)
			to = redirectedAtSite
		}
	}
	if to != notRedirected && sys.SetRegs(t.TID, &regs) == nil { // else it is dying
		t.redirected = to
	}
}

// wasRedirected reports whether redirect has handled the signal of the stop.
func (p *signals) wasRedirected(t *task, sig unix.Signal) bool {
	m := t.redirected
	t.redirected = notRedirected
	switch m {
	case redirectedAtLinker:
		p.linker.modulesReached(t)
	case redirectedAtSite:
		p.dispositions.repair(t, sig)
	}
	return m != notRedirected
}
