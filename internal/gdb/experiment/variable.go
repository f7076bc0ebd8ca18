package experiment

import (
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// variable is a trace state variable; Value is its initial value.
type variable struct {
	Variable
	now int64 // its value when no trace runs
	// implied ones are used by bytecode and were never defined: they begin at 0, as
	// in gdbserver, and they are not reported to GDB.
	implied bool
}

func (x *Experiment) variable(number int) *variable {
	for _, v := range x.variables {
		if v.Number == number {
			return v
		}
	}
	return nil
}

// maxVariable is the highest number: bytecode has 16 bits for it.
const maxVariable = 1<<16 - 1

func (x *Experiment) defineVariable(p rsp.DefineVariable) error {
	switch {
	case p.Number == 0 || p.Number > maxVariable:
		return fmt.Errorf("trace state variable %d: numbers go from 1 to %d", p.Number, maxVariable)
	case p.Number == TimestampVariable && p.Builtin == 0:
		return fmt.Errorf("trace state variable %d is $trace_timestamp and cannot be $%s", p.Number, p.Name)
	case p.Number == TimestampVariable:
		return nil
	}
	n := int(p.Number)
	if own := x.predefined(n); own != nil {
		if own.Name != string(p.Name) {
			return fmt.Errorf("trace state variable %d is $%s and cannot be $%s", p.Number, own.Name, p.Name)
		}
		return nil
	}
	v := x.variable(n)
	if v == nil {
		v = &variable{}
		x.variables = append(x.variables, v)
	}
	*v = variable{Variable: Variable{Number: n, Name: string(p.Name), Value: int64(p.Value), Builtin: p.Builtin != 0}, now: int64(p.Value)}
	if x.run.on {
		x.engine.SetVariable(n, v.Value)
	}
	return nil
}

// predefined is the target's own variable of a number, nil for none.
func (x *Experiment) predefined(number int) *Variable {
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
func (x *Experiment) imply(tp *tracepoint) []*variable {
	var added []*variable
	tp.used(func(n int) {
		if x.variable(n) == nil {
			v := &variable{Variable: Variable{Number: n}, implied: true}
			x.variables = append(x.variables, v)
			added = append(added, v)
		}
	})
	return added
}

// announceVariables makes those known to a running engine.
func (x *Experiment) announceVariables(tp *tracepoint) {
	for _, v := range x.imply(tp) {
		x.engine.SetVariable(v.Number, v.Value)
	}
}

// value answers qTV: in a frame the value that it collected, else the present one.
func (x *Experiment) value(p rsp.QueryVariable) (rsp.Packet, error) {
	if x.view.on {
		if v, ok := x.view.variable(p.Number); ok {
			return rsp.VariableValue{Value: v}, nil
		}
		return rsp.VariableUnknown{}, nil
	}
	if p.Number > maxVariable {
		return rsp.VariableUnknown{}, nil
	}
	v := x.variable(int(p.Number))
	switch {
	case v == nil, x.predefined(v.Number) != nil: // it has a value at a hit only
		return rsp.VariableUnknown{}, nil
	case v.Number == TimestampVariable:
		return rsp.VariableValue{Value: uint64(x.opt.Now().UnixMicro())}, nil
	case x.run.on:
		if now, ok := x.engine.Variable(v.Number); ok {
			return rsp.VariableValue{Value: uint64(now)}, nil
		}
	}
	return rsp.VariableValue{Value: uint64(v.now)}, nil
}
