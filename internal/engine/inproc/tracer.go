package inproc

import (
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/internal/ring"
)

// Callbacks are the methods that the process's tracer calls, on its own goroutine and at any time. All other
// methods of an engine are called on the goroutine that uses the engine.
type Callbacks struct {
	*target
	tables   *tableRef
	patches  *patches
	guard    *pageGuard
	handlers *handlers
	buffers  *buffers
	uprobes  *uprober
	crashes  *crashes
}

// Fault is the process's callback OnFault: where the thread goes on after a load of a
// hit program that failed, or a store to a stack without room.
func (c *Callbacks) Fault(_ int, _ int, pc uint64) (uint64, bool) {
	tab := c.tables.get()
	if x, ok := tab.edge[pc]; ok {
		if mem := c.buffers.mem; mem != nil {
			c.trouble("counting a hit without room on the stack", mem.Count(x.site, ring.CounterCondFault))
		}
		return x.to, true
	}
	to, ok := tab.fault[pc]
	return to, ok
}

// Trap is the process's callback OnTrap: where the int3 at an address leads.
func (c *Callbacks) Trap(_ int, addr uint64) (uint64, bool) {
	if to, ok := c.tables.get().trap[addr]; ok {
		return to, true
	}
	return addr, c.uprobes.stray(addr)
}

// Clock is the process's callback OnClock: it gives the value of an rdtsc of a hit program.
func (c *Callbacks) Clock(_ int, pc uint64) (uint64, bool) {
	if _, ours := c.tables.get().clock[pc]; !ours {
		return 0, false
	}
	if c.handlers.foundNoTSC() && c.opt.OnNoClock != nil { // forbidden since the sites were armed
		c.opt.OnNoClock()
	}
	return event.TSC(), true
}

// Back is the process's callback PCBack: it returns the program's address for a pc in displaced code.
func (c *Callbacks) Back(pc uint64) (process.Origin, bool) { return c.tables.get().back(pc) }

// Inside is the process's callback InCode: the pc is in code of the engine.
func (c *Callbacks) Inside(pc uint64) bool { return c.tables.get().inCode(pc) }

// MayClear reports whether a signal may need the program's own code: there is code of
// ours, and no signal that ends the program has come before. See [Engine.Clear].
func (c *Callbacks) MayClear() bool {
	return len(c.tables.get().code) > 0 && !c.crashes.cleared.Load()
}

// Forked is the process's callback OnFork: it restores the original bytes in a forked
// child's copy of the memory.
func (c *Callbacks) Forked(child *process.Stopped) {
	if c.replaced() {
		return
	}
	for _, p := range c.patches.all() {
		for _, d := range p.edits {
			if !ours(child, d.Addr, d.New) {
				continue
			}
			if err := child.WriteMem(d.Addr, d.Old); err != nil {
				c.logf("forked child: restoring %#x: %v", d.Addr, err)
			}
		}
	}
	if err := c.guard.unguard(child); err != nil {
		c.logf("forked child: the protection of pages: %v", err)
	}
	if err := c.handlers.removeTraps(child); err != nil {
		c.logf("forked child: restoring the action of SIGTRAP: %v", err)
	}
}

// Forget is called when the process has called exec: nothing of the engine is in it,
// and nothing more can be put there. What was recorded is still to be drained.
func (c *Callbacks) Forget() {
	c.execs.Add(1)
	c.tables.clear()
}

// Where says what a pc in generated code means for a tracer that looks at the program:
// see process.Code.
func (c *Callbacks) Where(pc uint64) process.Code {
	if c.replaced() || !c.tables.get().inCode(pc) {
		return process.Code{}
	}
	return c.patches.where(pc)
}

// Displaced is where the copy of the instruction at addr is, behind the hit programs
// of its sites: a thread that is set there has passed them. ok is false where no
// jump or int3 of the engine is.
func (c *Callbacks) Displaced(addr uint64) (pc uint64, ok bool) { return c.patches.copyOf(addr) }

// Original puts the program's own bytes into b, which was read at addr.
func (c *Callbacks) Original(addr uint64, b []byte) {
	if !c.replaced() {
		c.patches.original(addr, b)
	}
}

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
