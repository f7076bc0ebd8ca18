package kernel

import (
	"fmt"
	"strings"
	"testing"
)

// valueCase is a tracepoint on testdata/things.c with the expected values. Most cases use the event
// getpriority(i, 1000+i), i = 0..9, of the action "names", in which the thread has the name "name<i>".
type valueCase struct {
	cond, collect string
	hits          []int // those i that are recorded
	faults        uint64
	want          func(i int) map[string]string // by expression; values as fmt prints them
	errors        func(i int) map[string]string
}

func numbers(from, to int) (out []int) {
	for i := from; i <= to; i++ {
		out = append(out, i)
	}
	return out
}

var valueCases = []valueCase{
	{cond: "args->which > 6", collect: "args->which, who", hits: numbers(7, 9), want: func(i int) map[string]string {
		return map[string]string{"args->which": fmt.Sprint(i), "who": fmt.Sprint(1000 + i)}
	}},
	{
		cond: "which % 3 == 1 && !(who & 4)", collect: "(long)which << 40, -who, ~which, (unsigned char)who, (signed char)(who + 120), who / 7, who % 7, (long)which * who", hits: []int{1},
		want: func(i int) map[string]string {
			return map[string]string{
				"(long)which << 40": fmt.Sprint(i << 40), "-who": fmt.Sprint(-1000 - i), "~which": fmt.Sprint(^i), "(unsigned char)who": fmt.Sprint((1000 + i) & 255),
				"(signed char)(who + 120)": fmt.Sprint(int8((1120 + i) & 255)), "who / 7": fmt.Sprint((1000 + i) / 7), "who % 7": fmt.Sprint((1000 + i) % 7),
				"(long)which * who": fmt.Sprint(i * (1000 + i)),
			}
		},
	},
	{cond: `$task->comm == "name4" || $comm == "name5"`, collect: "$comm, $task->comm, which", hits: []int{4, 5}, want: func(i int) map[string]string {
		return map[string]string{"$comm": fmt.Sprintf("name%d", i), "$task->comm": fmt.Sprintf("name%d", i), "which": fmt.Sprint(i)}
	}},
	{cond: `"name7" == $comm`, collect: "which", hits: []int{7}, want: func(i int) map[string]string { return map[string]string{"which": "7"} }},
	{cond: `$comm != "name7"`, collect: "which", hits: []int{0, 1, 2, 3, 4, 5, 6, 8, 9}, want: func(i int) map[string]string {
		return map[string]string{"which": fmt.Sprint(i)}
	}},
	{
		cond: "100 / (which - 5) > 20", collect: "1 / (which - 6), 1 % (which - 7), 10 / which", hits: numbers(6, 9), faults: 1,
		want: func(i int) map[string]string {
			m := map[string]string{"10 / which": fmt.Sprint(10 / i)}
			if i != 6 {
				m["1 / (which - 6)"] = fmt.Sprint(1 / (i - 6))
			}
			if i != 7 {
				m["1 % (which - 7)"] = fmt.Sprint(1 % (i - 7))
			}
			return m
		},
		errors: func(i int) map[string]string {
			switch i {
			case 6:
				return map[string]string{"1 / (which - 6)": "division by zero"}
			case 7:
				return map[string]string{"1 % (which - 7)": "division by zero"}
			}
			return nil
		},
	},
	// Bad pointers: user addresses, kernel addresses and others; in a condition they are counted.
	{
		cond: "which == 3 ? *(int *)who : which > 7", collect: "which, *(int *)who, *(long *)0xffff800000000000, *(char *)-1", hits: []int{8, 9}, faults: 1,
		want: func(i int) map[string]string { return map[string]string{"which": fmt.Sprint(i)} },
		errors: func(i int) map[string]string {
			return map[string]string{
				"*(int *)who": fmt.Sprintf("unreadable address %#x", 1000+i), "*(long *)0xffff800000000000": "unreadable address 0xffff800000000000",
				"*(char *)-1": "unreadable address 0xffffffffffffffff",
			}
		},
	},
	// Structs, unions, arrays, bit-fields and strings reached through $task.
	{
		cond: "$task->pid == $tid && $task->tgid == $pid && $task->mm != 0 && which == 2", hits: []int{2},
		collect: "$task->mm->exe_file->f_path.dentry->d_name.name/s, $task->mm->exe_file->f_path.dentry->d_name.len, $task->real_parent->tgid == $task->parent->tgid, " +
			"$task->comm[4], $task->in_execve, $task->cred->uid.val, $task->signal->nr_threads, sizeof(struct task_struct) > 1000, &$task->pid == (int *)((char *)$task + ((long)&((struct task_struct *)0)->pid))",
		want: func(i int) map[string]string {
			return map[string]string{
				"$task->mm->exe_file->f_path.dentry->d_name.name": "things", "$task->mm->exe_file->f_path.dentry->d_name.len": "6",
				"$task->real_parent->tgid == $task->parent->tgid": "1",
				"$task->comm[4]": "50", "$task->in_execve": "0", "$task->cred->uid.val": "0", "$task->signal->nr_threads": "1",
				"sizeof(struct task_struct) > 1000":                                               "1",
				"&$task->pid == (int *)((char *)$task + ((long)&((struct task_struct *)0)->pid))": "1",
			}
		},
	},
}

