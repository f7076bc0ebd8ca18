package main

// Tables and rows of the benchmarks.
const (
	dynamic   = "dynamic tracepoint at test_function"
	static    = "static tracepoint (USDT; LTTng's own)"
	event     = "tracepoint syscalls:sys_enter_getpriority"
	gate      = "gate: syscalls:sys_enter_getpriority"
	inProcess = "jalon trace"
	underGDB  = "jalon gdbserver"
	kernelGDB = "GDB, jalon gdbserver --kernel"
)

// Columns.
const (
	noHit  = "false condition"
	expr   = "expression only"
	cond   = "condition + expression"
	data   = "data"
	both   = "condition and data"
	noCode = "empty program"
)

func hit(row string) cell               { return cell{from: hits, table: "hits", row: row} }
func observed(row string) cell          { return cell{from: papers, table: "hits", row: row} }
func byGDB(table, row, col string) cell { return cell{from: gdb, table: table, row: row, column: col} }

func inKernel(table, row, c string) cell {
	return cell{from: kernel, table: table, row: row, column: c}
}

// each makes a row of one column for several tracers at a place.
func each(from source, table, column string, tracers ...string) []cell {
	var out []cell
	for _, t := range tracers {
		out = append(out, cell{from: from, table: table, row: t, column: column})
	}
	return out
}

