package kernel

import (
	"errors"
	"fmt"
	"time"

	contract "github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/engine/kernel"
	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/experiment"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/internal/sema"
)

// runEngine is the engine of a run.
type runEngine interface {
	contract.Engine
	// Armed reports whether hits of a program may come.
	Armed(*contract.Program) bool
	// Others is how many perf events are open on a static tracepoint.
	Others(*kernel.Marker) (int, error)
	// Detach disables programs, and waits until their hits are over.
	Detach([]*contract.Program) error
}

// maxPrograms is how many programs a run may have, and as many in the place of others: see
// exchange.
const maxPrograms = 1024

// engine carries trace experiments out in the kernel. It has one run at a time; what
// a run has left behind can be read until the next one starts.
type engine struct {
	k   *kernel.Host
	mem *memory
	// bufferSize is the ring of one CPU in bytes; 0: the engine's default.
	bufferSize int

	logTo func(string) // may be nil

	run     runEngine // nil before the first run
	sites   map[*experiment.Spec]*site
	order   []*site           // of the run, as they came
	vars    map[int]int       // by GDB's number, the index
	taken   int               // indices in use, those of stops too
	stops   *experiment.Stops // nil: the reader of the hits ends the run
	room    int64             // of the buffer, see SetRoom
	records *records          // nil before the first run
}

func newEngine(k *kernel.Host, mem *memory) *engine {
	return &engine{k: k, mem: mem, room: experiment.NoLimit}
}

func (e *engine) log(format string, args ...any) {
	if e.logTo != nil {
		e.logTo(fmt.Sprintf(format, args...))
	}
}

