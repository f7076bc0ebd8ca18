package kernel

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// viewed prints a recording with babeltrace2, which must have nothing to say about it.
func viewed(t *testing.T, dir string) string {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command(tool(t, "babeltrace2"), dir)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil || errs.Len() > 0 {
		t.Fatalf("babeltrace2: %v\n%s", err, errs.String())
	}
	return out.String()
}

// TestSets: the sets' events have LTTng's names and fields, as values and not as variants; a program's fork, exec, exit and opened
// file are there.
func TestSets(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	missing := filepath.Join(t.TempDir(), "no-such-file")
	p := jalon(t, "record", "-o", dir, "--set", "core,block,net", "--", "/bin/sh", "-c", "/bin/cat "+missing+"; true")
	if p.Status != 0 {
		t.Fatalf("%d: %s", p.Status, p.Errs.String())
	}
	text := viewed(t, dir)
	for _, want := range []string{
		`sched_switch: \{.*\}, \{ prev_comm = "[^"]*", prev_tid = \d+, prev_prio = -?\d+, prev_state = \d+, next_comm = "[^"]*", next_tid = \d+, next_prio = -?\d+ \}`,
		`sched_process_fork: .* parent_comm = "sh", .* parent_tid = \d+, .* parent_pid = \d+, .* child_comm = "sh", .* child_tid = \d+, .* child_pid = \d+,`,
		`sched_process_exec: .* filename = "[^"]*/cat", .* tid = \d+, old_tid = \d+ \}`,
		`sched_process_exit: .* comm = "cat", tid = \d+, prio = -?\d+`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("there is no %s", want)
		}
	}
	metadata, err := os.ReadFile(filepath.Join(dir, "metadata"))
	if err != nil || !strings.Contains(string(metadata), `domain = "kernel"`) || !strings.Contains(string(metadata), `tracer_name = "lttng-modules"`) {
		t.Errorf("%v: %.800s", err, metadata)
	}
	report := jalon(t, "report", dir, "--where", "args->old_pid > 0", "-f", "json")
	if report.Status != 0 || !strings.Contains(report.Out.String(), `cat"`) {
		t.Errorf("%d: %.800s%s", report.Status, report.Out.String(), report.Errs.String())
	}
	if p := jalon(t, "record", "-o", filepath.Join(t.TempDir(), "run"), "--set", "nothing"); p.Status != 2 || !strings.Contains(p.Errs.String(), "core") {
		t.Errorf("%d: %s", p.Status, p.Errs.String())
	}
}

// TestSetSyscalls: entries and returns of system calls with LTTng's names, arguments and texts.
func TestSetSyscalls(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	missing := filepath.Join(t.TempDir(), "no-such-file")
	p := jalon(t, "record", "-o", dir, "--set", "syscalls", "--", "/bin/cat", missing)
	if p.Status != 1 {
		t.Fatalf("%d: %s", p.Status, p.Errs.String())
	}
	text := viewed(t, dir)
	for _, want := range []string{
		`syscall_entry_openat: \{.*\}, \{ dfd = -100, .* filename = "` + missing + `", .* flags = \d+, mode = \d+ \}`,
		`syscall_exit_openat: \{.*\}, \{ ret = -2 \}`,
		`syscall_entry_exit_group: \{.*\}, \{ error_code = 1 \}`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("there is no %s", want)
		}
	}
	if n := strings.Count(text, "syscall_entry_"); n < 10 || n > strings.Count(text, "syscall_exit_")+1 {
		t.Errorf("%d entries, %d returns", n, strings.Count(text, "syscall_exit_"))
	}
}

// TestSetList: all sets are listed with what the kernel has.
func TestSetList(t *testing.T) {
	p := jalon(t, "list", "--set")
	if p.Status != 0 || !strings.Contains(p.Out.String(), "softirq_entry as irq_softirq_entry\n        vec\n") || !strings.Contains(p.Out.String(), "malloc: ") {
		t.Errorf("%d: %s%s", p.Status, p.Out.String(), p.Errs.String())
	}
	p = jalon(t, "list", "--set", "syscalls")
	if p.Status != 0 || !strings.Contains(p.Out.String(), "sys_enter_openat as syscall_entry_openat\n        dfd, filename (str(args->filename)), flags, mode\n") {
		t.Errorf("%d: %.500s%s", p.Status, p.Out.String(), p.Errs.String())
	}
}
