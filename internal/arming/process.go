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

// ProcessEngine is what arming uses of the in-process engine: the contract, and methods for events of the
// process.
type ProcessEngine interface {
	engine.Engine
	Refresh() error          // read the mappings of the process
	Gone() []*engine.Program // programs in libraries that are no longer mapped
	// Loads counts how many times the files of programs are loaded: a file once in each namespace (dlmopen).
	Loads(list []*engine.Program) int
	Started()            // the program has begun to run its own code
	Clear(tid int) error // restore the program's code for a signal of the thread
	// Outside calls f with all threads stopped if each has been outside of hits since seen was empty.
	Outside(seen map[int]bool, f func(quiet bool) error) (all bool, err error)
	Reclaim() error       // give back room in maps of entries
	Drop()                // the program that had the code does not exist any more
	Slow(all int) string  // a warning about slow sites since the last call
	Symbol(uint64) string // the name of an address
	Unwind(v *event.Value, from, to int64) []debuginfo.Frame
	Epoch(from, to int64) uint64
	CloseModules()
}

// Process arms the tracepoints in the traced process, including those that the kernel engine serves there.
type Process struct {
	Config
	Engine      ProcessEngine
	Process     *process.Process
	Tracepoints []*Tracked
	Uprobes     *uprobes.Set
	Records     *Records
	Source      *drain.Source // the rings of the process; nil before they exist
	armed       bool          // Arm has been called, with or without an error
	// Settle reads all records that are in the rings.
	Settle func()
}

