package test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReportCommand: jalon report prints of a recording what jalon trace prints of the same program, chosen by C expressions over the
// recorded fields, and computes over it.
func TestReportCommand(t *testing.T) {
	prog := recordProgram(t)
	dir := filepath.Join(t.TempDir(), "run1")
	if r := jalon(t, "record", "-q", "-o", dir, "handle", "-c", "i, s, *p, *(int *)i", "other", "-c", "n, $bt", "--", prog, "50"); r.status != 0 {
		t.Fatalf("%d: %s", r.status, r.stderr)
	}
	for _, tt := range []struct {
		args   []string
		status int
		lines  int      // of standard output; -1: any
		has    []string // in what is printed
	}{
		{args: nil, lines: -1, has: []string{" handle", "i=49 ", "main+", "*(int *)i=<unreadable address 0x31>"}},
		{args: []string{"-f", "json"}, lines: 100, has: []string{`"place":"other"`}},
		{args: []string{"-f", "csv"}, lines: 101, has: []string{"i,s,*p,*(int *)i,n,$bt\n"}},
		{args: []string{"--where", `i >= 40 && p->c == BLUE && s == "text"`, "--fields", "i, p->m[1][2] * 2, p->name"}, lines: 7, has: []string{`i=49 p->m[1][2] * 2=12 p->name="hello\000`, "the events of other are left out"}},
		{args: []string{"--where", "*(int *)i == 0"}, lines: 0, has: []string{"50 events are left out"}},
		{args: []string{"--where", "p->y > 2 && p->u.i == 7 && p->a == 5", "-f", "csv"}, lines: 51},
		{args: []string{"--where", "ii > 3"}, status: 2, has: []string{`no field "ii" was recorded`, "| ^^"}},
		{args: []string{"--stat"}, lines: -1, has: []string{"100 events in", "handle 50, other 50"}},
		{args: []string{"--hist", "i"}, lines: -1, has: []string{"[32, 64)              18 |", "50 values, average 24.5, from 0 to 49"}},
		{args: []string{"--hist", "i", "--by", "p->c"}, lines: -1, has: []string{"i[BLUE]:"}},
		{args: []string{"--latency", "handle", "other"}, lines: -1, has: []string{"50 pairs"}},
		{args: []string{"--flame", "-f", "folded"}, lines: 2, has: []string{"main;other 50\n"}},
		{args: []string{"--timeline"}, lines: -1, has: []string{"CPU "}},
		{args: []string{"--to", "0s"}, lines: 1},
		{args: []string{"--from", "xx"}, status: 2, has: []string{"is not a time", "--from:1:1", "| ^^"}},
		{args: []string{"--from", "5", "--to", "1"}, status: 2, has: []string{"the time ends before it begins: --from 5 is 4s later", "--to:1:1"}},
		{args: []string{"--from", "9223372036"}, lines: 0, has: []string{"there are no events in this time: the trace has "}},
		{args: []string{"--to", "@0"}, lines: 0, has: []string{"there are no events in this time"}},
		{args: []string{"--from", "9999-01-01T00:00:00Z", "--timeline"}, lines: -1, has: []string{"there are no events in this time"}},
		{args: []string{"--stat", "--top=-1"}, status: 2, has: []string{"--top -1: it must be more than 0"}},
		{args: []string{"--stat", "--flame"}, status: 2},
	} {
		r := jalon(t, slices.Concat([]string{"report", dir}, tt.args)...)
		if r.status != tt.status || tt.lines >= 0 && tt.status == 0 && strings.Count(r.stdout, "\n") != tt.lines {
			t.Errorf("%q: status %d, %d lines\n%s%s", tt.args, r.status, strings.Count(r.stdout, "\n"), r.stdout, r.stderr)
		}
		for _, part := range tt.has {
			if !strings.Contains(r.stdout+r.stderr, part) {
				t.Errorf("%q: no %q in\n%s%s", tt.args, part, r.stdout, r.stderr)
			}
		}
	}
	if r := jalon(t, "report", t.TempDir()); r.status != 1 || !strings.Contains(r.stderr, "is not a trace") {
		t.Errorf("%d: %s", r.status, r.stderr)
	}
}

// TestExportCommand: jalon export writes the chosen events, and no file where it fails.
func TestExportCommand(t *testing.T) {
	prog := recordProgram(t)
	dir := filepath.Join(t.TempDir(), "run1")
	if r := jalon(t, "record", "-q", "-o", dir, "handle", "-c", "i, s, *p", "other", "-c", "n, $bt", "--", prog, "50"); r.status != 0 {
		t.Fatalf("%d: %s", r.status, r.stderr)
	}
	for name, part := range map[string]string{"perfetto": "handle", "chrome": `"name":"handle","ts":`, "folded": "rec;handle 10\n", "pprof": "\x1f\x8b"} {
		file := filepath.Join(t.TempDir(), name)
		r := jalon(t, "export", dir, "--to", name, "-o", file, "--where", "i < 10 && i >= 0")
		b, err := os.ReadFile(file)
		if err != nil || r.status != 0 || !strings.Contains(string(b), part) || !strings.Contains(r.stderr, ": 10 events") {
			t.Errorf("%s: %v, status %d: %s", name, err, r.status, r.stderr)
		}
	}
	file := filepath.Join(t.TempDir(), "none")
	if r := jalon(t, "export", dir, "--to", "chrome", "-o", file, "--where", "x > 1"); r.status != 2 {
		t.Errorf("%d: %s", r.status, r.stderr)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a failed export left a file")
	}
	for _, file := range []string{"metadata", "jalon/new"} {
		if r := jalon(t, "export", dir, "--to", "chrome", "-o", filepath.Join(dir, file)); r.status != 2 || !strings.Contains(r.stderr, "in the directory of the trace") {
			t.Errorf("%s: %d: %s", file, r.status, r.stderr)
		}
	}
	full := filepath.Join(t.TempDir(), "full") // as /dev/full: what is written fails
	if err := unix.Mknod(full, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 7))); err != nil {
		t.Skipf("a device cannot be made: %v", err)
	}
	if r := jalon(t, "export", dir, "--to", "chrome", "-o", full); r.status != 1 {
		t.Errorf("%d: %s", r.status, r.stderr)
	}
	if _, err := os.Stat(full); err != nil {
		t.Errorf("a failed export removed a device: %v", err)
	}
}
