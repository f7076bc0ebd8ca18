package process

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	contract "github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/experiment"
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/internal/ring"
)

// engine runs trace experiments in the first process. Tracepoints run in the process itself (package
// engine/inproc) if possible. Those with while-stepping, and those in code that cannot be displaced, are
// collected by the tracer (slow.go).
type engine struct {
	t       *Target
	pr      atomic.Pointer[proc] // that is traced; nil: none yet
	run     *run                 // nil: nothing runs in the process
	last    *run                 // for its modules
	records *records             // of the present or the last run
	armed   map[*experiment.Spec]*armed
	over    atomic.Bool // the process is gone

	vars  variables
	stops *experiment.Stops // nil: the reader of the hits ends the run
	room  int64             // of the buffer, see SetRoom
	given int64             // what the hits cost that were given out since then
	// deciding is held while it is decided how the run goes on, and, for reading, while the
	// tracer collects a hit.
	deciding sync.RWMutex
	markers

	mu   sync.Mutex // guards what follows: the tracer's goroutine adds to it
	slow []slowHit
	// waiting: there are some in slow.
	waiting atomic.Bool
	// native has the tracepoints that are armed in the process, by address.
	native map[uint64][]*armed
}

// armed is a tracepoint of the run.
type armed struct {
	spec     *experiment.Spec
	site     agentexpr.Site // spec.Program with the marker's arguments in the place of L
	marker   *marker        // of a static tracepoint
	sdata    bool           // its arguments are collected
	steps    []agentexpr.Action
	prog     *contract.Program // nil: the tracer collects
	on       bool              // prog is armed
	lay      *agentexpr.Layout
	loaded   bool              // prog was armed once
	before   *armed            // whose place it has taken: see decide
	recorded uint64            // records of prog that were read
	text     experiment.Texter // $_sdata of a record with that layout; nil: none
	slow     *slowSite
	here     slowSite // hits that the tracer collected of one that runs in the process
	raised   bool     // the marker's semaphore
	stop     atomic.Pointer[agentexpr.Stop]
	lost     uint64 // hits whose room has been given back
}

func newEngine(t *Target) *engine {
	return &engine{t: t, markers: markers{t: t}, room: experiment.NoLimit}
}

