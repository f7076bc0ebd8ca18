package inproc

import (
	"sync/atomic"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/process"
)

// handlers are the handlers of signals that are put into the process, for when jalon is
// killed: while it lives it answers the signals of generated code itself.
type handlers struct {
	report
	tables   *tableRef
	trapping bool        // a SIGTRAP handler is installed
	faulting bool        // a handler of memory faults is installed
	noTSC    atomic.Bool // a thread may not read the time stamp counter, see clock.go
}

// install makes int3 sites survive jalon: while it lives it answers their
// traps itself; should it be killed, a handler of SIGTRAP inside the process sends
// the threads to the trampolines.
//
// in are the patches in place, fresh the plans that are about to be written.
func (h *handlers) install(st *process.Stopped, in, fresh []*placed) error {
	var list []process.TrapSite
	for _, plans := range [][]*placed{in, fresh} {
		for _, p := range plans {
			// An int3 of the program's own stays what it is without us.
			if p.plan.Tactic == patch.Trapping && p.plan.Insts[0].Class != patch.Int3 {
				list = append(list, process.TrapSite{Addr: p.plan.Addr, To: p.at})
			}
		}
	}
	if len(list) > 0 {
		h.trapping = true
		if err := st.InstallTrapHandler(list); err != nil {
			return err
		}
	}
	return h.installFaults(st, fresh)
}

// installFaults does the same for the accesses that may fault: a thread can be
// stopped with such a signal on its way when jalon is killed.
func (h *handlers) installFaults(st *process.Stopped, fresh []*placed) error {
	guarded := h.faulting || h.noTSC.Load()
	for _, p := range fresh {
		for _, x := range p.sites {
			guarded = guarded || mayFault(x.IR)
		}
	}
	if !guarded {
		return nil
	}
	h.faulting = true
	tab := h.tables.get()
	fixups := merged(tab.fault, nil)
	for pc, x := range tab.edge { // for threads with an alternate stack
		fixups[pc] = x.to
	}
	if h.noTSC.Load() {
		fixups = merged(fixups, tab.clock)
	}
	return st.InstallFaultHandler(fixups)
}

// mayFault reports whether a hit program reads what may not be there.
func mayFault(p *ir.Program) bool {
	for in := range p.Instrs() {
		if in.Fault != ir.NoBlock || in.Op == ir.CopyMax || in.Op == ir.StrEq || in.Op == ir.CopyStr {
			return true
		}
	}
	return false
}

// removeFaults gives SIGSEGV and SIGBUS their own actions back.
func (h *handlers) removeFaults(st *process.Stopped) error {
	if !h.faulting {
		return nil
	}
	return st.RemoveFaultHandler()
}

// removeTraps gives SIGTRAP its own action back, in the process or a forked child.
func (h *handlers) removeTraps(st *process.Stopped) error {
	if !h.trapping {
		return nil
	}
	return st.RemoveTrapHandler()
}

// foundNoTSC notes that the counter may not be read; first: it was not known.
func (h *handlers) foundNoTSC() (first bool) {
	if first = h.noTSC.CompareAndSwap(false, true); first {
		h.warn("the program forbids reading the time stamp counter: each record takes a stop of its thread, of some 10 us")
	}
	return first
}
