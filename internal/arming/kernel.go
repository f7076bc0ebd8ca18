package arming

import (
	"slices"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/drain"
	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// KernelEngine is what arming uses of the kernel engine: the contract, and the names of addresses in its
// records.
type KernelEngine interface {
	engine.Engine
	event.KernelNames
	Symbol(uint64) string
	Unwind(*event.Event, *event.Value) []debuginfo.Frame
	Epoch(*event.Event) uint64
	Followed(*event.Event, *event.Value) bool
	StackByNumber(uint64) ([]debuginfo.Frame, error)
	StackProcess(uint64) int
	// Tend does what hits have asked for. It is called every few milliseconds while they arrive.
	Tend()
	// FollowsStacks reports whether programs follow stacks of processes by their call frame information; Mapped takes that of a process
	// that has its libraries now.
	FollowsStacks() bool
	Mapped(pid int)
	// StackCounts is how many stacks in keys found no place, and at how many hits frame pointers were followed because there were no
	// tables of the process.
	StackCounts() (full, pointers uint64)
	// Reserve allocates resources for programs that will be loaded later.
	Reserve() error
	// Iterate goes through the objects of iterators, and returns when their programs have run for all.
	Iterate() error
}

// Kernel arms the tracepoints of the kernel engine.
type Kernel struct {
	Config
	Engine      KernelEngine // nil: not used
	Open        func() (KernelEngine, error)
	Tracepoints []*Tracked
	Records     *Records
	Source      *drain.Source      // the rings of the engine; nil before they exist
	OnRings     func(*ring.Shared) // is called when they exist, before the first hit
	refused     error              // why the engine cannot be used for sites of the process
}

// Arm compiles and attaches the tracepoints. Nothing is attached before everything is loaded.
func (a *Kernel) Arm() (err error) {
	if len(a.Tracepoints) == 0 {
		return nil
	}
	if a.Engine == nil {
		if a.Engine, err = a.Open(); err != nil {
			return err
		}
	}
	var bad refusals
	none := absent{Config: &a.Config}
	named := len(a.Tracepoints) > 1
	var list []*engine.Program
	compiling := a.Compiling().Share()
	for _, tp := range a.Tracepoints {
		progs, found, err := compiling.All(a.Engine, tp, tp.Tracepoint)
		if stop := a.Interrupted(); stop != nil {
			return stop
		}
		switch {
		case err != nil && found && !tp.Optional:
			none.add(tp, err)
		case err != nil:
			for _, d := range a.failed(tp, nil, err) {
				bad.add(tp, d)
			}
		}
		list = append(list, progs...)
	}
	others, known := len(list) > 0, len(bad.list) == 0
	list = append(list, none.resolve(a.Engine, others, &bad)...)
	if len(bad.list) > 0 {
		if err = bad.err(named); known {
			err = &AbsentError{err}
		}
		return err
	}
	if list, err = a.load(list); err != nil {
		return err
	}
	a.Read()
	var on []*engine.Program
	for _, x := range list {
		a.Records.Know(a.Source, x)
		tp := TrackedOf(x)
		tp.programs = append(tp.programs, x)
		if !tp.Disabled {
			on = append(on, x)
		}
	}
	return a.attach(on)
}

// load loads programs. A site whose program the kernel refuses is skipped with a warning; a tracepoint with no other site is an
// error.
func (a *Kernel) load(list []*engine.Program) ([]*engine.Program, error) {
	errs, err := a.Engine.Load(list)
	if err != nil {
		return nil, err
	}
	skip := skipped{}
	good := skip.filter(list, errs)
	loaded := map[*Tracked]int{}
	for _, x := range good {
		loaded[TrackedOf(x)]++
	}
	var bad refusals
	for _, tp := range a.Tracepoints {
		switch l := skip[tp]; {
		case l == nil:
		case loaded[tp] == 0:
			for _, d := range a.failed(tp, nil, l.First) {
				bad.add(tp, d)
			}
		default:
			a.Warn(tp.Place.Text + ": " + l.Text(l.N+loaded[tp]))
		}
	}
	return good, bad.err(len(a.Tracepoints) > 1)
}

// attach arms programs. A site that the kernel refuses is skipped with a warning; a tracepoint with no
// other site is an error.
func (a *Kernel) attach(on []*engine.Program) error {
	errs, err := a.Engine.Arm(on)
	if err != nil {
		return err
	}
	skip := skipped{}
	armed := map[*Tracked]int{}
	for _, x := range skip.filter(on, errs) {
		armed[TrackedOf(x)]++
	}
	for i, x := range on {
		if tp := TrackedOf(x); errs[i] != nil {
			tp.programs = slices.DeleteFunc(tp.programs, func(y *engine.Program) bool { return y == x })
		}
	}
	var bad lang.Diagnostics
	for _, tp := range a.Tracepoints {
		switch l := skip[tp]; {
		case l == nil:
		case armed[tp] == 0:
			bad = a.failed(tp, bad, l.First)
		default:
			a.Warn(tp.Place.Text + ": " + l.Text(l.N+armed[tp]))
		}
	}
	return bad.Err()
}

// failed adds the error of a tracepoint without a site, or warns.
func (a *Kernel) failed(tp *Tracked, bad lang.Diagnostics, err error) lang.Diagnostics {
	if tp.Optional {
		a.Warn(err.Error())
		return bad
	}
	return tracepoint.Append(bad, err)
}

// Need opens the kernel engine for sites of the process, unless places of the session have already opened
// it.
func (a *Kernel) Need() error {
	if a.Engine != nil || a.refused != nil {
		return a.refused
	}
	eng, err := a.Open()
	if err == nil {
		if err = eng.Reserve(); err != nil {
			_ = eng.Close()
		}
	}
	if a.refused = err; err == nil {
		a.Engine = eng
	}
	return err
}

// Read adds the engine's rings to the rings that are read.
func (a *Kernel) Read() {
	if a.Source == nil {
		a.OnRings(a.Engine.Rings())
		a.Source = a.Records.Add(a.Engine.Rings(), true, event.Decoder{})
	}
}

func (a *Kernel) Enable(tp *Tracked, on bool) error {
	if err := a.Engine.Enable(tp.programs, on); err != nil {
		return err
	}
	tp.Disabled = !on
	return nil
}

// Disarm removes the sites.
func (a *Kernel) Disarm() {
	if a.Engine != nil {
		_ = a.Engine.Stop() // the kernel removes the rest when jalon ends
	}
}

func (a *Kernel) Close() {
	if a.Engine != nil {
		_ = a.Engine.Close()
	}
}
