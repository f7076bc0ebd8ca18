package inproc

import (
	"time"

	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/internal/ring"
)

// Options say how an engine traces.
type Options struct {
	BufferSize int // bytes of ring a CPU
	Clock      ring.Clock
	Variables  []uint64 // what the programs' variables are at the start, by index
	DebugDirs  []string // of separate debug files; nil = /usr/lib/debug
	Avoid      uint8    // tactics of package patch not to use, as bits
	// Fresh: the process has run nothing but the dynamic linker; see Started.
	Fresh bool
	// Join: Load chooses nothing; Arm does, when breakpoints of the caller are as they will be.
	Join bool
	// Sites is how many sites there may be, those of libraries that are loaded later
	// included; 0 = a default.
	Sites int
	// Breakpoints reports whether breakpoints of the caller lie in [lo, hi): the bytes
	// there must stay as they are. Nil: there are none.
	Breakpoints func(lo, hi uint64) bool
	// Uprobes serves the sites that the engine cannot reach, or only slowly. Nil: nothing does.
	Uprobes Uprobes
	// Dump takes the stages of code generation, Log what is done step by step, Warn
	// warnings; each may be nil.
	Dump      Dumper
	Log, Warn func(string)
	// Progress is called in long loops and may end them by an error.
	Progress func(what string, done, of int) error
	// OnRings is called once, when there is memory for records and before the first
	// program is in the process.
	OnRings func(*ring.Shared)
	// OnPause is called with the length of each stop of the process.
	OnPause func(time.Duration)
	// OnNoClock is called on the tracer's goroutine when it turns out that threads that
	// run hit programs may not read the time stamp counter. The caller is to call
	// ProtectClock. Nil: it has no way to.
	OnNoClock func()
}

// Dumper shows the stages of code generation of a program.
type Dumper struct {
	IR, Code func(place, text string)
}

// Uprobes makes uprobes of the kernel of programs at instructions of the process.
type Uprobes interface {
	// Add attaches uprobes for this process; the error of each says why there is none.
	Add([]Wanted) []error
	// Drop takes back what Add has just made of a program.
	Drop(*engine.Program)
}

// Wanted is a program that is to be a uprobe.
type Wanted struct {
	*engine.Program
	Shared bool // another tracer's breakpoint is at its address
}

// Engine runs hit programs as machine code in one process. It composes the parts of the
// engine behind the contract: each has its own state and knows those parts only that it
// needs. It is used from one goroutine; see [Callbacks] for the tracer's.
type Engine struct {
	report
	target    *target
	mods      *modules   // the process's files
	sites     *sites     // what is traced
	patches   *patches   // what is in the process
	tables    *tableRef  // what the tracer must know of it
	guard     *pageGuard // pages that other tracers' uprobes are kept out of
	others    *others    // breakpoints of others
	rooms     *rooms     // memory for code
	buffers   *buffers   // memory for records
	planner   *planner
	uprobes   *uprober
	installer *installer
	crashes   *crashes
	handlers  *handlers
	calls     *Callbacks
	plans     []*placed // loaded, not armed
	covered   []*site   // likewise, at addresses that patches in place cover
	ended     bool      // Stop was called
}

// New prepares an engine; Trace gives it its process.
func New(opt Options) *Engine {
	r := report{&opt}
	t := &target{report: r, fresh: opt.Fresh}
	e := &Engine{
		report: r, target: t, sites: newSites(r), patches: &patches{}, tables: &tableRef{}, rooms: &rooms{}, buffers: &buffers{},
		mods: &modules{target: t}, others: &others{t: t},
	}
	e.guard = &pageGuard{report: r, others: e.others}
	e.handlers = &handlers{report: r, tables: e.tables}
	e.uprobes = &uprober{target: t, sites: e.sites, others: e.others, tables: e.tables}
	code := &compiler{report: r, buffers: e.buffers, handlers: e.handlers}
	e.planner = &planner{t, e.sites, e.patches, e.buffers, e.others, e.uprobes, &code.seen}
	e.installer = &installer{
		target: t, sites: e.sites, planner: e.planner, uprobes: e.uprobes, rooms: e.rooms, buffers: e.buffers,
		compiler: code, guard: e.guard, handlers: e.handlers, tables: e.tables, patches: e.patches,
	}
	e.crashes = &crashes{remover: &remover{t, e.patches, e.tables, e.guard, e.handlers, e.rooms, e.buffers}}
	e.calls = &Callbacks{t, e.tables, e.patches, e.guard, e.handlers, e.buffers, e.uprobes, e.crashes}
	return e
}

