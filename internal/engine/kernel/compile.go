package kernel

import (
	"fmt"
	"os"

	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/sema"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// other is the scope of the other variant of a static tracepoint, nil if there is none.
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
	kernel := v.kernel
	kernel.Other = c.other(v)
	if kernel.User {
		kernel.Task = e.facts.task()
	}
	kernel.Tgid, kernel.Cgroup = e.opt.Tgid, e.opt.Cgroup
	kernel.Follow = e.follows() && !kernel.User
	if kernel.User && e.opt.Tgid == 0 { // uprobes are the process's, as they are without other places
		kernel.Tgid = e.opt.Counted
	}
	kernel.Symbol, kernel.PerCPU, kernel.PC = e.facts.kernel.Address, e.facts.perCPU, v.at
	kernel.UserRegs = e.facts.userRegs
	kernel.Tables = func() bool {
		return e.k != nil && e.pids.namespace == nil && v.target.Kind != bpf.Iter && e.facts.followable()
	}
	switch {
	case v.target.Children: // the kernel calls the program in these processes only
		kernel.Tgid, kernel.Follow = 0, false
	case v.target.Kind == bpf.Iter: // its hits are jalon's own, and are about other processes
		kernel.Tgid, kernel.Cgroup, kernel.Follow = 0, 0, false
	case e.opt.Tgid == 0 && e.opt.Cgroup == 0 && leavesOutJalon(&v.target):
		kernel.Self = os.Getpid()
	}
	kernel.Give, kernel.Take = r == decides, r == records || r == gatesOnWord
	kernel.Gate = r == gates || r == gatesOnWord
	in := &sema.Input{
		Scope: v.scope, Bias: v.bias, LineOf: v.lineOf, AtEntry: v.atEntry, Kernel: &kernel,
		Pid: e.opt.Tgid, Variables: tp.Numbers, Place: c.place, Function: c.function, File: c.file, Line: c.line,
	}
	in.Others.Variable = v.other
	if v.exit != nil {
		in.Exit = v.exit()
	}
	if c.module != nil {
		in.GoCode = c.module.GoCode(c.vaddr)
		in.Others.Replaces = func(symbol string) string { return e.files.replaces(v.target.Path, symbol) }
	}
	if !kernel.Take {
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
	if v.kernel.SData != nil {
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
