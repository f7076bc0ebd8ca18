package kernel

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// nobody is a user without privileges.
const nobody = 65534

// TestErrors: errors contain the cause, the position and the remedy.
func TestErrors(t *testing.T) {
	bin := things(t)
	tests := []struct {
		name   string
		args   []string
		status int
		want   []string
	}{
		{"no such event", []string{"tracepoint:sched:sched_swich"}, 2, []string{`no tracepoint "sched:sched_swich"`, `did you mean "sched:sched_switch"`}},
		{"no such system", []string{"tracepoint:shed:sched_switch"}, 2, []string{`did you mean "sched:sched_switch"`}},
		{"no such system call", []string{"syscall:opennat"}, 2, []string{`syscalls:sys_enter_openat"`}},
		{"no such process event", []string{"process:exek"}, 2, []string{`did you mean "exec"`}},
		{"no such software event", []string{"software:page-fault"}, 2, []string{"page-faults"}},
		{"no such field", []string{"tracepoint:sched:sched_switch if (nxt->prio)"}, 2, []string{`no variable "nxt"`, `did you mean "next"`}},
		{"no such member", []string{"rawtracepoint:sched_switch if (next->pri)"}, 2, []string{`struct task_struct has no member "pri"`, `did you mean "prio"`}},
		{"no member by args", []string{"syscall:openat if (args->flag)"}, 2, []string{`has no member "flag"`, "flags"}},
		{"no such marker", []string{"usdt:" + bin + ":a:b", "--all"}, 2, []string{"no static marker", "section .note.stapsdt"}},
		{"no such function", []string{"uprobe:" + bin + ":nams", "--all"}, 2, []string{`no function "nams"`, `did you mean "names"`}},
		{"an inlined function", []string{"uprobe:" + bin + ":hammered", "--all"}, 2, []string{"all calls are inlined", "without uprobe:"}},
		{"no such raw tracepoint", []string{"rawtracepoint:sched_swich"}, 2, []string{`did you mean "sched_switch"`}},
		{"no such file", []string{"uprobe:/nonexistent/prog:main", "--all"}, 2, []string{"there is no file /nonexistent/prog"}},
		{"no such command", []string{"uprobe:nonexistent-command:main", "--all"}, 2, []string{"no program nonexistent-command in PATH"}},
		{"no program", []string{"names"}, 2, []string{"is a place in a program", "-p PID", "--all"}},
		{"line of what", []string{"fs/open.c:12"}, 2, []string{"--vmlinux"}},
		{"vmlinux of another kernel", []string{"fs/open.c:12", "--vmlinux", bin}, 1, []string{"of another kernel", "build-id"}},
		{"no process", []string{"syscall:openat", "-p", "4194304"}, 1, []string{"there is no such process"}},
		{"too large a record", []string{"rawtracepoint:sched_switch", "-c", "*prev@1000"}, 2, []string{"a record holds 65536 at most", "collect a part of it"}},
		{"too many repetitions", []string{"rawtracepoint:sched_switch", "-c", "prev->comm@100000"}, 2, []string{"from 1 to 65536"}},
		{"no cgroup", []string{"syscall:openat", "--cgroup", "/nonexistent"}, 1, []string{"no such file or directory", "/proc/PID/cgroup"}},
		{"a directory that is no cgroup", []string{"syscall:openat", "--cgroup", "/etc"}, 1, []string{"not a directory of cgroup2"}},
		{"float", []string{"uprobe:" + bin + ":hammer_one if ((long)n > 1.5)", "--all"}, 2, []string{"float"}},
		{"after the return", []string{"uretprobe:" + bin + ":hammer_one", "-c", "n", "--all"}, 0, []string{"the function has returned, and its frame is gone"}},
		{"a condition that assigns", []string{"syscall:openat if (args->flags = 1)"}, 2, []string{"^"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := jalon(t, append(append([]string{"trace"}, tt.args...), "-d", "1s")...)
			text := p.Errs.String()
			if p.Status != tt.status {
				t.Errorf("status %d, want %d", p.Status, tt.status)
			}
			for _, want := range tt.want {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in:\n%s", want, text)
				}
			}
		})
	}
}

