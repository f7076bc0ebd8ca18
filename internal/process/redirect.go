package process

import (
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// redirection says how redirectBeforeWait has handled the signal of a stop.
type redirection uint8

const (
	notRedirected      redirection = iota
	redirectedAtSite               // an int3 or a guarded access of the caller's
	redirectedAtLinker             // the breakpoint in ld.so
)

// redirectBeforeWait moves a thread that has stopped at an int3 or a guarded access of ours,
// before its stop is taken from the kernel with wait. Jalon may be killed at any
// moment, and then the kernel lets the thread go:
//
//  1. before this: the signal is delivered with the pc where it was raised; the
//     handlers in the process (traphandler.go, faulthandler.go) know it.
//  2. between this and wait: the signal is delivered at the new pc; they know it too.
//  3. between wait and the resume: wait has taken the signal, and nothing is
//     delivered. The pc is the new one already.
func (p *signals) redirectBeforeWait(tid int) {
	t := p.threads.Get(tid)
	if t == nil || t.Copy || t.redirected != notRedirected || t.State == threads.Stopped || t.State == threads.Exiting {
		return
	}
	var si sys.Siginfo
	if sys.GetSiginfo(tid, &si) != nil {
		return // it runs, or is in a stop that is not a signal's
	}
	var regs Regs
	sig := unix.Signal(si.Signo)
	switch {
	case sig == unix.SIGTRAP && si.Code == sys.SIKernel:
		if sys.GetRegs(tid, &regs) != nil {
			return
		}
		addr := regs.PC() - 1
		if p.ctl != nil && p.ctl.user[addr] && t.dbg.over != addr {
			return // the caller's breakpoint comes first
		}
		if p.linker.modules.addr != 0 && addr == p.linker.modules.addr && t.dbg.over != addr {
			regs.SetPC(p.linker.modules.cont)
			t.redirected = redirectedAtLinker
		} else if p.cfg.OnTrap != nil {
			if pc, ok := p.cfg.OnTrap(tid, addr); ok {
				regs.SetPC(pc)
				t.redirected = redirectedAtSite
			}
		}
	case (sig == unix.SIGSEGV || sig == unix.SIGBUS) && si.Code > sys.SIUser && p.cfg.OnFault != nil:
		if sys.GetRegs(tid, &regs) != nil {
			return
		}
		if p.readClock(tid, sig, si.Code, &regs) {
			t.redirected = redirectedAtSite
		} else if pc, ok := p.cfg.OnFault(tid, int(sig), regs.PC()); ok {
			regs.SetPC(pc)
			t.redirected = redirectedAtSite
		}
	}
	if t.redirected != notRedirected && sys.SetRegs(tid, &regs) != nil {
		t.redirected = notRedirected // dying
	}
}

// wasRedirected reports whether redirectBeforeWait has handled the signal of the stop.
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
