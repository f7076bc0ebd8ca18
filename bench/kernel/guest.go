package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/jalon-trace/jalon/internal/bpf"
)

// guestFunction is a kernel function that the loop calls in one of its modes.
type guestFunction struct {
	name, mode string
	// The function's place for kprobe and fentry: false and true condition, values; the same for bpftrace with
	// arguments by number and by name; ftrace's arguments and filters.
	no, yes, values       string
	bno, byes, bvalues    string
	fno, fyes, ftraceArgs string
	retNo, retYes         string // conditions of the result, named retval
}

// guestFunctions are vfs_read(file, buf, count, pos), which reads one byte of /dev/zero, and the two functions of
// the BPF book's overhead programs.
var guestFunctions = []guestFunction{
	{
		name: "vfs_read", mode: "read", no: "count > 4096", yes: "count == 1", values: "count, pos",
		bno: "arg2 > 4096", byes: "arg2 == 1", bvalues: "arg2, arg3",
		fno: "a > 4096", fyes: "a == 1", ftraceArgs: "a=%dx:u64 b=%cx:u64",
		retNo: "retval > 4096", retYes: "retval == 1",
	},
	{
		name: "__set_task_comm", mode: "rename", no: "exec", yes: "!exec", values: "tsk, buf",
		bno: "(uint8)arg2 == 1", byes: "(uint8)arg2 == 0", bvalues: "arg0, arg1",
		fno: "a == 1", fyes: "a == 0", ftraceArgs: "a=%dx:u8 b=%si:u64",
	},
	{
		name: "urandom_read_iter", mode: "urandom", no: "iter == 0", yes: "iter != 0", values: "kiocb, iter",
		bno: "arg1 == 0", byes: "arg1 != 0", bvalues: "arg0, arg1",
		fno: "a == 0", fyes: "a != 0", ftraceArgs: "a=%si:u64 b=%di:u64",
		retNo: "retval > 4096", retYes: "retval == 16",
	},
}

// guestPlaces returns the places on kernel functions.
func (b *bench) guestPlaces() []place {
	var out []place
	for i := range guestFunctions {
		out = append(out, guestFunctions[i].places()...)
	}
	return out
}

func (f *guestFunction) places() []place {
	entries := []string{"condition: " + f.no + " (false), " + f.yes + " (true); values: " + f.values + "."}
	k := place{
		group:  group{title: "kprobe:" + f.name, mode: f.mode, notes: entries},
		target: target(bpf.Target{Kind: bpf.Kprobe, Symbol: f.name}),
		jalon:  "kprobe:" + f.name, no: f.no, yes: f.yes, values: f.values,
		bpftrace: "kprobe:" + f.name, bno: f.bno, byes: f.byes, bvalues: f.bvalues,
		event: instanceName + "/" + f.name, fno: f.fno, fyes: f.fyes, file: "kprobe_events",
		probe: defined("p:%s/" + f.name + " " + f.name + " " + strings.ReplaceAll(f.ftraceArgs, "%", "%%")),
	}
	e := k
	e.group.title, e.target, e.jalon = "fentry:"+f.name, target(bpf.Target{Kind: bpf.Fentry, Symbol: f.name}), "fentry:"+f.name
	e.bpftrace, e.event, e.probe, e.file = "kfunc:"+f.name, "", nil, ""
	e.bno, e.byes, e.bvalues = byName(f.no), byName(f.yes), byName(f.values)
	out := []place{k, e}
	if f.retNo == "" {
		return out
	}
	r := place{
		group:  group{title: "kretprobe:" + f.name, mode: f.mode, notes: []string{"condition: " + f.retNo + " (false), " + f.retYes + " (true); values: retval, twice."}},
		target: target(bpf.Target{Kind: bpf.Kretprobe, Symbol: f.name}),
		jalon:  "kretprobe:" + f.name, no: f.retNo, yes: f.retYes, values: "retval, retval",
		bpftrace: "kretprobe:" + f.name, bno: f.retNo, byes: f.retYes, bvalues: "retval, retval",
		event: instanceName + "/" + f.name + "_ret", fno: f.retNo, fyes: f.retYes, file: "kprobe_events",
		probe: defined("r:%s/" + f.name + "_ret " + f.name + " retval=$retval:s64 again=$retval:s64"),
	}
	x := r
	x.group.title, x.target, x.jalon = "fexit:"+f.name, target(bpf.Target{Kind: bpf.Fexit, Symbol: f.name}), "fexit:"+f.name
	x.bpftrace, x.event, x.probe, x.file = "kretfunc:"+f.name, "", nil, ""
	return append(out, r, x)
}

var argument = regexp.MustCompile(`\b[a-z]+\b`)

// byName writes an expression of parameter names as bpftrace's kfunc has them.
func byName(expr string) string { return argument.ReplaceAllString(expr, "args->$0") }

// defined returns the line that defines a probe in the benchmark's group of ftrace.
func defined(format string) func() (string, error) {
	return func() (string, error) { return fmt.Sprintf(format, instanceName), nil }
}
