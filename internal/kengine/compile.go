package kengine

import (
	"fmt"
	"os"
	"regexp"
	"strings"

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

// compile makes the programs of a candidate: with the first of its variants in
// which the expressions mean something, or with both of a static tracepoint's.
func (e *Engine) compile(tp *tracepoint.Tracepoint, c *candidate) (*site, error) {
	list := c.variants
	raw, rec := c.static()
	if rec != nil && wantsRecord(tp, rec, c.isType(rec)) {
		list = []variant{*rec} // the raw arguments cannot give it
	}
	var first error
	if len(list) == 1 && raw != nil && namesArgument(tp.Cond.Text, raw, rec, c.isType(raw)) {
		s, err := e.pair(tp, c, raw, rec)
		if err == nil {
			return s, nil
		}
		if !namesField(tp.Cond.Text, rec, c.isType(rec)) {
			first = err
		}
		raw = nil // tried
	}
	for i := range list {
		h, err := e.half(tp, c, &list[i], whole)
		if err == nil {
			return e.site(tp, h), nil
		}
		if first == nil {
			first = err
		}
		e.logf("%s by %s: %s", c.place, list[i].how, firstLine(err))
	}
	if raw != nil && tp.Cond.Text != "" {
		s, err := e.pair(tp, c, raw, rec)
		if err == nil {
			return s, nil
		}
		if len(list) == 1 {
			first = err
		}
	}
	return nil, first
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

// isType is the parser's question which names are types.
func (c *candidate) isType(v *variant) func(string) bool {
	if o := c.other(v); o != nil {
		return sema.IsTypeKernel(v.scope, o)
	}
	return sema.IsTypeKernel(v.scope)
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

// half compiles the tracepoint's expressions for one variant.
func (e *Engine) half(tp *tracepoint.Tracepoint, c *candidate, v *variant, r role) (*half, error) {
	kin := v.kin
	kin.Other = c.other(v)
	if kin.User {
		kin.Task = e.src.task()
	}
	kin.Tgid, kin.Cgroup = e.opt.Tgid, e.opt.Cgroup
	kin.Symbol = e.src.address
	if e.opt.Tgid == 0 && e.opt.Cgroup == 0 {
		kin.Self = os.Getpid()
	}
	if asksPerCPU(tp) { // the kernel takes its time to list its symbols
		kin.PerCPU = e.src.perCPU()
	}
	if asksPC(tp) { // a program that knows it serves one site only
		kin.PC = v.at
	}
	kin.Give, kin.Take = r == decides, r == records || r == gatesOnWord
	kin.Gate = r == gates || r == gatesOnWord
	in := &sema.Input{
		Scope: v.scope, Bias: v.bias, LineOf: v.lineOf, AtEntry: v.atEntry, Kernel: &kin,
		StringLimit: e.opt.StringLimit, RepeatLimit: e.opt.RepeatLimit, StackLimit: e.opt.StackLimit,
		Pid: e.opt.Tgid, Place: c.place, Function: c.function, File: c.file, Line: c.line,
	}
	isType := objectsOf(tp, c.isType(v))
	if tp.Cond.Text != "" && !kin.Take {
		x, err := lang.ParseExpr(tp.Cond.Text, isType)
		if err != nil {
			return nil, tp.Cond.Within(lang.Named(err, tp.Cond.Source))
		}
		in.Cond = &sema.CondInput{Text: tp.Cond.Text, X: x}
		in.CondSource = tp.Cond.Source
	}
	list := &tracepoint.Lists{}
	if r == whole || r == records {
		var err error
		if list, err = e.collect(tp, v, isType); err != nil {
			return nil, err
		}
	}
	in.Collect, in.CollectText, in.CollectSource = list.Items, list.Text, "collect"
	out, err := sema.Compile(in)
	if err != nil {
		return nil, list.Within(tp, err)
	}
	e.optimise(c.place, out.Program)
	for _, w := range out.Warnings {
		e.warn(w.Render("warning"))
	}
	schema := out.Schema
	schema.PC = v.at
	return &half{v: v, prog: out.Program, gives: r == decides, schema: &schema}, nil
}

// objects finds the names behind which a member is named.
var objects = regexp.MustCompile(`([A-Za-z_]\w*)\s*(?:->|\.)`)

// objectsOf is isType but for names that must be those of objects in the text of
// the expressions: rq->cpu is no cast, even where rq is a struct's name only.
func objectsOf(tp *tracepoint.Tracepoint, isType func(string) bool) func(string) bool {
	object := map[string]bool{}
	for _, l := range append(tp.Lists[:len(tp.Lists):len(tp.Lists)], tp.Cond) {
		for _, m := range objects.FindAllStringSubmatch(l.Text, -1) {
			object[m[1]] = true
		}
	}
	return func(name string) bool { return !object[name] && isType(name) }
}

// asksPerCPU reports whether this_cpu() or per_cpu() may stand in the expressions.
func asksPerCPU(tp *tracepoint.Tracepoint) bool { return mentions(tp, "_cpu") }

// asksPC reports whether the instruction pointer may stand in the expressions.
func asksPC(tp *tracepoint.Tracepoint) bool {
	return mentions(tp, "$rip") || mentions(tp, "$pc") || mentions(tp, "$eip") || mentions(tp, "$regs")
}

// mentions reports whether a piece of text is in a tracepoint's expressions.
func mentions(tp *tracepoint.Tracepoint, text string) bool {
	for _, l := range tp.Lists {
		if strings.Contains(l.Text, text) {
			return true
		}
	}
	return strings.Contains(tp.Cond.Text, text)
}

// collect is the tracepoint's collect list; without one a static tracepoint shows
// its own record.
func (e *Engine) collect(tp *tracepoint.Tracepoint, v *variant, isType func(string) bool) (*tracepoint.Lists, error) {
	text := ""
	if v.kin.SData != nil {
		text = "$_sdata"
	} else if call, ok := v.scope.(*callScope); ok {
		text = call.own()
	}
	if len(tp.Lists) > 0 || text == "" {
		return tp.Join(isType)
	}
	own := *tp
	own.Lists = []tracepoint.Text{{Text: text, Source: "collect"}}
	return own.Join(isType)
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