// Arm resolves the tracepoints without sites and installs them. It returns how many still have no site. The
// error has the diagnostics of places that were not found (unless they may be in a later library) and of
// expressions.
func (a *Process) Arm() (pending int, err error) {
	pending, err = a.armAll()
	a.armed = true
	if err != nil && a.Process.Ended() {
		err = process.ErrGone // the cause of whatever could not be read
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
	var bad refusals
	none := absent{Config: &a.Config}
	named := len(a.Tracepoints) > 1
	compiling := a.Compiling().Share()
	for _, tp := range a.Tracepoints {
		if tp.Disabled || tp.refused || len(tp.programs) > 0 && a.Engine.Loads(tp.programs) <= tp.loads {
			continue
		}
		list, found, perr := compiling.All(a.Engine, tp, tp.Tracepoint)
		if err := a.Interrupted(); err != nil {
			return pending, err
		}
		if list = tp.without(list); len(tp.programs) > 0 { // in other loads of their files
			if len(list) == 0 {
				tp.loads = a.Engine.Loads(tp.programs)
			}
			fresh = append(fresh, list...)
			continue
		}
		if tp.pending = nil; !found {
			tp.pending = perr
			pending++
			if !a.armed && !a.Pending && !a.optional(tp, perr) {
				bad.add(tp, tp.pending)
			}
			continue
		}
		if perr != nil {
			switch tp.refused = true; {
			case a.optional(tp, perr):
			case a.armed:
				bad.add(tp, perr)
			default:
				none.add(tp, perr)
			}
			continue
		}
		fresh = append(fresh, list...)
	}
	others, known := len(fresh) > 0, len(bad.list) == 0
	fresh = append(fresh, none.resolve(a.Engine, others, &bad)...)
	if len(bad.list) > 0 && !a.armed {
		if err = bad.err(named); known {
			err = &AbsentError{err}
		}
		return pending, err
	}
	if err := a.install(fresh); IsEnd(err) {
		return pending, err
	} else if err != nil {
		return pending, tracepoint.Append(tracepoint.Append(nil, bad.err(named)), err).Err()
	}
	return pending, bad.err(named)
}

// install installs programs in the process. An address that cannot be traced is skipped: with a warning, or
// with an error if the tracepoint has no other address.
func (a *Process) install(fresh []*engine.Program) (err error) {
	defer func() {
		if err == nil || a.armed {
			a.warnSlow()
		}
	}()
	if len(fresh) == 0 {
		return nil
	}
	skip := skipped{}
	errs, err := a.Engine.Load(fresh)
	good := skip.filter(fresh, errs)
	if err != nil {
		return err
	}
	if err := a.unresolvable(good, skip); err != nil {
		return err
	}
	inKernel := a.Uprobes.Serving()
	errs, err = a.Engine.Arm(good)
	maps.Copy(inKernel, a.Uprobes.Serving()) // Arm may have replaced a jump that could not be written by a uprobe
	for i, x := range good {
		// Also if Arm failed: hits that have arrived must be read.
		if errs[i] == nil && !inKernel[x] && a.Source != nil {
			a.Records.Know(a.Source, x)
		}
	}
	if err != nil {
		return err
	}
	for _, x := range skip.filter(good, errs) {
		tp := TrackedOf(x)
		tp.programs = append(tp.programs, x)
	}
	for _, tp := range a.Tracepoints {
		tp.loads = a.Engine.Loads(tp.programs)
	}
	return a.reportSkipped(skip)
}

// unresolvable returns the error of a first arming for tracepoints without any address that can be traced,
// before the program is changed.
func (a *Process) unresolvable(good []*engine.Program, skip skipped) error {
	if a.armed {
		return nil
	}
	has := map[*Tracked]bool{}
	for _, x := range good {
		has[TrackedOf(x)] = true
	}
	var bad lang.Diagnostics
	for _, tp := range a.Tracepoints {
		if l := skip[tp]; l != nil && len(tp.programs) == 0 && !has[tp] && !tp.Optional {
			bad = tracepoint.Append(bad, l.First)
		}
	}
	return bad.Err()
}

// reportSkipped reports the skipped addresses of an installation.
func (a *Process) reportSkipped(skip skipped) error {
	var bad lang.Diagnostics
	for _, tp := range a.Tracepoints {
		switch l := skip[tp]; {
		case l == nil:
		case len(tp.programs) == 0:
			if tp.refused = true; !a.optional(tp, l.First) {
				bad = tracepoint.Append(bad, l.First)
			}
		default:
			a.Warn(tp.Place.Text + ": " + l.Text(l.N+len(tp.programs)))
		}
	}
	return bad.Err()
}

// warnSlow warns about sites with an int3 that were installed since the last call.
func (a *Process) warnSlow() {
	all := 0
	for _, tp := range a.Tracepoints {
		all += len(tp.programs)
	}
	if text := a.Engine.Slow(all); text != "" {
		a.Warn(text)
	}
}

// forgetGone drops the programs in libraries that the process has unloaded. Their tracepoints are resolved
// again.
func (a *Process) forgetGone() {
	a.Uprobes.Refresh()
	gone := map[*engine.Program]bool{}
	for _, x := range a.Engine.Gone() {
		gone[x] = true
	}
	if len(gone) > 0 {
		for _, tp := range a.Tracepoints {
			tp.programs = slices.DeleteFunc(tp.programs, func(x *engine.Program) bool { return gone[x] })
			tp.loads = a.Engine.Loads(tp.programs)
		}
		a.Settle() // the records in the rings belong to the old sites
	}
}

// Enable enables or disables a tracepoint in a running process. A tracepoint that was never armed is armed
// now.
func (a *Process) Enable(tp *Tracked, on bool) error {
	if len(tp.programs) == 0 && on {
		return a.armLate(tp)
	}
	patched := tp.programs
	if inKernel := a.Uprobes.Serving(); len(inKernel) > 0 {
		patched = slices.DeleteFunc(slices.Clone(patched), func(x *engine.Program) bool { return inKernel[x] })
	}
	if err := a.Engine.Enable(patched, on); err != nil {
		return err
	}
	var trapping []*engine.Program // their uprobes cannot be inserted again
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

// Replaced drops everything that was in the old program. by is the file of the new one, "" if it is not known.
func (a *Process) Replaced(by string) {
	a.Engine.Drop()
	a.Uprobes.Remove()
	if len(a.Tracepoints) > 0 {
		if by != "" {
			by = " of " + by
		}
		a.Warn("the program has called exec" + by + ": the tracepoints were in the old one; tracing of it ends")
	}
}

// Detach restores the program's code, unless the process has called exec, and detaches from the process.
func (a *Process) Detach(replaced bool) error {
	if !replaced {
		if err := a.Engine.Stop(); err != nil && !errors.Is(err, engine.ErrReplaced) {
			return err
		}
	}
	// The tables are needed until the end: threads may still be in the engine's code.
	defer a.Engine.Drop()
	return a.Process.Detach()
}

// Forget removes a program from the list of its tracepoint.
func Forget(x *engine.Program) {
	tp := TrackedOf(x)
	tp.programs = slices.DeleteFunc(tp.programs, func(y *engine.Program) bool { return y == x })
}

// Unblock lets the reader go on behind records that threads have left for good, and hit programs find room in their maps.
func (a *Process) Unblock() error {
	if a.Source == nil || a.Process == nil {
		return nil
	}
	if err := a.Records.Drain.Unblock(a.Source, a.Engine.Outside); err != nil && !IsEnd(err) {
		return err
	}
	if err := a.Engine.Reclaim(); err != nil && !IsEnd(err) {
		return err
	}
	return nil
}