var tables = []table{
	{
		title:     "KGTP, table 1: bytecode and native code in user space",
		published: []string{"bytecode", "native"},
		ours:      []string{"gdbserver `ftrace`, interpreted", "the same, condition compiled", "jalon gdbserver", "jalon trace"},
		rows: []row{
			{"condition (false)", []string{"444 ns", "115 ns"}, []cell{
				byGDB(dynamic, "gdbserver ftrace", noHit), byGDB(dynamic, "gdbserver ftrace, condition compiled", noHit),
				byGDB(dynamic, underGDB, noHit), byGDB(dynamic, inProcess, noHit),
			}},
			{"data", []string{"3,075 ns", "2,900 ns"}, []cell{
				byGDB(dynamic, "gdbserver ftrace", expr), {text: ""}, byGDB(dynamic, underGDB, expr), byGDB(dynamic, inProcess, expr),
			}},
			{"condition and data", []string{"", ""}, []cell{
				byGDB(dynamic, "gdbserver ftrace", cond), byGDB(dynamic, "gdbserver ftrace, condition compiled", cond),
				byGDB(dynamic, underGDB, cond), byGDB(dynamic, inProcess, cond),
			}},
		},
		differs: "the paper's native code is gdbserver's compiler, which is the second column here, with additions in place of the multiplications that it cannot compile.",
	},
	{
		title:     "KGTP, table 2: dynamic tracepoints in the kernel",
		published: []string{"KGTP, native code", "SystemTap"},
		ours:      []string{"jalon, kprobe (guest)", "bpftrace (guest)", "ftrace (guest)", "jalon, fentry (guest)", "jalon, uprobe at a push", "jalon, in the process"},
		rows: []row{
			dynamicRow("false condition", []string{"202 cycles", "351 cycles"}, noHit, "jalon: false condition"),
			dynamicRow("expression only", []string{"500 cycles", "1,035 cycles"}, data, "jalon: record of two ints"),
			dynamicRow("condition and expression", []string{"602 cycles", "1,061 cycles"}, both, "jalon: true condition and record"),
		},
		differs: "the guest (Linux 6.1) counts instructions, not cycles; its kprobe is at vfs_read with a comparison of an argument, not the sum. Debian 12's SystemTap 4.8 does not compile its modules for Debian 12's kernel 6.1.0-56 (its own copy of task_work_cancel has another signature), so it has no column. The last two columns are the paper's condition on this machine.",
	},
	{
		title:     "KGTP, table 4: a disabled static tracepoint",
		published: []string{"before", "after", "added"},
		ours:      []string{"USDT marker, not traced", "the same, armed and disabled"},
		rows: []row{
			{"cost", []string{"12 cycles", "19 cycles", "7 cycles"}, []cell{observed("USDT marker of jalon, off, cached"), hit("jalon: armed but disabled")}},
		},
		differs: "jalon does not change the kernel: a tracepoint of the kernel that is off costs what the kernel makes it cost. Measured are jalon's own sites in a process.",
	},
	{
		title:     "KGTP, table 5: static tracepoints",
		published: []string{"KGTP", "SystemTap"},
		ours:      []string{"jalon", "jalon, the event's own record", "GDB and jalon gdbserver --kernel", "bpftrace", "USDT under jalon gdbserver", "LTTng-UST"},
		rows: []row{
			staticRow("false condition", []string{"154 cycles", "223 cycles"}, noHit, noHit),
			staticRow("data", []string{"1,216 cycles", "1,252 cycles"}, data, data),
			staticRow("condition and data", []string{"1,368 cycles", "1,336 cycles"}, both, "condition + data"),
		},
		differs: "the first four columns are syscalls:sys_enter_getpriority in the kernel, the paper's is a tracepoint of a test module; the last two are a marker in a process.",
	},
	{
		title:     "KGTP, table 6: ftrace",
		published: []string{"ftrace"},
		ours:      []string{"ftrace", "jalon", "jalon, the event's own record"},
		rows: []row{
			{"data only", []string{"297 cycles"}, each(kernel, event, data, "ftrace", "jalon", "jalon, own record")},
			{"false filter", []string{"360 cycles"}, each(kernel, event, noHit, "ftrace", "jalon")},
			{"true filter", []string{"370 cycles"}, each(kernel, event, both, "ftrace", "jalon", "jalon, own record")},
		},
		differs: "as in the paper, ftrace has the simpler filter (it has no arithmetic) and jalon the paper's sum.",
	},
	{
		title:     "KGTP, table 7: a condition before another tracer's recording",
		published: []string{"KGTP + LTTng", "SystemTap"},
		ours:      []string{"jalon gate + perf record", "perf record with its own filter", "bpftrace"},
		rows: []row{
			{"false condition", []string{"154 cycles", "223 cycles"}, each(kernel, gate, noHit, "jalon gate + perf record", "perf record --filter", "bpftrace")},
			{"data", []string{"333 cycles", "1,252 cycles"}, each(kernel, gate, data, "jalon gate + perf record", "perf record --filter", "bpftrace")},
			{"condition and data", []string{"487 cycles", "1,336 cycles"}, each(kernel, gate, both, "jalon gate + perf record", "perf record --filter", "bpftrace")},
		},
		differs: "the paper adds the times of two tracers; here perf record stands for LTTng's buffers, behind jalon's condition, and is measured as a whole.",
	},
	{
		title:     "KGTP, section 4.4: T = Treg + Tcond + Tgen + Tbuf",
		published: []string{"meaning"},
		ours:      []string{"in the process", "kernel, syscalls:sys_enter_getpriority"},
		rows: []row{
			{"Treg", []string{"the way to the tracepoint's code and back"}, []cell{hit("jalon: armed but disabled"), inKernel(event, noCode, noCode)}},
			{"Tcond", []string{"the condition (false, counted)"}, []cell{
				less(hit("jalon: false condition"), hit("jalon: armed but disabled")), less(inKernel(event, "jalon", noHit), inKernel(event, noCode, noCode)),
			}},
			{"Tgen + Tbuf, without the clock", []string{"two values into the ring"}, []cell{
				less(hit("jalon: record of two ints, --clock none"), hit("jalon: armed but disabled")), {text: ""},
			}},
			{"the clock", []string{"rdtsc, a part of Tbuf"}, []cell{
				less(hit("jalon: record of two ints"), hit("jalon: record of two ints, --clock none")), {text: ""},
			}},
			{"Tgen + Tbuf", []string{"two values into the ring, with time"}, []cell{
				less(hit("jalon: record of two ints"), hit("jalon: armed but disabled")), less(inKernel(event, "jalon", data), inKernel(event, noCode, noCode)),
			}},
			{"T", []string{"condition and data"}, []cell{hit("jalon: true condition and record"), inKernel(event, "jalon", both)}},
		},
		differs: "KGTP's Tgen makes text at the hit; jalon stores the values, and text is made when they are read.",
	},
	{
		title:     "uprobes, table 1: tools that stop at each call",
		published: []string{"per event"},
		ours:      []string{"here", "jalon, counted", "jalon, recorded"},
		rows: []row{
			{"ltrace -c, function calls", []string{"22 µs"}, []cell{observed("ltrace -c: function calls"), observed("jalon: function calls, counted"), observed("jalon: function calls, recorded")}},
			{"gdb -batch, function calls", []string{"265 µs"}, []cell{observed("gdb -batch: function calls")}},
			{"uprobes, function calls", []string{"3.4 µs"}, []cell{observed("bpftrace uprobe: function calls")}},
			{"strace -c, system calls", []string{"25 µs"}, []cell{observed("strace -c: system calls"), observed("jalon: system calls, counted"), observed("jalon: system calls, recorded")}},
			{"utrace, system calls", []string{"0.16 µs"}, []cell{{text: "not in Linux"}}},
			{"kprobes, function calls", []string{"0.25 µs"}, []cell{{text: "table 2, in the guest"}}},
		},
		differs: "the paper's uprobes were a kernel module's handler; here they are bpftrace's, which counts in a map. A trap costs several times more in this virtual machine than on metal.",
	},
	{
		title:     "LTTng, tables 1 and 2: a marker that is off",
		published: []string{"x86_32 cached", "x86_32 uncached", "x86_64 cached", "x86_64 uncached"},
		ours:      []string{"cached", "uncached"},
		rows: []row{
			{"optimized marker: a nop (USDT)", []string{"0.002", "0.07", "-1.2", "0.2"}, []cell{observed("USDT marker of jalon, off, cached"), observed("USDT marker of jalon, off, uncached")}},
			{"normal marker: a test of memory (USDT with a semaphore)", []string{"0.004", "154.7", "-0.3", "41.8"}, []cell{observed("USDT marker with a semaphore, off, cached"), observed("USDT marker with a semaphore, off, uncached")}},
			{"LTTng-UST tracepoint", []string{"", "", "", ""}, []cell{observed("LTTng-UST tracepoint, off, cached"), observed("LTTng-UST tracepoint, off, uncached")}},
		},
		differs: "the paper's figures are cycles. Uncached: the lines of the function, of its data and of the semaphore are flushed before each call; the same without a marker is subtracted.",
	},
	bookTable("BPF: the overhead programs, task_rename", "mode rename: a write to /proc/self/comm", []bookRow{
		{"tracepoint task:task_rename", kernel, "tracepoint task:task_rename"},
		{"raw tracepoint task_rename", kernel, "raw tracepoint task_rename"},
		{"kprobe __set_task_comm, Linux 6.1 guest", old, "kprobe:__set_task_comm"},
		{"fentry __set_task_comm, Linux 6.1 guest", old, "fentry:__set_task_comm"},
		{"kprobe __set_task_comm, Linux 6.12 guest", recent, "kprobe:__set_task_comm"},
		{"fentry __set_task_comm, Linux 6.12 guest", recent, "fentry:__set_task_comm"},
	}),
	bookTable("BPF: the overhead programs, urandom_read", "16 bytes of /dev/urandom; its tracepoint is gone since Linux 5.18", []bookRow{
		{"kprobe, Linux 6.1 guest", old, "kprobe:urandom_read_iter"},
		{"kretprobe, Linux 6.1 guest", old, "kretprobe:urandom_read_iter"},
		{"fentry, Linux 6.1 guest", old, "fentry:urandom_read_iter"},
		{"fexit, Linux 6.1 guest", old, "fexit:urandom_read_iter"},
		{"kprobe, Linux 6.12 guest", recent, "kprobe:urandom_read_iter"},
		{"kretprobe, Linux 6.12 guest", recent, "kretprobe:urandom_read_iter"},
		{"fentry, Linux 6.12 guest", recent, "fentry:urandom_read_iter"},
		{"fexit, Linux 6.12 guest", recent, "fexit:urandom_read_iter"},
	}),
}

