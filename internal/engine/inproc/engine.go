package inproc

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/image"
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/internal/ring"
)

// Options say how an engine traces.
type Options struct {
	BufferSize int      // bytes of ring a CPU
	Variables  []uint64 // what the programs' variables are at the start, by index
	DebugDirs  []string // of separate debug files; nil = /usr/lib/debug
	Avoid      uint8    // tactics of package patch not to use, as bits
	// Fresh: the process has run nothing but the dynamic linker; see Started.
	Fresh bool
	// Join: a program at an address that a patch in place covers is put in together
	// with what is there; the patch is made anew. Without it Load refuses the program.
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

// Engine runs hit programs as machine code in one process. It is used from one
// goroutine; the callbacks of the process (Fault, Trap, Clock, Back, Forked, Where,
// Displaced, Original, Forget) from the tracer's.
type Engine struct {
	opt       Options
	p         *process.Process
	fresh     bool    // the process has run nothing of its own yet
	foreign   foreign // breakpoints of others, as far as code was read for the plan that is made
	calls     []span  // what the kernel's calls in the place of breakpoints lead to
	unguarded bool    // that pages cannot be guarded was said

	space    *image.Image
	mods     []*module // of space
	shared   *sharedMem
	tables   tableRef
	code     []*region
	stubs    []*stubPage
	sites    []*site // by number
	known    map[*engine.Program]*site
	plans    []*placed       // loaded, not armed
	refused  map[*site]error // of the present Load or Arm
	seen     seen            // what the sites' programs read
	placed   []*placed       // the tracer's goroutine reads it too: see setPlaced
	placedMu sync.Mutex      // guards placed, covers, guards and old
	cleared  atomic.Bool     // a signal ends the program: its code is its own again
	covers   []covered       //
	guards   []guarded       // pages that other tracers' uprobes are kept out of; see guard.go
	old      []*placed       // taken out again; threads may still be in their code
	moved    int             // of sites: those that became uprobes later
	retired  []*site         // of libraries that were unloaded, and removed ones
	execs    atomic.Int32    // how often the program called exec
	image    int32           // execs when its code was looked at
	ended    bool            // Stop was called
	slow     []string        // why sites are reached by int3 and no uprobe, since Slow was called

	trapping bool        // a SIGTRAP handler is installed
	faulting bool        // a handler of memory faults is installed
	noTSC    atomic.Bool // a thread may not read the time stamp counter, see clock.go
}

// New prepares an engine; Trace gives it its process.
func New(opt Options) *Engine {
	return &Engine{opt: opt, fresh: opt.Fresh, known: map[*engine.Program]*site{}, refused: map[*site]error{}}
}

// Trace sets the process, once. What an earlier engine of the same process knows of its
// modules is used again; before may be nil.
func (e *Engine) Trace(p *process.Process, before *Engine) {
	e.p = p
	if before != nil {
		e.space, e.mods = before.space, before.mods
	}
}

// Started notes that the process runs code of its own from now on.
func (e *Engine) Started() { e.fresh = false }

// Refresh looks at what the process has mapped. It is called before Resolve whenever
// that may have changed.
func (e *Engine) Refresh() error {
	if e.shared == nil && e.opt.Breakpoints == nil {
		e.image = e.execs.Load()
	}
	maps, err := process.Maps(e.p.Pid())
	if err != nil {
		return err
	}
	e.updateModules(maps)
	return nil
}

// Rings implements engine.Engine.
func (e *Engine) Rings() *ring.Shared {
	if e.shared == nil {
		return nil
	}
	return e.shared.mem
}

// Counts implements engine.Engine.
func (e *Engine) Counts(x *engine.Program) (c engine.Counts) {
	if e.shared == nil {
		return c
	}
	for id, y := range e.sites {
		if y.Key != x.Key {
			continue
		}
		c.False += e.shared.mem.Counter(uint32(id), ring.CounterFalse)
		c.Faults += e.shared.mem.Counter(uint32(id), ring.CounterCondFault)
		c.Lost += e.shared.mem.Counter(uint32(id), ring.CounterLost)
	}
	return c
}

// Sites implements engine.Engine: how many sites have had numbers, without those that became uprobes.
func (e *Engine) Sites() int { return len(e.sites) - e.moved }

// Account implements engine.Engine.
func (e *Engine) Account(sums []event.SiteSummary) {
	for i := range sums {
		if id := sums[i].Schema.SiteID; int(id) < len(e.sites) {
			sums[i].Tactic = e.sites[id].tactic
		}
	}
}

// Slow lists, for the programs since the last call that are reached by int3 although a
// uprobe would be faster, why they have none.
func (e *Engine) Slow() []string {
	list := e.slow
	e.slow = nil
	return list
}

// Stop implements engine.Engine. Threads may still be in code of ours, which then stays:
// see Lingering.
func (e *Engine) Stop() error {
	if e.ended || e.Replaced() {
		return nil
	}
	e.ended = true
	if len(e.placed) == 0 && len(e.old) == 0 && e.shared == nil {
		return nil
	}
	err := e.takeBack()
	// Threads that return from signal handlers later, and children that were forked
	// before and are looked at after this, still need to know what was where.
	e.placedMu.Lock()
	e.old, e.placed = append(e.old, e.placed...), nil
	e.placedMu.Unlock()
	return err
}

// Lingering reports whether threads may be in code of the engine after Stop: its
// callbacks are still needed.
func (e *Engine) Lingering() bool { return e.code != nil && !e.Replaced() }

// Replaced reports whether the process is another program than that which was looked at.
func (e *Engine) Replaced() bool { return e.execs.Load() != e.image }

// Forget is called when the process has called exec: nothing of the engine is in it,
// and nothing more can be put there. It may be called on the tracer's goroutine. What
// was recorded is still to be drained.
func (e *Engine) Forget() {
	e.execs.Add(1)
	e.tables.clear()
}

// Drop forgets what was in the program that called exec.
func (e *Engine) Drop() {
	e.tables.clear()
	e.setPlaced(nil)
	e.dropGuards()
}

// Close implements engine.Engine. The modules stay open for the engine after it: see
// CloseModules.
func (e *Engine) Close() error {
	if e.shared == nil {
		return nil
	}
	mem := e.shared.mem
	e.shared = nil
	return mem.Close()
}

// CloseModules closes the files of the process's modules where no other engine follows.
func (e *Engine) CloseModules() {
	for _, m := range e.mods {
		if m.dw != nil {
			_ = m.dw.Close() // it was only read
		}
	}
	e.space, e.mods = nil, nil
}

func (e *Engine) logf(format string, args ...any) {
	if e.opt.Log != nil {
		e.opt.Log(fmt.Sprintf(format, args...))
	}
}

func (e *Engine) warn(msg string) {
	if e.opt.Warn != nil {
		e.opt.Warn(msg)
	}
}

// step is called for item i of n of a long loop. An error ends it: the caller does not
// want it any more. Each place that asks leaves what Stop takes back: the plans that
// are made are not in the process yet, and a patch is in the list of those placed
// before its first byte is written.
func (e *Engine) step(what string, i, n int) error {
	if e.opt.Progress == nil {
		return nil
	}
	return e.opt.Progress(what, i, n)
}

// interrupted is step where there is nothing to show.
func (e *Engine) interrupted() error { return e.step("", 0, 0) }
