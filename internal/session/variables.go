package session

import (
	"errors"
	"slices"

	"github.com/jalon-trace/jalon/internal/arming"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// Trace state variables lie in the memory of the engine whose programs use them.

// VariableResult is what a trace state variable has at the end.
type VariableResult struct {
	Name           string
	Initial, Value int64
}

// errTwoEngines: a variable is in the memory of one engine.
var errTwoEngines = errors.New("trace state variables are used at places in the program and at places of the kernel: they have none in common. Trace them apart, or all by the kernel (--engine kernel)")

// numberVariables gives variables their numbers in programs, and refuses those that both engines use.
func (o *Options) numberVariables() error {
	numbers := o.Variables.Numbers(ring.FirstVariable)
	for _, tp := range o.Tracepoints {
		tp.Numbers = numbers
	}
	mine, kernel := split(o)
	uses := func(tp *tracepoint.Tracepoint) bool { return tp.UsesVariables }
	if slices.ContainsFunc(mine, uses) && slices.ContainsFunc(kernel, uses) {
		return errTwoEngines
	}
	if v := o.Variables; v != nil && len(v.List) > ring.MaxVariables-ring.FirstVariable {
		return errors.New("too many trace state variables")
	}
	return nil
}

// initial are the values of all variables of programs at the start, by number.
func (o *Options) initial() []uint64 {
	if o.Variables == nil {
		return nil
	}
	values := make([]uint64, ring.FirstVariable, ring.FirstVariable+len(o.Variables.List))
	for _, v := range o.Variables.List {
		values = append(values, uint64(v.Initial))
	}
	return values
}

// setVariables gives the variables in the kernel engine's memory their initial values.
func (o *Options) setVariables(mem *ring.Shared) {
	for i, v := range o.initial() {
		if i >= ring.FirstVariable {
			mem.SetVariable(i, v)
		}
	}
}

// variables are the values at the end, and how many expressions of teval could not be evaluated.
func (s *Session) variables() (list []VariableResult, failed uint64) {
	if s.opt.Variables == nil {
		return nil, 0
	}
	inKernel := slices.ContainsFunc(s.kern.Tracepoints, func(t *arming.Tracked) bool { return t.UsesVariables })
	mem := s.mine.Engine.Rings()
	if inKernel && s.kern.Engine != nil {
		mem = s.kern.Engine.Rings()
	}
	for i, v := range s.opt.Variables.List {
		r := VariableResult{v.Name, v.Initial, v.Initial}
		if mem != nil {
			r.Value = int64(mem.Variable(ring.FirstVariable + i))
		}
		if !v.Inner {
			list = append(list, r)
		}
	}
	if mem != nil {
		failed = mem.Variable(ring.FailedVariable)
	}
	return list, failed
}
