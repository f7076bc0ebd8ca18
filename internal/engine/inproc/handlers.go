package inproc

import (
	"sync/atomic"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/process"
)

// handlers are the signal handlers that are installed in the process for the case that jalon is killed.
// While jalon runs, it handles the signals of generated code itself.
type handlers struct {
	report
	tables   *tableRef
	trapping bool // a SIGTRAP handler is installed
	faulting bool // a handler of memory faults is installed
	prepared *process.FaultHandler
	noTSC    atomic.Bool // a thread may not read the time stamp counter, see clock.go
}

// install lets int3 sites work after jalon is killed. While jalon runs, it handles their traps itself.
// After it was killed, a handler of SIGTRAP inside the process continues the threads at the trampolines.
//
// in are the existing patches, fresh the plans that are about to be written.
func (h *handlers) install(st *process.Stopped, in, fresh []*placed) error {
	var list []process.TrapSite
	for _, plans := range [][]*placed{in, fresh} {
		for _, p := range plans {
			// The program's own int3 keeps its meaning without jalon.
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
	return h.installFaults(st)
}

// installFaults does the same for accesses that may fault, with the handler of prepareFaults: when jalon is killed, a
// thread may be stopped with such a signal pending.
func (h *handlers) installFaults(st *process.Stopped) error {
	f := h.prepared
	if h.prepared = nil; f == nil {
		return nil
	}
	return st.InstallFaultHandler(f)
}

// prepareFaults makes the handler for accesses that may fault, if there are such accesses in new patches.
func (h *handlers) prepareFaults(c callable, fresh []*placed) (err error) {
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
	if err := h.dropPrepared(c); err != nil {
		return err
	}
	h.prepared, err = c.PrepareFaultHandler(fixups)
	return err
}

// dropPrepared frees a handler that was not installed.
func (h *handlers) dropPrepared(c callable) error {
	f := h.prepared
	if h.prepared = nil; f == nil {
		return nil
	}
	return c.DropFaultHandler(f)
}

// mayFault reports whether a hit program reads memory that may be unmapped.
func mayFault(p *ir.Program) bool {
	for in := range p.Instrs() {
		if in.Fault != ir.NoBlock || in.Op == ir.CopyMax || in.Op == ir.Walk || in.Op == ir.Intern || in.Op == ir.StrEq || in.Op == ir.CopyStr {
			return true
		}
	}
	return false
}

// removeFaults restores the program's actions of SIGSEGV and SIGBUS.
func (h *handlers) removeFaults(st *process.Stopped) error {
	if !h.faulting {
		return nil
	}
	return st.RemoveFaultHandler()
}

// removeTraps restores the program's action of SIGTRAP, in the process or in a forked child.
func (h *handlers) removeTraps(st *process.Stopped) error {
	if !h.trapping {
		return nil
	}
	return st.RemoveTrapHandler()
}

// foundNoTSC records that the counter must not be read; first: this was not known before.
func (h *handlers) foundNoTSC() (first bool) {
	if first = h.noTSC.CompareAndSwap(false, true); first {
		h.warn("the program forbids reading the time stamp counter: at each record its thread stops for about 10 us")
	}
	return first
}
