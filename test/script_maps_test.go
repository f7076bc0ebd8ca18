package test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWhereMaps: --maps reports where each map is.
func TestWhereMaps(t *testing.T) {
	server := compile(t, "gcc", "cookbook.c", "-g", "-O1", "-pthread")
	r := jalon(t, "run", "-q", "--maps", "-e", "uprobe:"+server+":handle { @hits = count(); } "+
		"uprobe:"+server+":parse { @n++; print(@n); } tracepoint:syscalls:sys_enter_write /pid == cpid/ { @writes = sum(args.count); } end { @end = 1; clear(@n); }", "-c", server)
	for _, want := range []string{"@hits in the memory that the process has in common", "@n in jalon: a probe that uses it does more", "@writes in the kernel: 1 places", "@end in jalon: only probes that run in jalon"} {
		if r.status != 0 || !strings.Contains(r.stderr, want) {
			t.Errorf("status %d, no %q in\n%s", r.status, want, r.stderr)
		}
	}
}

// TestTimersAfterArming: timers begin when the probes are attached.
func TestTimersAfterArming(t *testing.T) {
	r := jalon(t, "run", "-e", "tracepoint:sched:sched_switch { @ = count(); } interval:us:1 { exit(); }")
	if r.status != 0 || strings.Contains(r.stderr, "ended before") {
		t.Errorf("status %d\n%s", r.status, r.stderr)
	}
}

// TestDo: trace executes statements of scripts at its places.
func TestDo(t *testing.T) {
	server := compile(t, "gcc", "cookbook.c", "-g", "-O1", "-pthread")
	for _, c := range []struct {
		args, want string // separated by |
		status     int
	}{
		{"handle|--do|@[r->kind] = sum(r->len);|--|SERVER", "@[LIST]: 3105\n@[GET]: 3135\n@[PUT]: 3210\n", 0},
		{"handle if r->len / 100 == 1|--do|@ = count();|--|SERVER", "@: 37\n", 0},
		{"handle if r->len < 2|handle%return|--do|@[probetype] = count();|--|SERVER", "@[uretprobe]: 300\n", 0},
		{"handle|--do|print(nothing)|--|SERVER", "there is no name", 1},
		{"handle|--do|@ = count()", "add -- PROGRAM", 1},
		{"handle|--count|--do|@ = count()|--|SERVER", "leave out --count", 1},
	} {
		r := jalon(t, append([]string{"trace", "-q"}, strings.Split(strings.ReplaceAll(c.args, "SERVER", server), "|")...)...)
		if ok := r.status == c.status || c.status != 0 && r.status != 0; !ok || !strings.Contains(r.stdout+r.stderr, c.want) {
			t.Errorf("%s: status %d\n%s%s\nwant %s", c.args, r.status, r.stdout, r.stderr, c.want)
		}
	}
}

// TestDoReplaced: --do with a process whose program was replaced by another file, as by an upgrade.
func TestDoReplaced(t *testing.T) {
	prog := filepath.Join(t.TempDir(), "checked")
	text, err := os.ReadFile(compile(t, "gcc", "checked.c", "-g", "-pthread"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(prog, text, 0o700); err != nil {
		t.Fatal(err)
	}
	x := startChecked(t, prog, 1)
	if err := os.Remove(prog); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(prog, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	r := jalon(t, "trace", "-q", "round_of", "--do", `@ = count(); printf("%s\n", func); exit();`, "-p", fmt.Sprint(x.Cmd.Process.Pid))
	if r.status != 0 || !strings.HasPrefix(r.stdout, "round_of\n") {
		t.Errorf("status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	x.goesOn("at the end")
	if r := jalon(t, "trace", "round_of", "--do", "@ = count()", "-p", "4194304"); r.status != 1 || !strings.Contains(r.stderr, "there is no such process") {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
}
