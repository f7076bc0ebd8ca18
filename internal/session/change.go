package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/arming"
	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// Tracepoints can be added to and removed from a running session. They are resolved, compiled and armed as
// at the start. Numbers are never used again.

// Add arms one more tracepoint and returns its number. When it returns without an error, hits are being
// recorded (or the place may be in a later library, if Options.Pending allows that). After an error
// everything is as before. Any goroutine may call it while Run runs.
func (s *Session) Add(ctx context.Context, tp *tracepoint.Tracepoint) (number int, err error) {
	err = s.post.call(ctx, func() error {
		for _, x := range s.opt.Tracepoints {
			s.numbers = max(s.numbers, x.Number)
		}
		tp.Number = s.numbers + 1
		t := &arming.Tracked{Tracepoint: tp}
		switch {
		case s.opt.inKernel(tp):
			if err := s.kern.Add(t); err != nil {
				return err
			}
			s.state.kernel = true // an exec no longer ends the session
		case s.subject.p == nil:
			return probe.Error(tp.Place, errNoProcess)
		case s.state.replaced:
			return engine.ErrReplaced
		default:
			if err := s.mine.Add(t); err != nil {
				return err
			}
		}
		s.numbers, number = tp.Number, tp.Number
		s.opt.Tracepoints = append(slices.Clip(s.opt.Tracepoints), tp)
		return nil
	})
	return number, err
}

// errNoProcess: the session uses only the kernel engine.
var errNoProcess = errors.New("this trace does not trace a process from within: only places of the kernel can be added, or, where it is about all processes, uprobes")

// Remove removes a tracepoint. Hits in progress complete their records, and its counts stay in the result.
// Any goroutine may call it while Run runs.
func (s *Session) Remove(ctx context.Context, number int) error {
	return s.post.call(ctx, func() error {
		tp, kernel := s.tracked(number)
		var err error
		switch {
		case tp == nil:
			return s.opt.noTracepoint(number)
		case kernel:
			err = s.kern.Remove(tp)
		default:
			err = s.mine.Remove(tp)
		}
		if err == nil {
			s.opt.Tracepoints = slices.DeleteFunc(slices.Clone(s.opt.Tracepoints), func(x *tracepoint.Tracepoint) bool { return x == tp.Tracepoint })
		}
		return err
	})
}

// tracked returns the tracepoint with the number.
func (s *Session) tracked(number int) (tp *arming.Tracked, kernel bool) {
	for _, tp := range s.kern.Tracepoints {
		if tp.Number == number {
			return tp, true
		}
	}
	for _, tp := range s.mine.Tracepoints {
		if tp.Number == number {
			return tp, false
		}
	}
	return nil, false
}

// noTracepoint returns the error for an unknown number, with the existing numbers.
func (o *Options) noTracepoint(number int) error {
	var list []int
	for _, tp := range o.Tracepoints {
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
