package main

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/bpf"
)

// place has each tracer's notation for one kind of place.
type place struct {
	group
	target func() (bpf.Target, error) // where the empty program is attached

	// jalon's place, a false and a true condition, the two values.
	jalon, no, yes, values string
	own                    bool // also measure the event's own record
	// bpftrace's probe, predicates, values.
	bpftrace, bno, byes, bvalues string
	// ftrace's event GROUP/EVENT, filters; the line that defines it, and where.
	event, fno, fyes string
	file             string
	// GDB's static tracepoint marker, conditions, what is collected.
	gdb, gno, gyes, gvalues string
	probe                   func() (string, error)
}

// cases returns all cases of the host or of the guest.
func (b *bench) cases() []*testCase {
	places := b.hostPlaces()
	if b.guest {
		places = b.guestPlaces()
	}
	var out []*testCase
	for i := range places {
		out = append(out, b.casesOf(&places[i])...)
	}
	return out
}

// casesOf makes the cases of a place in the order of measurement: compared cases are next to each other.
func (b *bench) casesOf(p *place) []*testCase {
	var out []*testCase
	add := func(tracer string, w what, start func() (tracing, error)) {
		out = append(out, &testCase{group: &p.group, tracer: tracer, what: w, start: start})
	}
	add(byEmpty, empty, func() (tracing, error) {
		t, err := p.target()
		if err != nil {
			return nil, err
		}
		return startEmpty(t)
	})
	for w := range empty {
		add(byJalon, w, func() (tracing, error) { return b.startJalon(p.jalonPlace(w), "-c", p.values, "-f", "none") })
		if w != falseCond {
			add(byJalonText, w, func() (tracing, error) {
				return b.startJalon(p.jalonPlace(w), "-c", p.values, "-f", "text", "-o", b.output())
			})
		}
		if p.own && w != falseCond {
			add(byJalonOwn, w, func() (tracing, error) { return b.startJalon(p.jalonPlace(w), "-f", "none") })
		}
		add(byBpftrace, w, func() (tracing, error) { return startBpftrace(p.bpftraceProgram(w)) })
		if p.gdb != "" {
			add(byGDB, w, func() (tracing, error) { return b.startGDB(p, w) })
		}
		if p.event != "" {
			add(byFtrace, w, func() (tracing, error) { return b.ftrace(p, w) })
		}
	}
	return out
}

// Names of the columns.
const (
	byEmpty     = "empty program"
	byJalon     = "jalon"
	byJalonText = "jalon, text"
	byJalonOwn  = "jalon, own record"
	byBpftrace  = "bpftrace"
	byFtrace    = "ftrace"
	byGDB       = "GDB, jalon gdbserver --kernel"
)

func (p *place) jalonPlace(w what) string {
	switch w {
	case falseCond:
		return p.jalon + " if (" + p.no + ")"
	case both:
		return p.jalon + " if (" + p.yes + ")"
	}
	return p.jalon
}

func (p *place) bpftraceProgram(w what) string {
	pred := [...]string{falseCond: " /" + p.bno + "/", data: "", both: " /" + p.byes + "/"}[w]
	return p.bpftrace + pred + fmt.Sprintf(` { printf("%%d %%d\n", %s); }`, p.bvalues)
}

func (b *bench) ftrace(p *place, w what) (tracing, error) {
	line := ""
	if p.probe != nil {
		var err error
		if line, err = p.probe(); err != nil {
			return nil, err
		}
	}
	return b.startFtrace(p.event, [...]string{falseCond: p.fno, data: "", both: p.fyes}[w], p.file, line)
}

// The paper's expression on the arguments of getpriority(0, 1).
const (
	falseSum = "2*which+3*who<0"
	trueSum  = "2*which+3*who>0"
)

// The same for GDB: $rdi points to the event's record.
const (
	gdbWhich = "*(long *)($rdi+16)"
	gdbWho   = "*(long *)($rdi+24)"
	gdbSum   = "2*" + gdbWhich + "+3*" + gdbWho
)

