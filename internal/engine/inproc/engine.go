package inproc

import (
	"time"

	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/image"
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/internal/sema"
)

// Options configure an engine.
type Options struct {
	BufferSize int // bytes of the ring of each CPU
	Clock      ring.Clock
	Overwrite  bool     // the rings' oldest records are overwritten
	Wait       bool     // hits that find a ring full wait while the reader allows it
	Variables  []uint64 // initial values of the programs' variables, by index
	DebugDirs  []string // of separate debug files; nil = /usr/lib/debug
	Avoid      uint8    // tactics of package patch not to use, as bits
	// Fresh: the process has only run the dynamic linker; see Started.
	Fresh bool
	// Join: tactics are chosen by Arm, when the caller's breakpoints have reached their final state, and
	// not by Load.
	Join bool
	// Sites is the largest number of sites, including those of libraries loaded later; 0: a default.
	Sites int
	// Maps are the maps of the session that programs will use: there is memory for them.
	Maps []*sema.Map
	// Breakpoints reports whether breakpoints of the caller lie in [lo, hi); the bytes there must not
	// change. Nil: there are none.
	Breakpoints func(lo, hi uint64) bool
	// Uprobes attaches uprobes at sites that the engine cannot patch, or only with an int3. Nil: no
	// uprobes.
	Uprobes Uprobes
	// Dump receives the stages of code generation, Log each step, Warn warnings; each may be nil.
	Dump      Dumper
	Log, Warn func(string)
	// Progress is called in long loops and can end them by an error.
	Progress func(what string, done, of int) error
	// OnRings is called once, when the memory for records exists and before the first program is in the
	// process.
	OnRings func(*ring.Shared)
	// OnPause is called with the length of each stop of the process.
	OnPause func(time.Duration)
	// OnNoClock is called on the tracer's goroutine when threads that run hit programs are found not to be
	// allowed to read the time stamp counter. The caller should then call ProtectClock. Nil: the caller
	// cannot.
	OnNoClock func()
}

// Dumper receives the stages of code generation of a program.
type Dumper struct {
	IR, Code func(place, text string)
}

// Uprobes attaches uprobes of the kernel at instructions of the process.
type Uprobes interface {
	// Add attaches uprobes for this process; each program has an error if it has no uprobe.
	Add([]Wanted) []error
	// Drop removes a uprobe that Add has just attached.
	Drop(*engine.Program)
}

// Wanted is a program that needs a uprobe.
type Wanted struct {
	*engine.Program
	Shared bool // another tracer's breakpoint is at its address
}

// Engine runs hit programs as machine code in one process. It composes the parts of the engine behind the
// contract: each has its own state and uses only the parts that it needs. It is used from one goroutine;
// see [Callbacks] for the goroutine of the tracer.
type Engine struct {
	report
	*reclaimer
	target    *target
	mods      *modules   // the process's files
	sites     *sites     // the programs
	entries   *entries   // those at entries of functions, for their returns
	patches   *patches   // the patches in the process
	tables    *tableRef  // addresses for the tracer
	guard     *pageGuard // pages where other tracers' uprobes are prevented
	others    *others    // breakpoints of other tracers
	codeSpace *codeSpace // memory for code
	buffers   *buffers   // memory for records
	walks     *walks     // memory for following stacks
	planner   *planner
	uprobes   *uprober
	installer *installer
	crashes   *crashes
	altered   *altered
	handlers  *handlers
	calls     *Callbacks
	plans     []*placed // loaded, not yet armed
	covered   []*site   // likewise, at addresses covered by existing patches
	ended     bool      // Stop was called
}

// New prepares an engine; Trace sets its process.
func New(opt Options) *Engine {
	r := report{&opt}
	t := &target{report: r, fresh: opt.Fresh}
	e := &Engine{
		report: r, target: t, sites: newSites(r), entries: &entries{}, patches: &patches{}, tables: &tableRef{}, codeSpace: &codeSpace{}, buffers: &buffers{}, walks: &walks{},
		mods: &modules{target: t}, others: &others{t: t},
	}
	e.guard = &pageGuard{report: r, others: e.others}
	e.handlers = &handlers{report: r, tables: e.tables}
	e.uprobes = &uprober{target: t, sites: e.sites, others: e.others, tables: e.tables}
	code := &compiler{report: r, buffers: e.buffers, walks: e.walks, handlers: e.handlers}
	e.planner = &planner{t, e.sites, e.patches, e.buffers, e.others, e.uprobes, &code.seen}
	e.installer = &installer{
		target: t, sites: e.sites, planner: e.planner, uprobes: e.uprobes, codeSpace: e.codeSpace, buffers: e.buffers, walks: e.walks, mods: e.mods,
		compiler: code, guard: e.guard, handlers: e.handlers, tables: e.tables, patches: e.patches,
	}
	e.altered = &altered{target: t, patches: e.patches}
	e.crashes = &crashes{remover: &remover{t, e.patches, e.tables, e.guard, e.handlers, e.codeSpace, e.buffers, e.walks, e.altered}}
	e.reclaimer = &reclaimer{target: t, tables: e.tables, patches: e.patches, entries: e.entries, buffers: e.buffers}
	e.calls = &Callbacks{t, e.tables, e.patches, e.guard, e.handlers, e.buffers, e.uprobes, e.crashes, e.altered, &numbers{buffers: e.buffers}}
	return e
}

