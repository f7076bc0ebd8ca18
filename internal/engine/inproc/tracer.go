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
	altered  *altered
	numbers  *numbers
}

// Fault is the process's callback OnFault: it returns where the thread continues after a failed load of a
// hit program, or a store to a full stack.
func (c *Callbacks) Fault(tid int, _ int, pc uint64) (uint64, bool) {
	tab := c.tables.get()
	if x, ok := tab.edge[pc]; ok {
		if mem := c.buffers.mem; mem != nil {
			c.trouble("counting a hit with a full stack", mem.Count(x.site, ring.CounterCondFault))
		}
		return x.to, true
	}
	to, ok := tab.fault[pc]
	if ok {
		c.numbers.missed(tid)
	}
	return to, ok
}

// Trap is the process's callback OnTrap: it returns the target of the int3 at an address.
func (c *Callbacks) Trap(_ int, addr uint64) (uint64, bool) {
	if to, ok := c.tables.get().trap[addr]; ok {
		return to, true
	}
	return addr, c.uprobes.stray(addr)
}

// Clock is the process's callback OnClock: it returns the value for an rdtsc of a hit program.
func (c *Callbacks) Clock(_ int, pc uint64) (uint64, bool) {
	if _, ours := c.tables.get().clock[pc]; !ours {
		return 0, false
	}
	if c.handlers.foundNoTSC() && c.opt.OnNoClock != nil { // it was forbidden after the sites were armed
		c.opt.OnNoClock()
	}
	return event.TSC(), true
}

// Back is the process's callback PCBack: it returns the program's address for a pc in displaced code.
func (c *Callbacks) Back(pc uint64) (process.Origin, bool) { return c.tables.get().back(pc) }

// Inside is the process's callback InCode: it reports whether the pc is in the engine's code.
func (c *Callbacks) Inside(pc uint64) bool { return c.tables.get().inCode(pc) }

// MayClear reports whether a signal may need the program's own code: there is code of jalon, and no signal
// that ends the program has been handled before. See [Engine.Clear].
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

// Forget is called when the process has called exec: it contains no code of the engine, and no more can be
// installed. The recorded events must still be drained.
func (c *Callbacks) Forget() {
	c.execs.Add(1)
	c.tables.clear()
}

// Where describes a pc in generated code for a tracer that inspects the program: see process.Code.
func (c *Callbacks) Where(pc uint64) process.Code {
	if c.replaced() || !c.tables.get().inCode(pc) {
		return process.Code{}
	}
	return c.patches.where(pc)
}

// Displaced returns the address of the copy of the instruction at addr, after the hit programs of its
// sites: a thread set there has passed them. ok is false if there is no jump or int3 of the engine.
func (c *Callbacks) Displaced(addr uint64) (pc uint64, ok bool) { return c.patches.copyOf(addr) }

// Original replaces jalon's bytes by the program's in b, which was read at addr.
func (c *Callbacks) Original(addr uint64, b []byte) {
	if !c.replaced() {
		c.patches.original(addr, b)
	}
}

// Note records the threads of a process, as its callback OnThread reports them.
func Note(threads *event.Threads, t process.ThreadEvent) {
	tsc := event.TSC()
	switch t.Kind {
	case process.ThreadBorn, process.ThreadMoved:
		if t.FSBase != 0 {
			threads.Started(t.TID, t.FSBase, t.Comm, tsc)
		}
	case process.ThreadDied:
		threads.Named(t.TID, t.Comm) // it is still there, at the start of its exit
		threads.Died(t.TID, tsc)
	}
}
