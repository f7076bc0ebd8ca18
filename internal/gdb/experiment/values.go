package experiment

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// values defines variables, and shows their values.
type values struct {
	*base
	variables *variables
	runner    *runner
	view      *view
}

// packets are those that it handles.
func (x *values) packets() []row {
	return []row{
		done("QTDV", "defines a trace state variable", x.define),
		on("qTV", "its value", x.value),
	}
}

// maxVariable is the highest number: bytecode has 16 bits for it.
const maxVariable = 1<<16 - 1

func (x *values) define(p rsp.DefineVariable) error {
	switch {
	case p.Number == 0 || p.Number > maxVariable:
		return fmt.Errorf("trace state variable %d: numbers go from 1 to %d", p.Number, maxVariable)
	case p.Number == TimestampVariable && p.Builtin == 0:
		return fmt.Errorf("trace state variable %d is $trace_timestamp and cannot be $%s", p.Number, p.Name)
	case p.Number == TimestampVariable:
		return nil
	}
	n := int(p.Number)
	if own := x.variables.predefined(n); own != nil {
		if own.Name != string(p.Name) {
			return fmt.Errorf("trace state variable %d is $%s and cannot be $%s", p.Number, own.Name, p.Name)
		}
		return nil
	}
	v := x.variables.find(n)
	if v == nil {
		v = &variable{}
		x.variables.list = append(x.variables.list, v)
	}
	*v = variable{Variable: Variable{Number: n, Name: string(p.Name), Value: int64(p.Value), Builtin: p.Builtin != 0}, now: int64(p.Value)}
	if x.runner.run.on {
		x.engine.SetVariable(n, v.Value)
	}
	return nil
}

// value answers qTV: in a frame the value that it collected, else the present one.
func (x *values) value(p rsp.QueryVariable) (rsp.Packet, error) {
	if x.view.on {
		if v, ok := x.view.variable(p.Number); ok {
			return rsp.VariableValue{Value: v}, nil
		}
		return rsp.VariableUnknown{}, nil
	}
	if p.Number > maxVariable {
		return rsp.VariableUnknown{}, nil
	}
	v := x.variables.find(int(p.Number))
	switch {
	case v == nil, x.variables.predefined(v.Number) != nil: // it has a value at a hit only
		return rsp.VariableUnknown{}, nil
	case v.Number == TimestampVariable:
		return rsp.VariableValue{Value: uint64(x.opt.Now().UnixMicro())}, nil
	case x.runner.run.on:
		if now, ok := x.engine.Variable(v.Number); ok {
			return rsp.VariableValue{Value: uint64(now)}, nil
		}
	}
	return rsp.VariableValue{Value: uint64(v.now)}, nil
}
