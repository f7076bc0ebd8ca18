package sema

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/ring"
)

// Trace state variables, as in GDB: numbers of 64 bits that all hits of the session share.

type (
	// variableExpr is the value of a trace state variable.
	variableExpr struct {
		typed
		n int64 // ir.GetVar
	}
	// setExpr gives a variable the value x. add: x is added to it, indivisibly. old: the value is the one before.
	setExpr struct {
		typed
		n        int64
		x        expr
		add, old bool
	}
)

// traceVariable is $name if it is a trace state variable. In an item of a list it may have the value that an action before has kept.
func traceVariable(c *checker, x *lang.Reg) expr {
	n, ok := c.in.Variables[x.Name]
	if !ok {
		return nil
	}
	if local, ok := c.keptVariables[x.Name]; ok {
		c.used = append(c.used, local)
		return &localExpr{typed{ctype.LongT, x.Span()}, local}
	}
	return &variableExpr{typed{ctype.LongT, x.Span()}, n}
}

// assign is an assignment to a trace state variable. Every other one is refused: a tracepoint observes.
func (c *checker) assign(x *lang.Assign) expr {
	r, ok := x.X.(*lang.Reg)
	n, known := int64(0), false
	if ok {
		n, known = c.in.Variables[r.Name]
	}
	switch {
	case known && c.inCond:
		return setVariable(c, n, r.Name, x)
	case known:
		c.fail(x.Span(), "an assignment in a list of what to collect", "assignments are evaluated by teval")
	case ok && len(c.in.Variables) > 0:
		c.fail(r.Span(), fmt.Sprintf("there is no trace state variable $%s", r.Name), "a line before it defines it: tvariable $"+r.Name)
	}
	hint := "a tracepoint cannot change the program"
	if x.Op == "=" {
		hint = "for a comparison write =="
	}
	c.fail(x.Span(), fmt.Sprintf("%s would change the program", x.Op), hint)
	return nil
}

func setVariable(c *checker, n int64, name string, x *lang.Assign) expr {
	e := &setExpr{typed{ctype.LongT, x.Span()}, n, nil, false, x.Postfix()}
	value := x.Value()
	if by, minus := addend(value, name); by != nil {
		if v := c.value(by); isInt(v.Type()) {
			if e.add, e.x = true, convert(v, ctype.LongT); minus {
				e.x = &unary{typed{ctype.LongT, x.Span()}, "-", e.x}
			}
			return e
		}
	}
	v := c.value(value)
	if t := v.Type(); !isInt(t) && !isPointer(t) {
		c.fail(v.Span(), fmt.Sprintf("$%s takes integers and pointers, this is %s", name, typeString(t)), "")
	}
	e.x = convert(v, ctype.LongT)
	return e
}

// addend is what a value adds to, or subtracts from, the variable; nil if it is no such sum.
func addend(value lang.Expr, name string) (by lang.Expr, minus bool) {
	sum, ok := value.(*lang.Binary)
	if !ok || sum.Op != "+" && sum.Op != "-" {
		return nil, false
	}
	is := func(x lang.Expr) bool {
		r, ok := x.(*lang.Reg)
		return ok && r.Name == name
	}
	switch {
	case is(sum.X):
		return sum.Y, sum.Op == "-"
	case is(sum.Y) && sum.Op == "+":
		return sum.X, false
	}
	return nil, false
}

// readVariable emits the read of a variable.
func readVariable(b *ir.Builder, n int64) ir.Value {
	return b.Def(ir.I64, ir.Instr{Op: ir.GetVar, Imm: n, A: ir.None, B: ir.None, Fault: ir.NoBlock})
}

// assignVariable emits an assignment.
func assignVariable(vs *values, e *setExpr) ir.Value {
	v := vs.wide(e.x)
	if e.add {
		before := vs.b.Def(ir.I64, ir.Instr{Op: ir.FetchAddVar, Imm: e.n, A: v, B: ir.None, Fault: ir.NoBlock})
		if e.old {
			return before
		}
		return vs.b.Bin(ir.Add, 8, before, v)
	}
	vs.b.Emit(ir.Instr{Op: ir.SetVar, Imm: e.n, Dst: ir.None, A: v, B: ir.None, Fault: ir.NoBlock})
	return v
}

// evaluate emits an Eval. One that cannot be evaluated is counted for the session.
func (l *lowerer) evaluate(a *action) {
	l.traps = &traps{}
	next := l.b.NewBlock("evaluated")
	l.discard(a.value)
	l.b.Jump(next)
	l.traps.each(func(_ trap, blk ir.BlockID) {
		l.b.Start(blk)
		l.b.Emit(ir.Instr{Op: ir.AddVar, Imm: ring.FailedVariable, Dst: ir.None, A: l.b.Const(1), B: ir.None, Fault: ir.NoBlock})
		l.b.Jump(next)
	})
	l.b.Start(next)
}