func (b *bench) hostPlaces() []place {
	getpriority := 140 // __NR_getpriority
	return append([]place{
		{
			group: group{title: "raw tracepoint sys_enter", mode: "syscall", notes: []string{
				"bpftrace 0.17 has no raw tracepoints: its column is tracepoint:raw_syscalls:sys_enter, the nearest it has; ftrace's is that event, too.",
				"condition: id == 9999 (false), id == 140 (true); values: the two raw arguments; data without a condition records every system call of the machine.",
			}},
			target: target(bpf.Target{Kind: bpf.RawTracepoint, Name: "sys_enter"}),
			jalon:  "rawtracepoint:sys_enter", no: "id == 9999", yes: fmt.Sprintf("id == %d", getpriority), values: "id, regs",
			bpftrace: "tracepoint:raw_syscalls:sys_enter", bno: "args->id == 9999", byes: fmt.Sprintf("args->id == %d", getpriority), bvalues: "args->id, args->args[0]",
			event: "raw_syscalls/sys_enter", fno: "id == 9999", fyes: fmt.Sprintf("id == %d", getpriority),
		},
		{
			group: group{title: "tracepoint raw_syscalls:sys_enter", mode: "syscall", notes: []string{
				"condition: id == 9999 (false), id == 140 (true); values: id and args[0], ftrace: the whole record, as jalon with its own record.",
			}},
			target: target(bpf.Target{Kind: bpf.Tracepoint, Group: "raw_syscalls", Name: "sys_enter"}),
			jalon:  "tracepoint:raw_syscalls:sys_enter", no: "id == 9999", yes: fmt.Sprintf("id == %d", getpriority), values: "id, args->args[0]", own: true,
			bpftrace: "tracepoint:raw_syscalls:sys_enter", bno: "args->id == 9999", byes: fmt.Sprintf("args->id == %d", getpriority), bvalues: "args->id, args->args[0]",
			event: "raw_syscalls/sys_enter", fno: "id == 9999", fyes: fmt.Sprintf("id == %d", getpriority),
		},
		{
			group: group{title: "tracepoint syscalls:sys_enter_getpriority", mode: "syscall", notes: []string{
				"condition: " + falseSum + " (false), " + trueSum + " (true); ftrace has no arithmetic: which > 99 and who > 0.",
			}},
			target: target(bpf.Target{Kind: bpf.Tracepoint, Group: "syscalls", Name: "sys_enter_getpriority"}),
			jalon:  "tracepoint:syscalls:sys_enter_getpriority", no: falseSum, yes: trueSum, values: "which, who", own: true,
			bpftrace: "tracepoint:syscalls:sys_enter_getpriority",
			bno:      "2*(int32)args->which+3*(int32)args->who < 0", byes: "2*(int32)args->which+3*(int32)args->who > 0", bvalues: "args->which, args->who",
			event: "syscalls/sys_enter_getpriority", fno: "which > 99", fyes: "who > 0",
			gdb: "syscalls:sys_enter_getpriority", gno: gdbSum + "<0", gyes: gdbSum + ">0", gvalues: gdbWhich + ", " + gdbWho,
		},
	}, append(renamePlaces(), b.uprobe("push", "test_function"), b.uprobe("nop", "nop_function"))...)
}

// renamePlaces are the overhead program of the BPF book and of the kernel's samples: a tracepoint in a
// system call that writes a task's name.
func renamePlaces() []place {
	const notes = "condition: the process id is negative (false), positive (true); values: the process id and oom_score_adj."
	p := place{
		bpftrace: "tracepoint:task:task_rename", bno: "args->pid < 0", byes: "args->pid > 0", bvalues: "args->pid, args->oom_score_adj",
		event: "task/task_rename", fno: "pid < 0", fyes: "pid > 0",
	}
	raw, event := p, p
	event.group = group{title: "tracepoint task:task_rename", mode: "rename", notes: []string{notes}}
	event.target, event.own = target(bpf.Target{Kind: bpf.Tracepoint, Group: "task", Name: "task_rename"}), true
	event.jalon, event.no, event.yes, event.values = "tracepoint:task:task_rename", "args->pid < 0", "args->pid > 0", "args->pid, args->oom_score_adj"
	raw.group = group{title: "raw tracepoint task_rename", mode: "rename", notes: []string{notes, "bpftrace and ftrace: the event, as above."}}
	raw.target = target(bpf.Target{Kind: bpf.RawTracepoint, Name: "task_rename"})
	raw.jalon, raw.no, raw.yes, raw.values = "rawtracepoint:task_rename", "task->pid < 0", "task->pid > 0", "task->pid, task->signal->oom_score_adj"
	return []place{event, raw}
}

// uprobe is a place in the workload's own code.
func (b *bench) uprobe(mode, function string) place {
	return place{
		group: group{title: "uprobe at a " + mode, mode: mode, notes: []string{
			"condition: 2*counter1+3*counter2 < 0 (false), > 0 (true); ftrace has no arithmetic: a < 0 and a > 0.",
		}},
		target: func() (bpf.Target, error) {
			off, err := b.fileOffset(function)
			return bpf.Target{Kind: bpf.Uprobe, Path: b.loopPath, FileOffset: off}, err
		},
		jalon: "uprobe:" + b.loopPath + ":" + function, no: "2*counter1+3*counter2<0", yes: "2*counter1+3*counter2>0", values: "counter1, counter2",
		bpftrace: "uprobe:" + b.loopPath + ":" + function,
		bno:      "2*(int32)arg0+3*(int32)arg1 < 0", byes: "2*(int32)arg0+3*(int32)arg1 > 0", bvalues: "arg0, arg1",
		event: instanceName + "/" + function, fno: "a < 0", fyes: "a > 0", file: "uprobe_events",
		probe: func() (string, error) {
			off, err := b.fileOffset(function)
			return fmt.Sprintf("p:%s/%s %s:%#x a=%%di:s32 b=%%si:s32", instanceName, function, b.loopPath, off), err
		},
	}
}

func target(t bpf.Target) func() (bpf.Target, error) {
	return func() (bpf.Target, error) { return t, nil }
}
