package experiment

import (
	"slices"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
)

// variable is a trace state variable; Value is its initial value.
type variable struct {
	Variable
	now int64 // its value when no trace runs
	// implied ones are used by bytecode and were never defined: they begin at 0, as
	// in gdbserver, and they are not reported to GDB.
	implied bool
}

// variables are the trace state variables.
type variables struct {
	*base
	list []*variable
}

func (x *variables) reset() {
	x.list = []*variable{{Variable: Variable{Number: TimestampVariable, Name: "trace_timestamp", Builtin: true}}}
	for _, v := range x.opt.Predefined {
		v.Builtin = true
		x.list = append(x.list, &variable{Variable: v})
	}
}

func (x *variables) find(number int) *variable {
	for _, v := range x.list {
		if v.Number == number {
			return v
		}
	}
	return nil
}

// predefined is the target's own variable of a number, nil for none.
func (x *variables) predefined(number int) *Variable {
	for i := range x.opt.Predefined {
		if v := &x.opt.Predefined[i]; v.Number == number {
			return v
		}
	}
	return nil
}

// used calls f with the numbers of the variables that a location's bytecode uses.
func (tp *tracepoint) used(f func(number int)) {
	in := func(e *agentexpr.Expr) {
		if e == nil {
			return
		}
		for i := range e.Insns {
			switch e.Insns[i].Op {
			case agentexpr.OpGetv, agentexpr.OpSetv, agentexpr.OpTracev:
				f(int(e.Insns[i].Arg))
			}
		}
	}
	in(tp.spec.Program.Cond)
	for _, a := range slices.Concat(tp.spec.Program.Actions, tp.spec.StepActions) {
		in(a.Expr)
	}
}

// imply adds the undefined variables that a location uses, and gives
// those.
func (x *variables) imply(tp *tracepoint) []*variable {
	var added []*variable
	tp.used(func(n int) {
		if x.find(n) == nil {
			v := &variable{Variable: Variable{Number: n}, implied: true}
			x.list = append(x.list, v)
			added = append(added, v)
		}
	})
	return added
}

// announceVariables makes those known to a running engine.
func (x *variables) announce(tp *tracepoint) {
	for _, v := range x.imply(tp) {
		x.engine.SetVariable(v.Number, v.Value)
	}
}
