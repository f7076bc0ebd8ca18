package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// Tracepoints of a running session come and go. What is found, compiled and armed is as at the
// start. Numbers are never used again.

// Add arms one more tracepoint and gives its number. When it returns without an error, hits
// are being recorded (or the place may come with a later library, where Options.Pending allows
// that); after an error everything is as before. It may be called by any goroutine while Run
// runs.
func (s *Session) Add(ctx context.Context, tp *tracepoint.Tracepoint) (number int, err error) {
	err = s.post.ask(ctx, func() error {
		for _, x := range s.opt.Tracepoints {
			s.numbers = max(s.numbers, x.Number)
		}
		tp.Number = s.numbers + 1
		t := &tracked{Tracepoint: tp}
		switch {
		case inKernelPlace(tp.Place, &s.opt.Kernel):
			if err := s.kern.add(t); err != nil {
				return err
			}
			s.state.kernel = true // from now on an exec does not end the session
		case s.subject.p == nil:
			return probe.Error(tp.Place, errNoProcess)
		case s.state.replaced:
			return engine.ErrReplaced
		default:
			if err := s.mine.add(t); err != nil {
				return err
			}
		}
		s.numbers, number = tp.Number, tp.Number
		s.opt.Tracepoints = append(slices.Clip(s.opt.Tracepoints), tp)
		return nil
	})
	return number, err
}

// errNoProcess: only the kernel engine is at work.
var errNoProcess = errors.New("this trace does not trace a process from within: only places of the kernel can be added, or, where it is about all processes, uprobes")

// Remove takes a tracepoint back. Hits that are under way complete their records, and its
// counts stay in the result. It may be called by any goroutine while Run runs.
func (s *Session) Remove(ctx context.Context, number int) error {
	return s.post.ask(ctx, func() error {
		tp, kernel := s.tracked(number)
		var err error
		switch {
		case tp == nil:
			return s.noTracepoint(number)
		case kernel:
			err = s.kern.remove(tp)
		default:
			err = s.mine.remove(tp)
		}
		if err == nil {
			s.opt.Tracepoints = slices.DeleteFunc(slices.Clone(s.opt.Tracepoints), func(x *tracepoint.Tracepoint) bool { return x == tp.Tracepoint })
		}
		return err
	})
}

// add arms a tracepoint in the running process. A disabled one is armed when it is enabled.
func (a *inProcess) add(tp *tracked) error {
	a.tps = append(a.tps, tp)
	if tp.Disabled {
		return nil
	}
	_, err := a.arm()
	if err == nil && tp.pending != nil && !a.opt.Pending {
		err = tp.pending
	}
	if err != nil && len(tp.programs) > 0 { // of another tracepoint's place
		a.warn(err.Error())
		err = nil
	}
	if err != nil {
		a.tps = without(a.tps, tp)
	}
	return err
}

func (a *inProcess) remove(tp *tracked) error {
	inKernel := a.uprobes.Serving()
	var patched []*engine.Program
	for _, x := range slices.Clone(tp.programs) {
		a.records.forget(x)
		if inKernel[x] {
			a.uprobes.Drop(x) // which takes it from the tracepoint's list, too
		} else {
			patched = append(patched, x)
		}
	}
	if len(patched) > 0 {
		if err := a.eng.Remove(patched); err != nil && !errors.Is(err, engine.ErrReplaced) {
			return err
		}
	}
	tp.programs, a.tps = nil, without(a.tps, tp)
	return nil
}

// add loads and attaches a tracepoint while others run.
func (a *inKernel) add(tp *tracked) (err error) {
	if a.refused != nil {
		return a.refused
	}
	if a.eng == nil {
		if a.eng, err = a.open(); err != nil {
			a.eng = nil
			return err
		}
	}
	list, _, err := a.compiling().All(a.eng, tp, tp.Tracepoint)
	if err != nil {
		return err
	}
	errs, err := a.eng.Load(list)
	if err != nil {
		return err
	}
	var bad lang.Diagnostics
	for _, err := range errs {
		if err != nil {
			bad = tracepoint.Append(bad, probe.Error(tp.Place, err))
		}
	}
	if len(bad) > 0 {
		return errors.Join(distinct(bad).Err(), a.eng.Remove(list))
	}
	a.read()
	for _, x := range list {
		a.records.know(a.src, x)
	}
	tp.programs, a.tps = list, append(a.tps, tp)
	if !tp.Disabled {
		err = a.attach(slices.Clone(list))
	}
	if err != nil {
		return errors.Join(err, a.remove(tp))
	}
	return nil
}

func (a *inKernel) remove(tp *tracked) error {
	if err := a.eng.Remove(tp.programs); err != nil {
		return err
	}
	for _, x := range tp.programs {
		a.records.forget(x)
	}
	tp.programs, a.tps = nil, without(a.tps, tp)
	return nil
}

// tracked finds a tracepoint by its number.
func (s *Session) tracked(number int) (tp *tracked, kernel bool) {
	for _, tp := range s.kern.tps {
		if tp.Number == number {
			return tp, true
		}
	}
	for _, tp := range s.mine.tps {
		if tp.Number == number {
			return tp, false
		}
	}
	return nil, false
}

// noTracepoint is the error where a number is none, with those that there are.
func (s *Session) noTracepoint(number int) error {
	var list []int
	for _, tp := range s.opt.Tracepoints {
		list = append(list, tp.Number)
	}
	slices.Sort(list)
	there := "there are none"
	switch n := len(list); {
	case n == 0:
	case list[n-1]-list[0] == n-1:
		there = fmt.Sprintf("they are %d to %d", list[0], list[n-1])
	default:
		there = fmt.Sprintf("they are %v", list)
	}
	return fmt.Errorf("there is no tracepoint %d: %s", number, there)
}

func without(list []*tracked, tp *tracked) []*tracked {
	return slices.DeleteFunc(slices.Clone(list), func(x *tracked) bool { return x == tp })
}
