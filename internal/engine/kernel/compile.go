package kernel

import (
	"fmt"
	"os"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/sema"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

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

// role is what a program of a site does.
type role uint8

const (
	whole       role = iota
	decides          // the first of two
	records          // the second of two
	gates            // decides what perf sees
	gatesOnWord      // the same, as the second of two
)

// input is what a program of a tracepoint is compiled from.
func (e *Host) input(tp *tracepoint.Tracepoint, c *candidate, v *variant, r role) *sema.Input {
	kin := v.kin
	kin.Other = c.other(v)
	if kin.User {
		kin.Task = e.facts.task()
	}
	kin.Tgid, kin.Cgroup = e.opt.Tgid, e.opt.Cgroup
	kin.Symbol, kin.PerCPU, kin.PC = e.facts.kernel.Address, e.facts.perCPU, v.at
	if e.opt.Tgid == 0 && e.opt.Cgroup == 0 {
		kin.Self = os.Getpid()
	}
	kin.Give, kin.Take = r == decides, r == records || r == gatesOnWord
	kin.Gate = r == gates || r == gatesOnWord
	in := &sema.Input{
		Scope: v.scope, Bias: v.bias, LineOf: v.lineOf, AtEntry: v.atEntry, Kernel: &kin,
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
