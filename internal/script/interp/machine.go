// Package interp executes probes of scripts: those that run in jalon itself (begin, end, timers, signals, tests and
// benchmarks), and those of sites, with what was recorded at a hit. It also is the meaning of the language's
// operations, against which the engines are tested.
//
// Import rule: interp imports only the packages of scripts.
package interp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/check"
	"github.com/jalon-trace/jalon/internal/script/printf"
	"github.com/jalon-trace/jalon/internal/script/types"
)

// The parts of a machine by topic: expressions, and the words of the language.
type (
	evaluator struct{ *Machine }
	library   struct{ *Machine }
)

// Machine runs a script.
type Machine struct {
	evaluator
	library
	speculator

	p      *check.Program
	opts   Options
	maps   map[string]*table
	start  time.Time
	spec   speculation
	selves int       // probes of the kind self
	boot   time.Time // when CLOCK_BOOTTIME was 0
	warned map[warned]uint64
	order  []warned           // of warned
	vars   []map[string]*slot // of the probe that runs; the innermost scope is the last
	place  *script.Place
	ctx    context.Context
	steps  int
	ended  bool
	// iterating: iterators go through their objects.
	iterating bool
	status    int
	errors    int // of errorf and failed assertions, for tests
	funcs     map[string]*script.Function

	mu        sync.Mutex // guards the machine: hits and timers come from different goroutines
	hit       *Hit       // of the probe that runs; nil in jalon itself
	turn      int        // of the loops that run: plan.Turn
	startMono uint64
	sites     map[string]*siteTable // the maps that sites update
	clearing  []string              // maps of the sites that a probe has cleared
	slept     distance              // of CLOCK_BOOTTIME
	wall      distance              // of the time of day
	locals    map[uint64]local      // variables whose address was taken, by address
	lastLocal uint64
	over      func() // ends Wait
	endTime   uint64 // CLOCK_MONOTONIC at exit(): later hits are not executed
}

// slot is a variable.
type slot struct {
	v val
	t *types.Type
}

// Options are the outputs and what else a script can see.
type Options struct {
	Out, Err io.Writer
	JSON     bool
	Quiet    bool          // no messages of jalon's own
	NoWarn   bool          // no warnings
	Folded   bool          // maps with stacks as keys are printed as flame graphs need them
	Live     time.Duration // the period of printing all maps; 0: only at the end
	Clear    func()        // clears the screen before that; nil: Out is no terminal
	Helpers  bool          // warnings also of what a script may do on purpose, such as reading elements that do not exist (-k)
	Child    int           // the process of -c
	// TimeMap is the map that has the time of tseries() in nanoseconds, for tests of scripts; "": there is none.
	TimeMap string
	Now     func() time.Time
	// Boot and Mono are the clocks of nsecs, in nanoseconds.
	Boot, Mono func() uint64
	// Render and Message write warnings, and messages of errorf and the like; nil: in jalon's form. note is the operation
	// of the kernel that failed.
	Render  func(d *lang.Diagnostic, label, note string) string
	Message func(d *lang.Diagnostic, label string) string
	Names   Names  // nil: addresses have no names
	Kernel  Kernel // nil: probes that run in jalon itself cannot read the kernel
	// Cgroup returns the path of a cgroup by its number; nil: paths are not known.
	Cgroup func(id uint64) string
	// Load is called before each probe that runs in jalon itself, to load the maps of sites; nil: there are none.
	Load func()
	// Stack returns the frames of a stack that is a part of a key in a map of sites.
	Stack func(number uint64) []printf.Frame
	// Process returns the process of such a stack, 0 if it is that of all such stacks, or the kernel's; nil: it is always 0.
	Process func(number uint64) int
	// SiteName is the name of a site in keys of those maps.
	SiteName func(number uint64) string
	// ClearSites takes what a map at the sites had when it was loaded out of it. It is called while no probe runs.
	ClearSites func(name string)
	// System runs a command of the shell and returns its output.
	System func(command string) ([]byte, error)
}

