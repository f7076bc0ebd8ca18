package session

import (
	"slices"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/drain"
	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// kernelEngine is what a session asks of the engine of the kernel: the contract, and the
// names of what its records have addresses of.
type kernelEngine interface {
	engine.Engine
	event.KernelNames
	Symbol(uint64) string
	Unwind(*event.Event, *event.Value) []debuginfo.Frame
	// Reserve makes ready for programs of which nothing is known yet.
	Reserve() error
}

// inKernel is a session's part in the kernel: places -> programs -> the kernel engine.
type inKernel struct {
	*report
	eng     kernelEngine // nil: not used
	open    func() (kernelEngine, error)
	refused error // why it cannot be used for sites of the process
	tps     []*tracked
	records *records
	src     *drain.Source // its rings; nil: there are none yet
}

// arm makes and attaches the sites of the kernel engine, in this order for all of
// them together: nothing is attached before everything is loaded.
func (a *inKernel) arm() (err error) {
	if len(a.tps) == 0 {
		return nil
	}
	if a.eng, err = a.open(); err != nil {
		return err
	}
	var bad lang.Diagnostics
	var list, on []*engine.Program
	for _, tp := range a.tps {
		progs, _, err := a.compiling().All(a.eng, tp, tp.Tracepoint)
		if stop := a.interrupted(); stop != nil {
			return stop
		}
		if err != nil {
			bad = tracepoint.Append(bad, err)
			continue
		}
		tp.programs = progs
		list = append(list, progs...)
		if !tp.Disabled {
			on = append(on, progs...)
		}
	}
	if len(bad) > 0 {
		return distinct(bad).Err()
	}
	errs, err := a.eng.Load(list)
	if err != nil {
		return err
	}
	for i, x := range list {
		if errs[i] != nil {
			bad = tracepoint.Append(bad, probe.Error(trackedOf(x).Place, errs[i]))
		}
	}
	if len(bad) > 0 {
		return distinct(bad).Err()
	}
	a.read()
	for _, x := range list {
		a.records.know(a.src, x)
	}
	return a.attach(on)
}

// attach arms programs. Sites that the kernel refuses are left out with a warning; that a
// tracepoint has no other is an error.
func (a *inKernel) attach(on []*engine.Program) error {
	errs, err := a.eng.Arm(on)
	if err != nil {
		return err
	}
	left := leftOut{}
	armed := map[*tracked]int{}
	for _, x := range left.sortOut(on, errs) {
		armed[trackedOf(x)]++
	}
	for i, x := range on {
		if tp := trackedOf(x); errs[i] != nil {
			tp.programs = slices.DeleteFunc(tp.programs, func(y *engine.Program) bool { return y == x })
		}
	}
	var bad lang.Diagnostics
	for _, tp := range a.tps {
		switch l := left[tp]; {
		case l == nil:
		case armed[tp] == 0:
			bad = tracepoint.Append(bad, l.First)
		default:
			a.warn(tp.Place.Text + ": " + l.Text(l.N+armed[tp]))
		}
	}
	return bad.Err()
}

// need opens the kernel engine for sites of the process, where the session has no places
// that opened it before.
func (a *inKernel) need() error {
	if a.eng != nil || a.refused != nil {
		return a.refused
	}
	eng, err := a.open()
	if err == nil {
		if err = eng.Reserve(); err != nil {
			_ = eng.Close()
		}
	}
	if a.refused = err; err == nil {
		a.eng = eng
	}
	return err
}

// read has the rings read.
func (a *inKernel) read() {
	if a.src == nil {
		a.src = a.records.add(a.eng.Rings(), true, event.Decoder{})
	}
}

func (a *inKernel) enable(tp *tracked, on bool) error {
	if err := a.eng.Enable(tp.programs, on); err != nil {
		return err
	}
	tp.Disabled = !on
	return nil
}

// disarm takes the sites back.
func (a *inKernel) disarm() {
	if a.eng != nil {
		_ = a.eng.Stop() // what is left ends with jalon
	}
}

func (a *inKernel) close() {
	if a.eng != nil {
		_ = a.eng.Close()
	}
}
