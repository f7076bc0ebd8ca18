package session

import (
	"errors"
	"maps"
	"slices"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/drain"
	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/engine/uprobes"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// processEngine is what a session asks of the engine of its process: the contract, and
// what comes of the process's life.
type processEngine interface {
	engine.Engine
	Refresh() error          // look at what the process has mapped
	Gone() []*engine.Program // those in libraries that Refresh has not seen any more
	Started()                // the program runs code of its own
	Clear(tid int) error     // give the program its code back for a thread's signal
	Drop()                   // the code is gone with the program
	Slow(all int) string     // a warning of programs that are slow, since the last call
	Symbol(uint64) string    // the name of an address
	Unwind(*event.Value) []debuginfo.Frame
	CloseModules()
}

// inProcess is a session's part in the process: places -> programs -> the engine, and the
// programs that the kernel serves there.
type inProcess struct {
	*report
	eng     processEngine
	p       *process.Process
	tps     []*tracked
	uprobes *uprobes.Set
	records *records
	src     *drain.Source // the process's rings; nil: there are none yet
	armed   bool          // once, with or without an error
	// settle reads what the rings have.
	settle func()
}

// arm resolves what has no site yet and installs it. It returns how many
// tracepoints still have no site, and the diagnostics: those of places that are
// not there (unless they may come later), and of expressions.
func (a *inProcess) arm() (pending int, err error) {
	pending, err = a.armAll()
	a.armed = true
	if err != nil && a.p.Ended() {
		err = process.ErrGone // whatever could not be read of it
	}
	return pending, err
}

func (a *inProcess) armAll() (pending int, err error) {
	select {
	case <-a.p.Done():
		return 0, nil
	default:
	}
	if err := a.eng.Refresh(); err != nil {
		return 0, err
	}
	a.forgetGone()
	var fresh []*engine.Program
	var bad lang.Diagnostics
	for _, tp := range a.tps {
		if len(tp.programs) > 0 || tp.Disabled || tp.refused {
			continue
		}
		list, found, perr := a.compiling().All(a.eng, tp, tp.Tracepoint)
		if err := a.interrupted(); err != nil {
			return pending, err
		}
		if tp.pending = nil; !found {
			tp.pending = perr
			pending++
			if !a.armed && !a.opt.Pending {
				bad = tracepoint.Append(bad, tp.pending)
			}
			continue
		}
		if perr != nil {
			tp.refused = true
			bad = tracepoint.Append(bad, perr)
			continue
		}
		fresh = append(fresh, list...)
	}
	if len(bad) > 0 && !a.armed {
		return pending, bad.Err()
	}
	if err := a.install(fresh); isEnd(err) {
		return pending, err
	} else if err != nil {
		bad = tracepoint.Append(bad, err)
	}
	return pending, bad.Err()
}

// install puts programs into the process. One bad address does not end a session: what
// cannot be traced is left out. It is an error when a tracepoint has no address left,
// and a warning otherwise.
func (a *inProcess) install(fresh []*engine.Program) error {
	defer a.warnSlow()
	if len(fresh) == 0 {
		return nil
	}
	left := leftOut{}
	errs, err := a.eng.Load(fresh)
	good := left.sortOut(fresh, errs)
	if err != nil {
		return err
	}
	if err := a.unresolvable(good, left); err != nil {
		return err
	}
	inKernel := a.uprobes.Serving()
	errs, err = a.eng.Arm(good)
	maps.Copy(inKernel, a.uprobes.Serving()) // a jump that could not be written may have become one
	for i, x := range good {
		// Also where Arm ended early: the hits that came are to be read.
		if errs[i] == nil && !inKernel[x] && a.src != nil {
			a.records.know(a.src, x)
		}
	}
	if err != nil {
		return err
	}
	for _, x := range left.sortOut(good, errs) {
		tp := trackedOf(x)
		tp.programs = append(tp.programs, x)
	}
	return a.reportSkipped(left)
}

// unresolvable gives the error of a first arming before anything is done to the
// program: tracepoints of which no address can be traced.
func (a *inProcess) unresolvable(good []*engine.Program, left leftOut) error {
	if a.armed {
		return nil
	}
	has := map[*tracked]bool{}
	for _, x := range good {
		has[trackedOf(x)] = true
	}
	var bad lang.Diagnostics
	for _, tp := range a.tps {
		if l := left[tp]; l != nil && len(tp.programs) == 0 && !has[tp] {
			bad = tracepoint.Append(bad, l.First)
		}
	}
	return bad.Err()
}

// reportSkipped reports the skipped addresses of an installation.
func (a *inProcess) reportSkipped(left leftOut) error {
	var bad lang.Diagnostics
	for _, tp := range a.tps {
		switch l := left[tp]; {
		case l == nil:
		case len(tp.programs) == 0:
			tp.refused = true
			bad = tracepoint.Append(bad, l.First)
		default:
			a.warn(tp.Place.Text + ": " + l.Text(l.N+len(tp.programs)))
		}
	}
	return bad.Err()
}

// warnSlow reports the sites that are reached by int3 since it was last called.
func (a *inProcess) warnSlow() {
	all := 0
	for _, tp := range a.tps {
		all += len(tp.programs)
	}
	if text := a.eng.Slow(all); text != "" {
		a.warn(text)
	}
}

// forgetGone drops the programs in libraries that the process has unloaded. Their
// tracepoints look for places again.
func (a *inProcess) forgetGone() {
	a.uprobes.Refresh()
	gone := map[*engine.Program]bool{}
	for _, x := range a.eng.Gone() {
		gone[x] = true
	}
	if len(gone) > 0 {
		for _, tp := range a.tps {
			tp.programs = slices.DeleteFunc(tp.programs, func(x *engine.Program) bool { return gone[x] })
		}
		a.settle() // what is in the rings belongs to the sites as they were
	}
}

// enable enables or disables a tracepoint in a running process. One that was
// never armed is armed now.
func (a *inProcess) enable(tp *tracked, on bool) error {
	if len(tp.programs) == 0 && on {
		return a.armLate(tp)
	}
	inKernel := a.uprobes.Serving()
	patched := slices.DeleteFunc(slices.Clone(tp.programs), func(x *engine.Program) bool { return inKernel[x] })
	if err := a.eng.Enable(patched, on); err != nil {
		return err
	}
	var trapping []*engine.Program // whose uprobe cannot be had again
	var err error
	if len(patched) < len(tp.programs) {
		if trapping, err = a.uprobes.Enable(tp, on); err != nil {
			return errors.Join(err, a.eng.Enable(patched, !on))
		}
	}
	tp.Disabled = !on
	if len(trapping) > 0 {
		err = a.install(trapping)
	}
	return err
}

func (a *inProcess) armLate(tp *tracked) error {
	tp.Disabled, tp.refused = false, false
	_, err := a.arm()
	if err == nil && tp.pending != nil {
		err = tp.pending
	}
	if err != nil {
		tp.Disabled = true
	}
	return err
}

// replaced forgets what was in the old program.
func (a *inProcess) replaced() {
	a.eng.Drop()
	a.uprobes.Remove()
	if len(a.tps) > 0 {
		a.warn("the program has called exec: the tracepoints were in the old one; tracing of it ends")
	}
}

// detach takes everything back, if the program still is the one that it was put into, and
// lets the process go.
func (a *inProcess) detach(replaced bool) error {
	if !replaced {
		if err := a.eng.Stop(); err != nil && !errors.Is(err, engine.ErrReplaced) {
			return err
		}
	}
	// The tables are needed until the end: threads may be left in the engine's code.
	defer a.eng.Drop()
	return a.p.Detach()
}

// forget takes a program from its tracepoint's list.
func forget(x *engine.Program) {
	tp := trackedOf(x)
	tp.programs = slices.DeleteFunc(tp.programs, func(y *engine.Program) bool { return y == x })
}

// inKernelPlace reports whether the kernel engine serves a place.
func inKernelPlace(p *probe.Place, k *Kernel) bool {
	return p.InKernel() || k.All && p.Kind.Find != nil
}