// New prepares a script to run.
func New(p *check.Program, opts Options) *Machine {
	m := &Machine{p: p, opts: opts, maps: map[string]*table{}, funcs: map[string]*script.Function{}, start: opts.Now()}
	m.evaluator, m.library, m.speculator = evaluator{m}, library{m}, speculator{m}
	m.warned = map[warned]uint64{}
	if opts.Boot != nil {
		m.boot = m.start.Add(-time.Duration(opts.Boot()))
	}
	if opts.Mono != nil {
		m.startMono = opts.Mono()
		m.slept = distance{clock: opts.Boot, mono: opts.Mono}
		m.wall = distance{clock: func() uint64 { return uint64(opts.Now().UnixNano()) }, mono: opts.Mono}
	}
	for _, k := range p.Maps {
		m.maps[k.Name] = newTable(k, p)
	}
	for _, f := range p.Functions {
		m.funcs[f.Name] = f
	}
	return m
}

// How a statement ends.
type flow uint8

const (
	next flow = iota
	breaking
	continuing
	returning
)

// errStopped ends a probe when the script is interrupted.
var errStopped = errors.New("interrupted")

// maxPasses bounds a while loop, which would stop all probes for ever. It is that of the kernel for loops of eBPF (BPF_MAX_LOOPS).
const maxPasses = 1 << 23

// maxDepth bounds the calls of functions.
const maxDepth = 1000

// Run executes a probe once at one of its places.
func (m *Machine) Run(ctx context.Context, pr *check.Probe, pl *script.Place) (result int64, err error) {
	loadSites(m)
	defer clearSites(m)
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.run(ctx, pr, pl, false)
}

// run executes a probe. decided: its predicate is true.
func (m *Machine) run(ctx context.Context, pr *check.Probe, pl *script.Place, decided bool) (result int64, err error) {
	if m.spec.off[pr] {
		return 0, nil
	}
	m.ctx, m.place, m.vars, m.turn, m.locals = ctx, pl, nil, 0, nil
	defer func() {
		m.settle()
		if r := recover(); r != nil {
			if stop, ok := r.(stopped); ok {
				err = stop.error
				return
			}
			panic(r)
		}
	}()
	m.push()
	if pr.Pred != nil && !decided && !m.truth(pr.Pred) {
		return 0, nil
	}
	f, v := m.block(pr.Body)
	if f == returning {
		return int64(v.n), nil
	}
	return 0, nil
}

// stopped unwinds to Run: the end of a script by exit() or a signal is not an error of a statement.
type stopped struct{ error }

func abandon(err error) { panic(stopped{err}) }

// Ended reports whether exit() was called, and the status.
func (m *Machine) Ended() (bool, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ended, m.status
}

// step counts an operation, and ends the probe if the script is interrupted.
func (m *Machine) step() {
	if m.steps++; m.steps&1023 == 0 && m.ctx.Err() != nil {
		abandon(errStopped)
	}
}

// Exclusive runs f while no probe runs.
func (m *Machine) Exclusive(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

func (m *Machine) push() { m.vars = append(m.vars, map[string]*slot{}) }
func (m *Machine) pop()  { m.vars = m.vars[:len(m.vars)-1] }

func (m *Machine) lookup(name string) *slot {
	for i := len(m.vars) - 1; i >= 0; i-- {
		if s := m.vars[i][name]; s != nil {
			return s
		}
	}
	return nil
}

// set assigns to a variable of type t; in the innermost scope if it is new.
func (m *Machine) set(name string, v val, from, t *types.Type) {
	s := m.lookup(name)
	if s == nil {
		s = &slot{t: t}
		m.vars[len(m.vars)-1][name] = s
	}
	s.v = convert(v, from, s.t)
}

// typeOf is the type that the checker gave an expression.
func (m *Machine) typeOf(x script.Expr) *types.Type {
	if t := m.p.Types[x]; t != nil {
		return t
	}
	return types.NoneT
}

// PrintMaps prints all maps that have elements, as at the end of a script.
func (m *Machine) PrintMaps() {
	for _, k := range m.p.Maps {
		if t := m.maps[k.Name]; len(t.elems) > 0 {
			m.print(t, 0, 1)
		}
	}
}

func (m *Machine) print(t *table, top int, div uint64) {
	if m.opts.Folded && folded(m, t) {
		return
	}
	s := t.shown(top, div)
	if m.opts.JSON {
		s.JSON(m.opts.Out)
	} else {
		s.Text(m.opts.Out)
	}
}

// line writes an event: text as it is, or a line of JSON.
func (m *Machine) line(kind, text string) {
	if m.opts.JSON {
		fmt.Fprintf(m.opts.Out, "{\"type\": %q, \"data\": %s}\n", kind, printf.Quote(text))
		return
	}
	fmt.Fprint(m.opts.Out, text)
}