// Trace sets the process, once. What an earlier engine of the same process knows of its
// modules is used again; before may be nil.
func (e *Engine) Trace(p *process.Process, before *Engine) {
	e.target.p = p
	if before != nil {
		e.mods.space, e.mods.list = before.mods.space, before.mods.list
	}
}

// Callbacks are called by the process's tracer.
func (e *Engine) Callbacks() *Callbacks { return e.calls }

// Started notes that the process runs code of its own from now on.
func (e *Engine) Started() { e.target.fresh = false }

// Refresh looks at what the process has mapped. It is called before Resolve whenever
// that may have changed.
func (e *Engine) Refresh() error {
	if e.buffers.mem == nil && e.opt.Breakpoints == nil {
		e.target.look()
	}
	maps, err := process.Maps(e.target.p.Pid())
	if err != nil {
		return err
	}
	e.mods.update(e.guard.withCovered(maps))
	e.others.calls = uprobeCalls(maps)
	return nil
}

// Rings implements engine.Engine.
func (e *Engine) Rings() *ring.Shared { return e.buffers.mem }

// Coarse is the clock of ring.ClockCoarse, nil as long as there is no memory for records.
func (e *Engine) Coarse() *event.CoarseClock { return e.buffers.coarse }

// Counts implements engine.Engine.
func (e *Engine) Counts(x *engine.Program) engine.Counts { return e.sites.counts(x, e.buffers.mem) }

// Sites implements engine.Engine: how many sites have had numbers, without those that became uprobes.
func (e *Engine) Sites() int { return len(e.sites.list) - e.sites.moved }

// Account implements engine.Engine.
func (e *Engine) Account(sums []event.SiteSummary) { e.sites.account(sums) }

// Slow is a warning of the programs since the last call that are reached by int3 although a
// uprobe would be faster, with why they have none; "" where there are none. all is how many
// programs there are.
func (e *Engine) Slow(all int) string { return e.uprobes.warning(all) }

// ProtectClock installs the handler of memory faults for the hit programs that are there.
func (e *Engine) ProtectClock() error {
	err := e.target.stopped(func(st *process.Stopped) error { return e.handlers.installFaults(st, nil) })
	e.trouble("protecting the program from the end of jalon", err)
	return err
}

// Clear makes the program's code its own for a signal that a thread is held at.
func (e *Engine) Clear(tid int) error { return e.crashes.clear(tid) }

// Stop implements engine.Engine. Threads may still be in code of ours, which then stays:
// see Lingering.
func (e *Engine) Stop() error {
	if e.ended || e.target.replaced() {
		return nil
	}
	e.ended = true
	if e.patches.empty() && e.buffers.mem == nil {
		return nil
	}
	err := e.crashes.takeBack()
	// Threads that return from signal handlers later, and children that were forked
	// before and are looked at after this, still need to know what was where.
	e.patches.removeAll()
	return err
}

// Lingering reports whether threads may be in code of the engine after Stop: its
// callbacks are still needed.
func (e *Engine) Lingering() bool { return e.rooms.code != nil && !e.target.replaced() }

// Drop forgets what was in the program that called exec.
func (e *Engine) Drop() {
	e.tables.clear()
	e.patches.set(nil)
	e.guard.drop()
}

// Close implements engine.Engine. The modules stay open for the engine after it: see
// CloseModules.
func (e *Engine) Close() error { return e.buffers.close(e.target.p) }

// CloseModules closes the files of the process's modules where no other engine follows.
func (e *Engine) CloseModules() { e.mods.close() }