// TestMissing: a missing feature of this kernel is reported with a remedy. With the feature the trace
// works.
func TestMissing(t *testing.T) {
	for _, tt := range []struct{ place, want string }{
		{"kprobe:vfs_read", "this kernel has no kprobes; use tracepoint:"},
		{"kretprobe:vfs_read", "this kernel has no kprobes; use tracepoint:"},
		{"fentry:vfs_read", "this kernel refuses fentry and fexit to everyone"},
		{"fexit:vfs_read", "this kernel refuses fentry and fexit to everyone"},
		{"hardware:cpu-cycles:1000000", "no such hardware counter"},
	} {
		p := jalon(t, "trace", tt.place, "-d", "100ms", "-f", "none")
		if p.Status != 0 && (p.Status != 2 || !strings.Contains(p.Errs.String(), tt.want)) {
			t.Errorf("%s: status %d:\n%s", tt.place, p.Status, p.Errs.String())
		}
	}
}

// TestUnprivileged: a user without capabilities gets the same error for all places.
func TestUnprivileged(t *testing.T) {
	as := func(args ...string) *process {
		cmd := exec.Command(jalonBin, args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		return startCmd(t, cmd).Wait()
	}
	const want = "jalon lacks CAP_BPF and CAP_PERFMON; run jalon as root, or give it CAP_BPF and CAP_PERFMON"
	for _, args := range [][]string{
		{"trace", "tracepoint:sched:sched_switch"},
		{"trace", "rawtracepoint:sched_switch"},
		{"trace", "profile:99"},
		{"trace", "syscall:openat", "--", "/bin/true"},
		{"trace", "uprobe:" + things(t) + ":hammer_one", "--all"},
		{"trace", "hammer_one", "--engine", "kernel", "--", things(t)},
		{"gate", "sched:sched_switch if (next_prio > 1)"},
		{"gdbserver", "--kernel", ":0"},
	} {
		if p := as(args...); p.Status != 1 || !strings.Contains(p.Errs.String(), want) {
			t.Errorf("%v: status %d:\n%s", args, p.Status, p.Errs.String())
		}
	}
	if p := as("check"); !strings.Contains(p.Out.String(), "jalon lacks CAP_BPF and CAP_PERFMON") || !strings.Contains(p.Out.String(), "for root only") {
		t.Errorf("check:\n%s", p.Out.String())
	}
	// Features that need no privilege still work.
	if p := as("trace", "names", "-f", "none", "--", things(t), "names"); p.Status != 0 {
		t.Errorf("in-process: status %d:\n%s", p.Status, p.Errs.String())
	}
	if p := as("list", "rawtracepoint:sched_switch"); p.Status != 0 || !strings.Contains(p.Out.String(), "struct task_struct *next") {
		t.Errorf("list: status %d:\n%s%s", p.Status, p.Out.String(), p.Errs.String())
	}
}

// TestCheck: jalon check lists the features of the kernel engine.
func TestCheck(t *testing.T) {
	p := jalon(t, "check")
	for _, want := range []string{"yes  permission", "yes  eBPF", "yes  BTF", "yes  tracefs", "  kprobes  ", "  fentry  ", "yes  uprobes", "waiting for pages"} {
		if !strings.Contains(p.Out.String(), want) {
			t.Errorf("no %q in:\n%s", want, p.Out.String())
		}
	}
	for line := range strings.Lines(p.Out.String()) {
		if strings.HasPrefix(line, "no   fentry") && !strings.Contains(p.Out.String(), line+"     = remedy: ") {
			t.Errorf("no remedy for %s", line)
		}
	}
}