// Start implements experiment.Engine.
func (e *engine) Start(list []*experiment.Spec, vars []experiment.Variable) []error {
	errs := make([]error, len(list))
	pr, err := e.t.subject()
	var recs *records
	if err == nil {
		recs, err = newRecords()
	}
	if err != nil {
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	e.reset(pr)
	e.records = recs
	e.vars.define(pr.pid, vars)
	e.stops = experiment.NewStops(list, e.vars.reserve)
	e.SetRoom(e.room)
	run := e.newRun(pr, e.last, recs.clock, func(mem *ring.Shared) {
		e.vars.fill(mem)
		recs.open(mem, pr.threads, pr.pid)
	})
	e.run = run
	e.pr.Load().run.Store(run)
	bad := e.arm(list, errs)
	if bad {
		_ = e.Stop() // the first errors are reported
	}
	return errs
}

// reset forgets the run before.
func (e *engine) reset(pr *proc) {
	if e.run != nil {
		_ = e.Stop()
	}
	if e.last != nil {
		_ = e.last.Close() // its records have been read
	}
	if e.pr.Load() != pr || e.over.Load() { // another process, or after exec another program
		if e.last != nil {
			e.last.CloseModules()
		}
		e.last = nil
		e.markers.forget()
	}
	e.pr.Store(pr)
	e.over.Store(false)
	e.armed, e.records = map[*experiment.Spec]*armed{}, nil
	e.mu.Lock()
	e.slow, e.native = nil, map[uint64][]*armed{}
	e.mu.Unlock()
}

// arm puts tracepoints in: natively where possible, else by the tracer.
func (e *engine) arm(list []*experiment.Spec, errs []error) (bad bool) {
	var native []*armed
	for i, s := range list {
		a, err := e.prepare(s)
		if err != nil {
			errs[i], bad = err, true
			continue
		}
		if s.Steps == 0 {
			native = append(native, a)
		}
	}
	for i, err := range e.natively(native) {
		if err != nil {
			a := native[i]
			a.prog = nil
			e.t.log("tracepoint %d at %#x is collected by the tracer: %v", a.spec.Number, a.spec.Addr, err)
		}
	}
	for i, s := range list {
		a := e.armed[s]
		if errs[i] != nil {
			continue
		}
		err := e.raise(a, true)
		if err == nil && a.prog != nil && s.Enabled {
			e.noteNative(a, true)
		}
		if err == nil && a.prog == nil {
			a.slow = &slowSite{a: a, e: e}
			if s.Enabled {
				err = e.setSlow(a, true)
			}
		}
		if err != nil {
			errs[i], bad = err, true
		}
	}
	return bad
}

// prepare makes the entry of a tracepoint.
func (e *engine) prepare(s *experiment.Spec) (*armed, error) {
	a := &armed{spec: s, site: s.Program}
	a.here = slowSite{a: a, e: e}
	a.stop.Store(e.stops.Of(s))
	a.site.Actions = withFrame(s.Program.Actions)
	a.steps = withFrame(s.StepActions)
	if s.Kind == experiment.Static {
		m, err := e.markerAt(s.Addr)
		if err != nil {
			return nil, err
		}
		a.marker = m
	}
	if err := a.expandStatic(); err != nil {
		return nil, err
	}
	e.armed[s] = a
	return a, nil
}

// Add implements experiment.Engine.
func (e *engine) Add(s *experiment.Spec) error {
	if e.run == nil {
		return errors.New("no trace runs")
	}
	if e.over.Load() {
		return errors.New("the program that is traced has ended, or runs another one (exec)")
	}
	if a := e.armed[s]; a != nil {
		return e.renew(a)
	}
	if e.stops == nil && s.SetsVariables() {
		if err := e.decide(s); err != nil {
			return err
		}
	}
	errs := make([]error, 1)
	e.arm([]*experiment.Spec{s}, errs)
	return errs[0]
}

// Enable implements experiment.Engine.
func (e *engine) Enable(s *experiment.Spec, on bool) error {
	a := e.armed[s]
	if a == nil || e.run == nil || e.over.Load() {
		return nil
	}
	if a.slow != nil {
		return e.setSlow(a, on)
	}
	var err error
	switch {
	case a.on == on:
	case on:
		err = e.remake(a, []*armed{a})
	default:
		a.on = false
		err = e.run.Remove([]*contract.Program{a.prog})
	}
	if err == nil {
		e.noteNative(a, on)
	}
	return err
}

// Stop implements experiment.Engine.
func (e *engine) Stop() error {
	if e.run == nil {
		return nil
	}
	var first error
	keep := func(err error) {
		if err != nil && first == nil {
			first = err
		}
	}
	e.mu.Lock()
	e.native = map[uint64][]*armed{}
	e.mu.Unlock()
	e.t.flush() // children whose forks were reported still have the jumps in their memory
	if !e.over.Load() {
		for _, a := range e.armed {
			if a.slow != nil {
				keep(e.setSlow(a, false))
			}
			keep(e.raise(a, false))
		}
		if err := e.run.Stop(); !errors.Is(err, process.ErrGone) && !errors.Is(err, contract.ErrReplaced) {
			keep(err)
		}
		e.pr.Load().retire(e.run)
	}
	e.vars.keep(e.run.rings())
	e.last, e.run = e.run, nil
	return first
}

// leave takes everything out of a process that is let go.
func (e *engine) leave(pr *proc) {
	if e.pr.Load() == pr && e.run != nil {
		if err := e.Stop(); err != nil {
			e.t.log("ending the trace: %v", err)
		}
		e.over.Store(true)
	}
}

// gone is called when a process has ended.
func (e *engine) gone(pr *proc) {
	if e.pr.Load() == pr {
		e.over.Store(true)
	}
}

// Gone implements experiment.Engine.
func (e *engine) Gone() bool { return e.over.Load() }

// Memory implements experiment.Engine.
func (e *engine) Memory(addr uint64, b []byte) error {
	pr := e.pr.Load()
	if pr == nil || e.over.Load() {
		var err error
		if pr, err = e.t.subject(); err != nil {
			return err
		}
	}
	n, err := pr.read(addr, b)
	if err == nil && n < len(b) {
		err = fmt.Errorf("memory at %#x cannot be read", addr+uint64(n))
	}
	return err
}

// withFrame has actions that collect registers collect stack pointer and pc with
// them: without those GDB cannot distinguish the frames of the stack.
func withFrame(list []agentexpr.Action) []agentexpr.Action {
	out := slices.Clone(list)
	for i, a := range out {
		if a.Kind != agentexpr.CollectRegs {
			continue
		}
		for _, n := range []int{fpRegister, spRegister, pcRegister} {
			if !slices.Contains(a.Regs, n) {
				out[i].Regs = append(slices.Clone(out[i].Regs), n)
			}
		}
		break
	}
	return out
}