// TestValues: conditions and values on a system call whose arguments are known.
func TestValues(t *testing.T) {
	for _, tt := range valueCases {
		t.Run(tt.cond, func(t *testing.T) {
			t.Parallel()
			tr := run(t, "syscall:getpriority if ("+tt.cond+")", "-c", tt.collect, "--", things(t), "names")
			events := tr.events()
			var got []int
			for _, e := range events {
				// The order is that of the calls; the thread's name identifies each.
				var i int
				if _, err := fmt.Sscanf(e.Comm, "name%d", &i); err != nil {
					t.Fatalf("%+v", e)
				}
				got = append(got, i)
				for key, want := range tt.want(i) {
					if have := fmt.Sprint(e.Values[key]); have != want {
						t.Errorf("%d: %s = %s, want %s", i, key, have, want)
					}
				}
				var wantErrors map[string]string
				if tt.errors != nil {
					wantErrors = tt.errors(i)
				}
				if fmt.Sprint(wantErrors) != fmt.Sprint(e.Errors) {
					t.Errorf("%d: errors %v, want %v", i, e.Errors, wantErrors)
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(tt.hits) {
				t.Errorf("recorded %v, want %v\n%s", got, tt.hits, tr.Errs.String())
			}
			c := tr.counts()
			tr.check("hits", c.Hits, 10)
			tr.check("recorded", c.Recorded, uint64(len(tt.hits)))
			tr.check("faults", c.Faults, tt.faults)
			tr.check("false", c.False, 10-uint64(len(tt.hits))-tt.faults)
			tr.check("lost", c.Lost+c.Missed+c.Torn, 0)
		})
	}
}

// TestStrings: names of files as the program gave them, and as the kernel has them.
func TestStrings(t *testing.T) {
	cmd := []string{
		`tracepoint:syscalls:sys_enter_openat if (args->flags & 64)`, `tracepoint:syscalls:sys_enter_unlink if (str(args->pathname) == "./file07")`,
		"-c", "str(args->filename)",
	}
	// The second has no filename: it is missing there, which is said with a caret.
	p := jalon(t, append([]string{"trace"}, append(cmd, "--", things(t), "files")...)...)
	if p.Status != 0 || !strings.Contains(p.Errs.String(), `no member "filename"`) {
		t.Errorf("status %d:\n%s", p.Status, p.Errs.String())
	}
	dir := t.TempDir()
	tr := beginIn(t, dir, `tracepoint:syscalls:sys_enter_openat if (args->flags & 64)`, "-c", "str(args->filename), args->flags, args->mode", "--", things(t), "files").wait()
	want := 0
	for i, e := range tr.events() {
		n := i/2*5 + 1 + i%2
		if e.Str("str(args->filename)") != fmt.Sprintf("./file%02d", n) || e.Num(t, "args->mode") != 0o600 {
			t.Errorf("event %d: %v", i, e.Values)
		}
		want++
	}
	tr.check("created", uint64(want), 8)

	tr = beginIn(t, dir, `syscall:unlink if (str(args->pathname) == "./file07")`, "-c", "str(args->pathname)", "--", things(t), "files").wait()
	tr.check("unlinked", tr.counts().Recorded, 1)
	tr.check("hits", tr.counts().Hits, 20)

	// A name that cannot be read.
	tr = beginIn(t, dir, `syscall:openat if ((long)args->filename == 16)`, "-c", "str(args->filename), args->filename", "--", things(t), "files").wait()
	if ev := tr.events(); len(ev) != 1 || ev[0].Errors["str(args->filename)"] != "unreadable address 0x10" {
		t.Errorf("%+v", ev)
	}

	// The same names reached through the kernel's own structures: through the dentry of the inode that is
	// dirtied.
	tr = beginIn(t, dir, `process:exec`, "--no-follow", "-c", "p->comm, bprm->filename/s, bprm->argc", "--", "/bin/sh", "-c", "/bin/true; exec /bin/echo x").wait()
	if ev := tr.events(); len(ev) != 1 || ev[0].Str("p->comm") != "echo" || ev[0].Str("bprm->filename") != "/bin/echo" || ev[0].Num(t, "bprm->argc") != 2 {
		t.Errorf("%+v\n%s", ev, tr.Errs.String())
	}
}

// TestRaw: raw arguments, typed ones of rawtracepoint and tracepoint, struct pt_regs.
func TestRaw(t *testing.T) {
	const sysGetpriority = 140
	for _, place := range []string{"rawtracepoint:sys_enter", "tracepoint:raw_syscalls:sys_enter"} {
		tr := run(t, place+fmt.Sprintf(" if (id == %d && regs->di >= 5)", sysGetpriority), "-c", "id, (int)regs->di, regs->si, (char)regs->cs", "--", things(t), "names")
		ev := tr.events()
		if len(ev) != 5 {
			t.Fatalf("%s: %d events\n%s", place, len(ev), tr.Errs.String())
		}
		for i, e := range ev {
			if e.Num(t, "id") != sysGetpriority || e.Num(t, "(int)regs->di") != int64(5+i) || e.Num(t, "regs->si") != int64(1005+i) || e.Num(t, "(char)regs->cs") != 0x33 {
				t.Errorf("%s: %v", place, e.Values)
			}
		}
	}
	// A condition on raw arguments, and fields of the record.
	tr := run(t, `tracepoint:task:task_rename if (task->comm != "name3")`, "-c", "args->oldcomm, args->newcomm, args->pid", "--", things(t), "names")
	ev := tr.events()
	if len(ev) != 9 {
		t.Fatalf("%d events\n%s", len(ev), tr.Errs.String())
	}
	for _, e := range ev {
		if e.Str("args->oldcomm") != e.Comm || e.Num(t, "args->pid") != int64(e.Pid) || e.Comm == "name3" {
			t.Errorf("%s: %v", e.Comm, e.Values)
		}
	}
	// Both in one expression are refused with the reason.
	p := jalon(t, "trace", `tracepoint:task:task_rename if (args->oom_score_adj == 0 && task->pid > 0)`, "-n", "1")
	if !strings.Contains(p.Errs.String(), `"task" cannot be used together with the other names here`) {
		t.Errorf("%s", p.Errs.String())
	}
	tr = run(t, "tracepoint:raw_syscalls:sys_enter if (args->id == 140)", "-c", "args->args, args->args[1], args->id", "--", things(t), "names")
	ev = tr.events()
	if len(ev) != 10 {
		t.Fatalf("%d events\n%s", len(ev), tr.Errs.String())
	}
	for i, e := range ev {
		if e.Num(t, "args->args[1]") != int64(1000+i) || !strings.HasPrefix(fmt.Sprint(e.Values["args->args"]), fmt.Sprintf("[%d %d ", i, 1000+i)) {
			t.Errorf("%v", e.Values)
		}
	}
}

// TestSignals: signal tracepoints show only the program's own signals, none added by a tracer: a program of
// the kernel engine is not stopped.
func TestSignals(t *testing.T) {
	tr := run(t, "tracepoint:signal:signal_generate if (args->pid == $pid)", "-c", "args->sig, args->code, args->comm, sig", "--", things(t), "signals")
	var got []int64
	for _, e := range tr.events() {
		if e.Str("args->comm") != "things" || e.Num(t, "sig") != e.Num(t, "args->sig") {
			t.Errorf("%v", e.Values)
		}
		got = append(got, e.Num(t, "args->sig"))
	}
	if want := "[10 10 12 12 34 34 37 37 28 28 34]"; fmt.Sprint(got) != want {
		t.Errorf("signals %v, want %s\n%s", got, want, tr.Errs.String())
	}
}
