package arming

import (
	"errors"
	"slices"

	"github.com/jalon-trace/jalon/internal/engine"
)

// Add arms a tracepoint in the running process. A disabled tracepoint is armed when it is enabled.
func (a *Process) Add(tp *Tracked) error {
	a.Tracepoints = append(a.Tracepoints, tp)
	if tp.Disabled {
		return nil
	}
	_, err := a.Arm()
	if err == nil && tp.pending != nil && !a.Pending {
		err = tp.pending
	}
	if err != nil && len(tp.programs) > 0 { // the error is of another tracepoint
		a.Warn(err.Error())
		err = nil
	}
	if err != nil {
		a.Tracepoints = without(a.Tracepoints, tp)
	}
	return err
}

// Remove removes a tracepoint from the running process.
func (a *Process) Remove(tp *Tracked) error {
	inKernel := a.Uprobes.Serving()
	var patched []*engine.Program
	for _, x := range slices.Clone(tp.programs) {
		a.Records.Forget(x)
		if inKernel[x] {
			a.Uprobes.Drop(x) // Drop also removes it from the tracepoint's list
		} else {
			patched = append(patched, x)
		}
	}
	if len(patched) > 0 {
		if err := a.Engine.Remove(patched); err != nil && !errors.Is(err, engine.ErrReplaced) {
			return err
		}
	}
	tp.programs, a.Tracepoints = nil, without(a.Tracepoints, tp)
	return nil
}

// Add loads and attaches a tracepoint while others are armed.
func (a *Kernel) Add(tp *Tracked) (err error) {
	if a.refused != nil {
		return a.refused
	}
	if a.Engine == nil {
		if a.Engine, err = a.Open(); err != nil {
			a.Engine = nil
			return err
		}
	}
	list, _, err := a.Compiling().All(a.Engine, tp, tp.Tracepoint)
	if err != nil {
		return err
	}
	errs, err := a.Engine.Load(list)
	if err != nil {
		return err
	}
	var bad refusals
	for i, err := range errs {
		if err != nil {
			bad.add(tp, notInstalled(list[i], err))
		}
	}
	if len(bad.list) > 0 {
		return errors.Join(bad.err(false), a.Engine.Remove(list))
	}
	a.Read()
	for _, x := range list {
		a.Records.Know(a.Source, x)
	}
	tp.programs, a.Tracepoints = list, append(a.Tracepoints, tp)
	if !tp.Disabled {
		err = a.attach(slices.Clone(list))
	}
	if err != nil {
		return errors.Join(err, a.Remove(tp))
	}
	return nil
}

// Remove detaches a tracepoint.
func (a *Kernel) Remove(tp *Tracked) error {
	if err := a.Engine.Remove(tp.programs); err != nil {
		return err
	}
	for _, x := range tp.programs {
		a.Records.Forget(x)
	}
	tp.programs, a.Tracepoints = nil, without(a.Tracepoints, tp)
	return nil
}

func without(list []*Tracked, tp *Tracked) []*Tracked {
	return slices.DeleteFunc(slices.Clone(list), func(x *Tracked) bool { return x == tp })
}
