package kernel

import (
	"fmt"
	"os"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/sema"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// half is one program of a site. Nearly all sites have one. A static tracepoint
// whose condition is about its raw arguments, but whose own record is wanted, has
// two: the first decides on the raw arguments and gives its word to the second,
// which finds the record. The kernel calls them one behind the other on one CPU.
type half struct {
	v      *variant
	prog   *ir.Program
	gives  bool
	schema *event.Schema
	load   *load
}

// compile makes the programs of a candidate, in the way that its names decide.
func (e *Engine) compile(tp *tracepoint.Tracepoint, c *candidate) (*site, error) {
	return e.compileBy(tp, c, e.way(tp, c))
}

func (e *Engine) compileBy(tp *tracepoint.Tracepoint, c *candidate, w way) (*site, error) {
	if w.decider != nil {
		return e.pair(tp, c, w.decider, w.v)
	}
	h, err := e.half(tp, c, w.v, whole)
	if err != nil {
		return nil, err
	}
	return e.site(tp, h), nil
}

// other is the scope of a static tracepoint's other variant, nil when there is none.
func (c *candidate) other(v *variant) debuginfo.Scope {
	for i := range c.variants {
		if o := &c.variants[i]; o.how != v.how {
			return o.scope
		}
	}
	return nil
}

// static gives the two variants of a static tracepoint; raw is nil when the kernel
// does not describe its arguments.
func (c *candidate) static() (raw, rec *variant) {
	for i := range c.variants {
		if c.variants[i].event != nil {
			rec = &c.variants[i]
		} else {
			raw = &c.variants[i]
		}
	}
	if rec == nil {
		raw = nil
	}
	return raw, rec
}

func (e *Engine) site(tp *tracepoint.Tracepoint, halves ...*half) *site {
	last := halves[len(halves)-1]
	s := &site{tp: tp, halves: halves, schema: last.schema, how: last.v.how, off: tp.Disabled}
	if len(halves) > 1 {
		s.how = halves[0].v.how + " and " + last.v.how
	}
	return s
}

// pair decides on the raw arguments and records what the record has.
func (e *Engine) pair(tp *tracepoint.Tracepoint, c *candidate, raw, rec *variant) (*site, error) {
	decider, err := e.half(tp, c, raw, decides)
	if err != nil {
		return nil, err
	}
	recorder, err := e.half(tp, c, rec, records)
	if err != nil {
		return nil, err
	}
	return e.site(tp, decider, recorder), nil
}

// role is what a half does.
type role uint8

const (
	whole       role = iota
	decides          // the first of two
	records          // the second of two
	gates            // decides what perf sees
	gatesOnWord      // the same, as the second of two
)

// input is what a program of a tracepoint is compiled from.
func (e *Engine) input(tp *tracepoint.Tracepoint, c *candidate, v *variant, r role) *sema.Input {
	kin := v.kin
	kin.Other = c.other(v)
	if kin.User {
		kin.Task = e.src.task()
	}
	kin.Tgid, kin.Cgroup = e.opt.Tgid, e.opt.Cgroup
	kin.Symbol, kin.PerCPU, kin.PC = e.src.address, e.src.perCPU, v.at
	if e.opt.Tgid == 0 && e.opt.Cgroup == 0 {
		kin.Self = os.Getpid()
	}
	kin.Give, kin.Take = r == decides, r == records || r == gatesOnWord
	kin.Gate = r == gates || r == gatesOnWord
	in := &sema.Input{
		Scope: v.scope, Bias: v.bias, LineOf: v.lineOf, AtEntry: v.atEntry, Kernel: &kin,
		StringLimit: e.opt.StringLimit, RepeatLimit: e.opt.RepeatLimit, StackLimit: e.opt.StackLimit,
		Pid: e.opt.Tgid, Place: c.place, Function: c.function, File: c.file, Line: c.line,
	}
	if !kin.Take {
		in.Cond = tp.Cond
	}
	if r == whole || r == records {
		in.Collect = collectList(tp, v)
	}
	return in
}

// half compiles the tracepoint's expressions for one variant.
func (e *Engine) half(tp *tracepoint.Tracepoint, c *candidate, v *variant, r role) (*half, error) {
	out, err := sema.Compile(e.input(tp, c, v, r))
	if err != nil {
		return nil, err
	}
	e.optimise(c.place, out.Program)
	for _, w := range out.Warnings {
		e.warn(w.Render("warning"))
	}
	schema := out.Schema
	schema.PC = v.at
	return &half{v: v, prog: out.Program, gives: r == decides, schema: &schema}, nil
}

// collectList is the tracepoint's collect list; without one a static tracepoint shows
// its own record.
func collectList(tp *tracepoint.Tracepoint, v *variant) []lang.Collect {
	if len(tp.Collect) > 0 {
		return tp.Collect
	}
	own := ""
	if v.kin.SData != nil {
		own = "$_sdata"
	} else if call, ok := v.scope.(*callScope); ok {
		own = call.own()
	}
	if own == "" {
		return nil
	}
	list, err := lang.ParseCollect(own)
	if err != nil {
		panic(fmt.Sprintf("BUG: %s: %v", own, err))
	}
	return list
}

func (e *Engine) optimise(place string, p *ir.Program) {
	var err error
	if e.opt.NoOptimise {
		err = ir.Check(p)
	} else {
		err = ir.Optimize(p)
	}
	if err != nil {
		panic(fmt.Sprintf("BUG: %s: the program made for it is not valid: %v\n%s", place, err, p.String()))
	}
	if e.opt.IR != nil {
		e.opt.IR(place, p.String())
	}
}
