package process

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	contract "github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/experiment"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/internal/ring"
)

// engine carries trace experiments out in the first process. What can be runs in
// the process itself (package engine/inproc); what needs the tracer (while-stepping, or a
// place whose code cannot be displaced) is collected by the tracer (slow.go).
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
	marked   markerList

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

func newEngine(t *Target) *engine { return &engine{t: t, room: experiment.NoLimit} }

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
		e.last, e.marked = nil, markerList{}
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

// natives are the tracepoints at an address that are armed in the process.
func (e *engine) natives(addr uint64) []*armed {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.native[addr]
}

// noteNative keeps natives up to date.
func (e *engine) noteNative(a *armed, on bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := slices.DeleteFunc(slices.Clone(e.native[a.spec.Addr]), func(x *armed) bool { return x == a })
	if on {
		list = append(list, a)
		slices.SortFunc(list, func(x, y *armed) int { return x.spec.Number - y.spec.Number })
	}
	e.native[a.spec.Addr] = list
}

// natively arms tracepoints in the process, those that are enabled. Each has an error
// that says why that is not possible.
func (e *engine) natively(list []*armed) []error {
	errs := make([]error, len(list))
	err := e.run.Refresh()
	for i, a := range list {
		if errs[i] = err; err == nil {
			a.prog, errs[i] = e.program(a)
		}
	}
	var on []*armed
	var at []int
	for i, a := range list {
		if errs[i] == nil && a.spec.Enabled {
			on, at = append(on, a), append(at, i)
		}
	}
	for i, err := range e.install(on) {
		errs[at[i]] = err
	}
	return errs
}

// install puts programs into the process, and notes which are in.
func (e *engine) install(list []*armed) []error {
	progs := make([]*contract.Program, len(list))
	for i, a := range list {
		progs[i] = a.prog
	}
	errs, err := e.run.Load(progs)
	if err == nil {
		errs, err = e.run.Arm(progs)
	}
	for i, a := range list {
		switch {
		case err != nil:
			errs[i] = err
		case errs[i] != nil:
			errs[i] = errors.New(contract.Plain(errs[i]))
		default:
			a.on, a.loaded = true, true
			e.records.know(a)
		}
	}
	return errs
}

// program makes the hit program of a tracepoint for its address.
func (e *engine) program(a *armed) (*contract.Program, error) {
	place, err := probe.Parse(fmt.Sprintf("*%#x", a.spec.Addr))
	if err != nil {
		return nil, err
	}
	sites, err := e.run.Resolve(place)
	if err != nil {
		return nil, errors.New(contract.Plain(err))
	}
	f := sites[0].(interface{ Facts() contract.Facts }).Facts()
	p, lay, err := agentexpr.Lower(&a.site, &agentexpr.Options{
		GSBase: f.GSBase, AVX: f.AVX, InUse: f.XGETBV1, PC: a.spec.Addr, Var: e.vars.find, Stop: a.stop.Load(),
		Trusted: func(base, off, size int64) bool {
			if base == -1 {
				return f.Readable(uint64(off), uint64(size))
			}
			return f.InFrame(base, off, size)
		},
	})
	if err != nil {
		return nil, errors.New(contract.Plain(err))
	}
	contract.Finish(p, place.Text, !e.t.opt.NoOptimise)
	a.lay = lay
	if a.sdata {
		a.text = a
	}
	return &contract.Program{
		Key: a, Number: a.spec.Number, Label: place.Text, Site: sites[0], IR: p,
		Schema: &event.Schema{
			Place: place.Text, Function: f.Function, PC: a.spec.Addr,
			RecordSize: lay.RecordSize, ShortSize: contract.ShortRecord(p, lay.RecordSize),
		},
	}, nil
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

// renew arms a tracepoint again whose library may have been loaded anew.
func (e *engine) renew(a *armed) error {
	if a.slow == nil {
		return e.reload(a)
	}
	if err := e.setSlow(a, false); err != nil {
		return err
	}
	return e.setSlow(a, true)
}

// reload arms a tracepoint in the process again if its code was loaded anew, with those
// that share its patch.
func (e *engine) reload(a *armed) error {
	if !a.on {
		return nil
	}
	if err := e.run.Refresh(); err != nil {
		return err
	}
	gone, err := e.run.Reloaded(a.prog)
	if err != nil {
		return err
	}
	var again []*armed
	for _, x := range gone {
		again = append(again, x.Key.(*armed))
	}
	return e.remake(a, again)
}

// remake makes the programs of tracepoints again and arms them; the error is about a.
func (e *engine) remake(a *armed, list []*armed) error {
	for _, x := range list {
		p, err := e.program(x)
		if err != nil {
			return err
		}
		x.prog, x.on = p, false
	}
	errs := e.install(list)
	if i := slices.Index(list, a); i >= 0 {
		return errs[i]
	}
	return nil
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