// Trace sets the process, once. The modules that an earlier engine has read of the same process are reused;
// before may be nil.
func (e *Engine) Trace(p *process.Process, before *Engine) {
	e.target.p = p
	if before != nil {
		e.mods.space, e.mods.list = before.mods.space, before.mods.list
	}
}

// Callbacks returns the methods that the process's tracer calls.
func (e *Engine) Callbacks() *Callbacks { return e.calls }

// Started records that the process now runs its own code.
func (e *Engine) Started() { e.target.fresh = false }

// Refresh reads the mappings of the process. It is called before Resolve whenever they may have changed.
func (e *Engine) Refresh() error {
	if e.buffers.mem == nil && e.opt.Breakpoints == nil {
		e.target.look()
	}
	maps, err := process.Maps(e.target.p.Pid())
	if err != nil {
		return err
	}
	e.mods.update(e.guard.withCovered(maps))
	if e.walks.area != 0 {
		if err := e.walks.update(e.target, e.mods); err != nil {
			return err
		}
	}
	e.others.calls = uprobeCalls(maps)
	return nil
}

// Rings implements engine.Engine.
func (e *Engine) Rings() *ring.Shared { return e.buffers.mem }

// Coarse is the clock of ring.ClockCoarse, nil as long as there is no memory for records.
func (e *Engine) Coarse() *event.CoarseClock { return e.buffers.coarse }

// Counts implements engine.Engine.
func (e *Engine) Counts(x *engine.Program) engine.Counts { return e.sites.counts(x, e.buffers.mem) }

// Sites implements engine.Engine. It counts the sites that have had numbers, except those that became
// uprobes.
func (e *Engine) Sites() int { return len(e.sites.list) - e.sites.moved }

// Account implements engine.Engine.
func (e *Engine) Account(sums []event.SiteSummary) {
	e.sites.account(sums)
	e.pairs(sums)
}

// Slow returns a warning about the programs since the last call that have an int3 although a uprobe would
// be faster, with the reasons; "" if there are none. all is the number of programs.
func (e *Engine) Slow(all int) string { return e.uprobes.warning(all) }

// Loads counts the loads of the files of programs.
func (e *Engine) Loads(list []*engine.Program) (n int) {
	seen := map[*image.Module]bool{}
	for _, x := range list {
		seen[x.Site.(*Site).mod.Module] = true
	}
	for _, m := range e.mods.list {
		for s := range seen {
			if m.SameFile(s) {
				n++
				break
			}
		}
	}
	return n
}

// ProtectClock installs the handler of memory faults for the installed hit programs.
func (e *Engine) ProtectClock() error {
	err := e.target.stopped(func(st *process.Stopped) error {
		if err := e.handlers.prepareFaults(st, nil); err != nil {
			return err
		}
		return e.handlers.installFaults(st)
	})
	e.trouble("protecting the program from the end of jalon", err)
	return err
}

// Clear restores the program's code for a signal at which a thread is held.
func (e *Engine) Clear(tid int) error { return e.crashes.clear(tid) }

// Stop implements engine.Engine. Threads may still be in jalon's code, which then stays mapped: see
// Lingering.
func (e *Engine) Stop() error {
	if e.ended || e.target.replaced() {
		return nil
	}
	e.ended = true
	if e.patches.empty() && e.buffers.mem == nil && e.walks.area == 0 && len(e.buffers.common) == 0 {
		return nil
	}
	err := e.crashes.takeBack()
	// Threads that return from signal handlers later, and children that were forked before and are handled
	// after this, still need the addresses.
	e.patches.removeAll()
	return err
}

// Lingering reports whether threads may be in the engine's code after Stop. Its callbacks are then still
// needed.
func (e *Engine) Lingering() bool { return e.codeSpace.code != nil && !e.target.replaced() }

// Drop drops the state of the program that called exec.
func (e *Engine) Drop() {
	e.tables.clear()
	e.patches.set(nil)
	e.guard.drop()
	e.handlers.prepared = nil
}

// Close implements engine.Engine. The modules stay open for a later engine: see CloseModules.
func (e *Engine) Close() error {
	e.altered.report()
	return e.buffers.close(e.target.p)
}

// CloseModules closes the files of the process's modules if there is no later engine.
func (e *Engine) CloseModules() { e.mods.close() }
