package inproc

import (
	"slices"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/internal/ring"
)

// The callbacks of the process, which run on the tracer's goroutine.

// Fault is the process's callback OnFault: where the thread goes on after a load of a
// hit program that failed, or a store to a stack without room.
func (e *Engine) Fault(_ int, _ int, pc uint64) (uint64, bool) {
	tab := e.tables.get()
	if x, ok := tab.edge[pc]; ok {
		if e.shared != nil {
			e.trouble("counting a hit without room on the stack", e.shared.mem.Count(x.site, ring.CounterCondFault))
		}
		return x.to, true
	}
	to, ok := tab.fault[pc]
	return to, ok
}

// Trap is the process's callback OnTrap: where the int3 at an address leads.
func (e *Engine) Trap(_ int, addr uint64) (uint64, bool) {
	if to, ok := e.tables.get().trap[addr]; ok {
		return to, true
	}
	return addr, e.strayUprobe(addr)
}

// Back is the process's callback PCBack: what a pc in displaced code stands for.
func (e *Engine) Back(pc uint64) (process.Origin, bool) { return e.tables.get().back(pc) }

// Inside is the process's callback InCode: the pc is in code of the engine.
func (e *Engine) Inside(pc uint64) bool { return e.tables.get().inCode(pc) }

// Note keeps the threads of a process, as its callback OnThread reports them.
func Note(threads *event.Threads, t process.ThreadEvent) {
	tsc := event.TSC()
	switch t.Kind {
	case process.ThreadBorn, process.ThreadMoved:
		if t.FSBase != 0 {
			threads.Born(t.TID, t.FSBase, t.Comm, tsc)
		}
	case process.ThreadDied:
		threads.Died(t.TID, tsc)
	}
}

// Forked is the process's callback OnFork: it restores the original bytes in a forked
// child's copy of the memory.
func (e *Engine) Forked(child *process.Stopped) {
	if e.Replaced() {
		return
	}
	e.placedMu.Lock()
	list := slices.Concat(e.placed, e.old)
	e.placedMu.Unlock()
	for _, p := range list {
		for _, d := range p.edits {
			if !ours(child, d.Addr, d.New) {
				continue
			}
			if err := child.WriteMem(d.Addr, d.Old); err != nil {
				e.logf("forked child: restoring %#x: %v", d.Addr, err)
			}
		}
	}
	if err := e.unguard(child); err != nil {
		e.logf("forked child: the protection of pages: %v", err)
	}
	if err := e.removeTraps(child); err != nil {
		e.logf("forked child: restoring the action of SIGTRAP: %v", err)
	}
}