// Start begins a run; see experiment.Engine.
func (e *engine) Start(list []*experiment.Spec, vars []experiment.Variable) []error {
	errs := make([]error, len(list))
	if err := e.begin(vars); err != nil {
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	e.stops = experiment.NewStops(list, e.reserve)
	e.SetRoom(e.room)
	failed := false
	var armed []*site
	for i, s := range list {
		st, err := e.make(s)
		failed = failed || err != nil
		if errs[i] = err; err == nil && s.Enabled {
			armed = append(armed, st)
		}
	}
	if !failed {
		// The first program of a pair is attached before the second. Until then its runs are not hits: they
		// must set no variable and must not count for the end of the run.
		e.setFlag(experiment.NotBegun)
		bad := arm(armed)
		e.setFlag(0)
		for i, s := range list {
			errs[i] = bad[e.sites[s]]
		}
		failed = len(bad) > 0
	}
	if failed {
		_ = e.Stop() // what is wrong is known
		_ = e.end()
	}
	return errs
}

// setFlag sets the variable by which programs end the run, where there is one.
func (e *engine) setFlag(value uint64) {
	if e.stops != nil {
		e.run.Rings().SetVariable(int(e.stops.Flag), value)
	}
}

// begin makes the memory of a run.
func (e *engine) begin(vars []experiment.Variable) error {
	if err := e.end(); err != nil {
		return err
	}
	e.k.Renew()
	run := e.k.NewEngine(kernel.EngineOptions{BufferSize: e.bufferSize, Room: maxPrograms, Later: maxPrograms, Ordered: true})
	if err := run.Reserve(); err != nil {
		return err
	}
	recs, err := newRecords(run.Rings())
	if err != nil {
		return errors.Join(err, run.Close())
	}
	e.run, e.records = run, recs
	e.sites, e.order, e.vars, e.taken, e.stops = map[*experiment.Spec]*site{}, nil, map[int]int{}, 0, nil
	for _, v := range vars {
		if !v.Builtin {
			e.SetVariable(v.Number, v.Value)
		}
	}
	return nil
}

// end frees what a run has left behind.
func (e *engine) end() error {
	run := e.run
	if run == nil {
		return nil
	}
	e.run, e.sites, e.order, e.vars, e.stops, e.records = nil, nil, nil, nil, nil, nil
	return run.Close()
}

// errNoRun: there is no run to change.
var errNoRun = errors.New("no trace experiment is running")

// Add arms one more site.
func (e *engine) Add(s *experiment.Spec) error {
	if e.run == nil {
		return errNoRun
	}
	st := e.sites[s]
	if st == nil { // else its programs are loaded, and perhaps could not be attached
		add := e.make
		if e.stops == nil && s.SetsVariables() {
			add = e.addDeciding
		}
		var err error
		if st, err = add(s); err != nil {
			return err
		}
	}
	if !s.Enabled || st.armed(st.last()) {
		return nil
	}
	return e.enable(st)
}

// Enable arms or disarms a site.
func (e *engine) Enable(s *experiment.Spec, on bool) error {
	st := e.sites[s]
	switch {
	case st == nil:
		return errNoRun
	case on:
		return e.enable(st)
	}
	return st.detach()
}

// enable attaches one more program. Programs at the same tracepoint that must be called after it are detached
// and attached again, and lose the hits of that time.
func (e *engine) enable(st *site) error {
	list := []*site{st}
	if st.own != nil && !st.armed(st.main) {
		for _, other := range e.order {
			if other != st && other.byRecord() && other.armed(other.main) && other.marker.Name == st.marker.Name {
				if err := other.detach(); err != nil {
					return err
				}
				list = append(list, other)
			}
		}
	}
	for _, err := range arm(list) {
		return err
	}
	return nil
}

// Stop disarms all. The kernel takes its time for each to be sure that no CPU is in
// it, so that all wait together.
func (e *engine) Stop() error {
	var list []*contract.Program
	for _, st := range e.order {
		list = append(list, st.last())
	}
	return e.run.Detach(list)
}

// Counts returns the counters of a site.
func (e *engine) Counts(s *experiment.Spec) experiment.Counts {
	st := e.sites[s]
	if st == nil {
		return experiment.Counts{}
	}
	c := st.counts()
	if st.before != nil {
		b := st.before.counts()
		c = experiment.Counts{Hits: c.Hits + b.Hits, False: c.False + b.False, Faults: c.Faults + b.Faults, Lost: c.Lost + b.Lost}
	}
	return c
}

// Variable reads a trace state variable.
func (e *engine) Variable(number int) (int64, bool) {
	if number == experiment.TimestampVariable {
		return time.Now().UnixMicro(), true
	}
	i, ok := e.vars[number]
	if !ok {
		return 0, false
	}
	return int64(e.run.Rings().Variable(i)), true
}

// SetVariable sets one, and makes it known to the run.
func (e *engine) SetVariable(number int, value int64) {
	if e.run == nil || number == experiment.TimestampVariable || predefined[number] != nil {
		return
	}
	i, ok := e.vars[number]
	if !ok {
		index, room := e.reserve()
		if !room {
			return // a program that uses it is refused
		}
		i = int(index)
		e.vars[number] = i
	}
	e.run.Rings().SetVariable(i, uint64(value))
}

// variable is what a variable is to programs.
func (e *engine) variable(number int) (agentexpr.Variable, bool) {
	if number == experiment.TimestampVariable {
		return agentexpr.Variable{Now: true}, true
	}
	if b := predefined[number]; b != nil {
		return agentexpr.Variable{Read: b.Env.Read}, true
	}
	i, ok := e.vars[number]
	return agentexpr.Variable{Index: int64(i)}, ok
}

// predefined are the words of jalon's that GDB has as variables, by their numbers.
var predefined = func() map[int]*sema.Builtin {
	m := map[int]*sema.Builtin{}
	for _, b := range sema.GDBVariables(true) {
		m[b.GDBNumber] = b
	}
	return m
}()

// Predefined are the trace state variables that need no definition.
func Predefined() (list []experiment.Variable) {
	for _, b := range sema.GDBVariables(true) {
		list = append(list, experiment.Variable{Number: b.GDBNumber, Name: b.GDB})
	}
	return list
}

// Memory reads the kernel's memory.
func (e *engine) Memory(addr uint64, b []byte) error {
	n, err := e.mem.read(addr, b)
	if n < len(b) {
		return err
	}
	return nil
}

// Drain gives the hits since the last call.
func (e *engine) Drain(final bool, f func(*experiment.Hit)) {
	if e.records == nil {
		return
	}
	e.giveBack()
	if err := e.records.read(final, f); err != nil {
		e.log("reading the trace: %v", err)
	}
}

// Gone never holds: the kernel stays.
func (e *engine) Gone() bool { return false }

// reserve takes a variable of the run that is in no use; its value is 0.
func (e *engine) reserve() (index int64, ok bool) {
	if e.taken >= ring.MaxVariables {
		return 0, false
	}
	e.taken++
	e.run.Rings().SetVariable(e.taken-1, 0)
	return int64(e.taken - 1), true
}

// SetRoom implements experiment.Engine.
func (e *engine) SetRoom(bytes int64) {
	e.room = bytes
	if e.records != nil {
		e.records.cost = 0
	}
	if e.run != nil && e.stops != nil {
		e.run.Rings().SetVariable(int(e.stops.Room), uint64(bytes))
	}
}

// giveBack adds to the room what hits have taken of which no frame comes.
func (e *engine) giveBack() {
	if e.stops == nil {
		return
	}
	for _, st := range e.order {
		stop := e.stops.Of(st.spec)
		lost := e.run.Rings().Counter(st.main.Schema.SiteID, ring.CounterLost)
		if stop == nil || lost <= st.unpaid {
			continue
		}
		n := lost - st.unpaid
		e.run.Rings().FetchAddVariable(int(e.stops.Room), uint64(experiment.RecordsCost(n, n*uint64(st.layout.RecordSize))))
		st.unpaid = lost
	}
}

// Ended implements experiment.Engine.
func (e *engine) Ended() experiment.Ending {
	if e.run == nil || e.stops == nil {
		return experiment.Ending{}
	}
	return e.stops.Ending(e.run.Rings().Variable(int(e.stops.Flag)))
}
