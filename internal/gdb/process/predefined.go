package process

import (
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/gdb/experiment"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/procdir"
	"github.com/jalon-trace/jalon/internal/sema"
)

// predefined is a word of jalon's that GDB has as a trace state variable.
type predefined struct {
	*sema.Builtin
	// program emits its value in a hit program; nil: only the tracer knows it, which
	// then collects at the site.
	program func(b *ir.Builder, pid int) ir.Value
	// tracer is its value for a stopped thread.
	tracer func(pid, tid int) (uint64, bool)
}

// sources has the sources of the values of a process's words.
var sources = map[string]predefined{
	"pid": {
		program: func(b *ir.Builder, pid int) ir.Value { return b.Const(int64(pid)) },
		tracer:  func(pid, _ int) (uint64, bool) { return uint64(pid), true },
	},
	"tid": {tracer: func(_, tid int) (uint64, bool) { return uint64(tid), true }},
	"cpu": {tracer: func(pid, tid int) (uint64, bool) {
		n, err := procdir.CPU(pid, tid)
		return uint64(n), err == nil
	}},
	"uid":    owner("Uid"),
	"gid":    owner("Gid"),
	"cgroup": {tracer: func(pid, tid int) (uint64, bool) { n, err := procdir.Cgroup(pid, tid); return n, err == nil }},
	"nsecs":  {tracer: func(int, int) (uint64, bool) { return uint64(event.Monotonic()), true }},
}

// owner is the real user or group, as in the kernel engine.
func owner(field string) predefined {
	return predefined{tracer: func(pid, tid int) (uint64, bool) {
		n, err := procdir.Status(pid, tid, field)
		return n, err == nil
	}}
}

var predefinedByNumber = func() map[int]*predefined {
	m := map[int]*predefined{}
	for _, b := range sema.GDBVariables(false) {
		p, ok := sources[b.Name]
		if !ok {
			panic("BUG: nothing says what $" + b.GDB + " is in a process")
		}
		p.Builtin = b
		m[b.GDBNumber] = &p
	}
	return m
}()

// Predefined are the trace state variables that need no definition.
func Predefined() (list []experiment.Variable) {
	for _, b := range sema.GDBVariables(false) {
		list = append(list, experiment.Variable{Number: b.GDBNumber, Name: b.GDB})
	}
	return list
}