func dynamicRow(name string, published []string, column, limit string) row {
	const probe = "kprobe:vfs_read"
	cells := each(old, probe, column, "jalon", "bpftrace", "ftrace")
	return row{name, published, append(cells,
		cell{from: old, table: "fentry:vfs_read", row: "jalon", column: column},
		inKernel("uprobe at a push", "jalon", column), hit(limit))}
}

func staticRow(name string, published []string, column, user string) row {
	own := inKernel(event, "jalon, own record", column)
	if column == noHit {
		own = cell{text: "as before"}
	}
	return row{name, published, []cell{
		inKernel(event, "jalon", column), own, inKernel(event, kernelGDB, column), inKernel(event, "bpftrace", column),
		byGDB(static, "jalon gdbserver, strace -m", user), byGDB(static, "LTTng-UST, not through GDB", user),
	}}
}

// bookRow is a kind of attachment of the overhead programs.
type bookRow struct {
	name  string
	from  source
	table string
}

func bookTable(title, what string, rows []bookRow) table {
	t := table{
		title: title,
		ours:  []string{"empty program", "jalon, false condition", "jalon, record", "bpftrace, false", "ftrace, record"},
		differs: "the book and the kernel's samples measure an empty program of each kind (" + what +
			"); here also what a condition and a record add. In guests: instructions.",
	}
	for _, r := range rows {
		at := func(tracer, column string) cell {
			return cell{from: r.from, table: r.table, row: tracer, column: column}
		}
		t.rows = append(t.rows, row{r.name, nil, []cell{
			at(noCode, noCode), at("jalon", noHit), at("jalon", data), at("bpftrace", noHit), at("ftrace", data),
		}})
	}
	return t
}
