package inproc

import (
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/process"
)

// installTraps makes int3 sites survive jalon: while it lives it answers their
// traps itself; should it be killed, a handler of SIGTRAP inside the process sends
// the threads to the trampolines.
//
// fresh are the plans that are about to be written.
func (e *Engine) installTraps(st *process.Stopped, fresh []*placed) error {
	var sites []process.TrapSite
	for _, list := range [][]*placed{e.placed, fresh} {
		for _, p := range list {
			// An int3 of the program's own stays what it is without us.
			if p.plan.Tactic == patch.Trapping && p.plan.Insts[0].Class != patch.Int3 {
				sites = append(sites, process.TrapSite{Addr: p.plan.Addr, To: p.at})
			}
		}
	}
	if len(sites) > 0 {
		e.trapping = true
		if err := st.InstallTrapHandler(sites); err != nil {
			return err
		}
	}
	return e.installFaults(st, fresh)
}

// installFaults does the same for the accesses that may fault: a thread can be
// stopped with such a signal on its way when jalon is killed.
func (e *Engine) installFaults(st *process.Stopped, fresh []*placed) error {
	guarded := e.faulting || e.noTSC.Load()
	for _, p := range fresh {
		for _, x := range p.sites {
			guarded = guarded || mayFault(x.IR)
		}
	}
	if !guarded {
		return nil
	}
	e.faulting = true
	tab := e.tables.get()
	fixups := merged(tab.fault, nil)
	for pc, x := range tab.edge { // for threads with an alternate stack
		fixups[pc] = x.to
	}
	if e.noTSC.Load() {
		fixups = merged(fixups, tab.clock)
	}
	return st.InstallFaultHandler(fixups)
}

// mayFault reports whether a hit program reads what may not be there.
func mayFault(p *ir.Program) bool {
	for _, b := range p.Blocks {
		for i := range b.Instrs {
			in := &b.Instrs[i]
			if in.Fault != ir.NoBlock || in.Op == ir.CopyMax || in.Op == ir.StrEq || in.Op == ir.CopyStr {
				return true
			}
		}
	}
	return false
}

// removeFaults gives SIGSEGV and SIGBUS their own actions back.
func (e *Engine) removeFaults(st *process.Stopped) error {
	if !e.faulting {
		return nil
	}
	return st.RemoveFaultHandler()
}

// removeTraps gives SIGTRAP its own action back, in the process or a forked child.
func (e *Engine) removeTraps(st *process.Stopped) error {
	if !e.trapping {
		return nil
	}
	return st.RemoveTrapHandler()
}
