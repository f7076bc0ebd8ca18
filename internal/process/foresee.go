package process

import (
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/sys"
)

// moved says that foresee has dealt with the signal of a stop.
type moved uint8

const (
	notMoved  moved = iota
	bySite          // an int3 or a guarded access of the owner's
	byModules       // the breakpoint in ld.so
)

// foresee moves a thread that has stopped at an int3 or a guarded access of ours,
// before its stop is taken from the kernel with wait. Jalon may be killed at any
// moment, and then the kernel lets the thread go:
//
//  1. before this: the signal is delivered with the pc where it was raised; the
//     handlers in the process (traphandler.go, faulthandler.go) know it.
//  2. between this and wait: the signal is delivered at the new pc; they know it too.
//  3. between wait and the resume: wait has taken the signal, and nothing is
//     delivered. The pc is the new one already.
func (p *Process) foresee(tid int) {
	t := p.tasks[tid]
	if t == nil || t.fork || t.moved != notMoved || t.state == stopped || t.state == exiting {
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
			return // the owner's breakpoint comes first
		}
		if p.modules.addr != 0 && addr == p.modules.addr && t.dbg.over != addr {
			regs.SetPC(p.modules.cont)
			t.moved = byModules
		} else if p.cfg.OnTrap != nil {
			if pc, ok := p.cfg.OnTrap(tid, addr); ok {
				regs.SetPC(pc)
				t.moved = bySite
			}
		}
	case (sig == unix.SIGSEGV || sig == unix.SIGBUS) && si.Code > sys.SIUser && p.cfg.OnFault != nil:
		if sys.GetRegs(tid, &regs) != nil {
			return
		}
		if p.readClock(tid, sig, si.Code, &regs) {
			t.moved = bySite
		} else if pc, ok := p.cfg.OnFault(tid, int(sig), regs.PC()); ok {
			regs.SetPC(pc)
			t.moved = bySite
		}
	}
	if t.moved != notMoved && sys.SetRegs(tid, &regs) != nil {
		t.moved = notMoved // dying
	}
}

// foreseen reports whether the signal of the stop was dealt with by foresee.
func (p *Process) foreseen(t *task, sig unix.Signal) bool {
	m := t.moved
	t.moved = notMoved
	switch m {
	case byModules:
		p.modulesReached(t)
	case bySite:
		p.repair(t, sig)
	}
	return m != notMoved
}
