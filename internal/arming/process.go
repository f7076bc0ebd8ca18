package arming

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
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// ProcessEngine is what a session asks of the engine of its process: the contract, and
// what comes of the process's life.
type ProcessEngine interface {
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
type Process struct {
	Config
	Engine      ProcessEngine
	Process     *process.Process
	Tracepoints []*Tracked
	Uprobes     *uprobes.Set
	Records     *Records
	Source      *drain.Source // the process's rings; nil: there are none yet
	armed       bool          // once, with or without an error
	// Settle reads what the rings have.
	Settle func()
}

// Arm resolves what has no site yet and installs it. It returns how many
// tracepoints still have no site, and the diagnostics: those of places that are
// not there (unless they may come later), and of expressions.
func (a *Process) Arm() (pending int, err error) {
	pending, err = a.armAll()
	a.armed = true
	if err != nil && a.Process.Ended() {
		err = process.ErrGone // whatever could not be read of it
	}
	return pending, err
}

func (a *Process) armAll() (pending int, err error) {
	select {
	case <-a.Process.Done():
		return 0, nil
	default:
	}
	if err := a.Engine.Refresh(); err != nil {
		return 0, err
	}
	a.forgetGone()
	var fresh []*engine.Program
	var bad lang.Diagnostics
	for _, tp := range a.Tracepoints {
		if len(tp.programs) > 0 || tp.Disabled || tp.refused {
			continue
		}
		list, found, perr := a.Compiling().All(a.Engine, tp, tp.Tracepoint)
		if err := a.Interrupted(); err != nil {
			return pending, err
		}
		if tp.pending = nil; !found {
			tp.pending = perr
			pending++
			if !a.armed && !a.Pending {
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
	if err := a.install(fresh); IsEnd(err) {
		return pending, err
	} else if err != nil {
		bad = tracepoint.Append(bad, err)
	}
	return pending, bad.Err()
}

// install puts programs into the process. One bad address does not end a session: what
// cannot be traced is left out. It is an error when a tracepoint has no address left,
// and a warning otherwise.
func (a *Process) install(fresh []*engine.Program) error {
	defer a.warnSlow()
	if len(fresh) == 0 {
		return nil
	}
	left := leftOut{}
	errs, err := a.Engine.Load(fresh)
	good := left.sortOut(fresh, errs)
	if err != nil {
		return err
	}
	if err := a.unresolvable(good, left); err != nil {
		return err
	}
	inKernel := a.Uprobes.Serving()
	errs, err = a.Engine.Arm(good)
	maps.Copy(inKernel, a.Uprobes.Serving()) // a jump that could not be written may have become one
	for i, x := range good {
		// Also where Arm ended early: the hits that came are to be read.
		if errs[i] == nil && !inKernel[x] && a.Source != nil {
			a.Records.Know(a.Source, x)
		}
	}
	if err != nil {
		return err
	}
	for _, x := range left.sortOut(good, errs) {
		tp := TrackedOf(x)
		tp.programs = append(tp.programs, x)
	}
	return a.reportSkipped(left)
}

// unresolvable gives the error of a first arming before anything is done to the
// program: tracepoints of which no address can be traced.
func (a *Process) unresolvable(good []*engine.Program, left leftOut) error {
	if a.armed {
		return nil
	}
	has := map[*Tracked]bool{}
	for _, x := range good {
		has[TrackedOf(x)] = true
	}
	var bad lang.Diagnostics
	for _, tp := range a.Tracepoints {
		if l := left[tp]; l != nil && len(tp.programs) == 0 && !has[tp] {
			bad = tracepoint.Append(bad, l.First)
		}
	}
	return bad.Err()
}

// reportSkipped reports the skipped addresses of an installation.
func (a *Process) reportSkipped(left leftOut) error {
	var bad lang.Diagnostics
	for _, tp := range a.Tracepoints {
		switch l := left[tp]; {
		case l == nil:
		case len(tp.programs) == 0:
			tp.refused = true
			bad = tracepoint.Append(bad, l.First)
		default:
			a.Warn(tp.Place.Text + ": " + l.Text(l.N+len(tp.programs)))
		}
	}
	return bad.Err()
}

// warnSlow reports the sites that are reached by int3 since it was last called.
func (a *Process) warnSlow() {
	all := 0
	for _, tp := range a.Tracepoints {
		all += len(tp.programs)
	}
	if text := a.Engine.Slow(all); text != "" {
		a.Warn(text)
	}
}

// forgetGone drops the programs in libraries that the process has unloaded. Their
// tracepoints look for places again.
func (a *Process) forgetGone() {
	a.Uprobes.Refresh()
	gone := map[*engine.Program]bool{}
	for _, x := range a.Engine.Gone() {
		gone[x] = true
	}
	if len(gone) > 0 {
		for _, tp := range a.Tracepoints {
			tp.programs = slices.DeleteFunc(tp.programs, func(x *engine.Program) bool { return gone[x] })
		}
		a.Settle() // what is in the rings belongs to the sites as they were
	}
}

// Enable enables or disables a tracepoint in a running process. One that was
// never armed is armed now.
func (a *Process) Enable(tp *Tracked, on bool) error {
	if len(tp.programs) == 0 && on {
		return a.armLate(tp)
	}
	inKernel := a.Uprobes.Serving()
	patched := slices.DeleteFunc(slices.Clone(tp.programs), func(x *engine.Program) bool { return inKernel[x] })
	if err := a.Engine.Enable(patched, on); err != nil {
		return err
	}
	var trapping []*engine.Program // whose uprobe cannot be had again
	var err error
	if len(patched) < len(tp.programs) {
		if trapping, err = a.Uprobes.Enable(tp, on); err != nil {
			return errors.Join(err, a.Engine.Enable(patched, !on))
		}
	}
	tp.Disabled = !on
	if len(trapping) > 0 {
		err = a.install(trapping)
	}
	return err
}

func (a *Process) armLate(tp *Tracked) error {
	tp.Disabled, tp.refused = false, false
	_, err := a.Arm()
	if err == nil && tp.pending != nil {
		err = tp.pending
	}
	if err != nil {
		tp.Disabled = true
	}
	return err
}

// Replaced forgets what was in the old program.
func (a *Process) Replaced() {
	a.Engine.Drop()
	a.Uprobes.Remove()
	if len(a.Tracepoints) > 0 {
		a.Warn("the program has called exec: the tracepoints were in the old one; tracing of it ends")
	}
}

// Detach takes everything back, if the program still is the one that it was put into, and
// lets the process go.
func (a *Process) Detach(replaced bool) error {
	if !replaced {
		if err := a.Engine.Stop(); err != nil && !errors.Is(err, engine.ErrReplaced) {
			return err
		}
	}
	// The tables are needed until the end: threads may be left in the engine's code.
	defer a.Engine.Drop()
	return a.Process.Detach()
}

// Forget takes a program from its tracepoint's list.
func Forget(x *engine.Program) {
	tp := TrackedOf(x)
	tp.programs = slices.DeleteFunc(tp.programs, func(y *engine.Program) bool { return y == x })
}
