package test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGuessesOfOthers: first guesses of users of strace, ltrace, perf, GDB, bpftrace and uftrace are answered with what to type.
func TestGuessesOfOthers(t *testing.T) {
	prog := compile(t, "gcc", "absences.c", "-g", "-O0")
	dir := t.TempDir()
	script := filepath.Join(dir, "start.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n/bin/true\n"), 0o700); err != nil { //nolint:gosec // it is executed
		t.Fatal(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	one := func(args ...string) []string { return append(append([]string{"trace", "one"}, args...), "--", prog) }
	place := func(text string) []string { return []string{"trace", text, "--", prog} }
	for _, tt := range []struct {
		args   []string
		status int
		want   string
	}{
		// flags
		{one("--when", "n > 1"), 2, "'one if n > 1'"},
		{one("--filter", "n>1"), 2, "'one if n>1'"},
		{one("--condition=n > 1"), 2, "'one if n > 1'"},
		{[]string{"trace", "--if", "n > 1", "one", "--", prog}, 2, "'one if n > 1'"},
		{one("--expr", "n + 1"), 2, "-c 'n + 1'"},
		{one("--print", "n"), 2, "-c n"},
		{one("--args"), 2, "-c '$args'"},
		{one("--locals"), 2, "-c '$locals'"},
		{one("--limit", "5"), 2, "-n 5"},
		{one("--max-events=7"), 2, "-n 7"},
		{one("--once"), 2, "-n 1"},
		{one("--timeout", "5"), 2, "-d 5s"},
		{one("--timeout=200ms"), 2, "-d 200ms"},
		{one("-d", "1"), 2, "a time has a unit: 1s, 1ms"},
		{one("--time", "5"), 2, "wall, start, mono; the trace ends after a time by -d 5s"},
		{one("-n", "x"), 2, "it takes a number"},
		{one("--stack"), 2, "-c '$bt'"},
		{one("--backtrace"), 2, "-c '$bt'"},
		{one("--call-graph"), 2, "-c '$bt'"},
		{one("-c"), 2, "what to show: -c 'n, p->name'"},
		{one("-f", "-e", "trace=openat"), 2, "child processes are followed by default"},
		{one("-e", "trace=openat"), 2, "jalon trace syscall:openat"},
		{one("--function", "two"), 2, "an argument without a flag: two"},
		{one("--out-file", "x"), 2, "-o FILE"},
		{one("--attach", "1"), 2, "-p PID"},
		{one("--cpu", "1"), 2, "'one if $cpu == 1'"},
		{one("--exec", prog), 2, "jalon trace one -- " + prog},
		{one("--histogram", "n"), 2, "--hist VALUE"},
		{one("--no-such-flag"), 2, "jalon trace --help lists the flags"},
		{one("-x", "two"), 2, "jalon trace two"},
		{[]string{"record", "-F", "99", "-g", "--", prog}, 2, "jalon record profile:99 -c '$bt'"},
		{[]string{"record", "-e", "sched:sched_switch"}, 2, "jalon record tracepoint:SUBSYSTEM:EVENT"},
		{[]string{"run", "--timeout", "5", "-e", "begin { }"}, 2, "interval:s:5 { exit(); }"},
		{[]string{"report", "--stdio"}, 2, "jalon report DIR prints"},
		{[]string{"report", "--filter", "n > 1", dir}, 2, "--where 'n > 1'"},
		{[]string{"report", "-i", "perf.data"}, 2, "jalon report perf.data"},
		{[]string{"list", "--functions", prog}, 2, "jalon list PROGRAM 'PATTERN'"},
		// arguments
		{[]string{"trace", "-p", "1"}, 2, "'syscall:*' -p 1"},
		{[]string{"trace"}, 2, "FUNCTION -- PROGRAM"},
		{[]string{"record", "--", prog}, 2, "FUNCTION -- " + prog},
		{[]string{"control", "enable", "1"}, 2, "jalon control PATH enable 1"},
		{[]string{"run", "-p", "no-such-name", "-e", "begin { }"}, 1, `no process has the name "no-such-name"`},
		{[]string{"run", "-e", "syscall:openat { exit(); }"}, 1, "tracepoint:syscalls:sys_enter_openat"},
		{[]string{"run", "-e", "sched:sched_switch { exit(); }"}, 1, "tracepoint:sched:sched_switch"},
		{[]string{"run", "-e", "one { exit(); }", "-c", prog}, 1, "uprobe:FILE:one"},
		{[]string{"list", prog, "absences.c"}, 1, "jalon list " + prog + "@absences.c"},
		{[]string{"list", prog, "absences.c:9"}, 1, "jalon list " + prog + "@absences.c:9"},
		{[]string{"list", prog + "@absences.c:one"}, 1, "jalon list " + prog + " one"},
		{[]string{"list", prog + ":one"}, 2, "jalon list " + prog + " one"},
		{[]string{"list", "usdt:" + prog}, 2, "'usdt:" + prog + ":*'"},
		{place("one@arg1"), 2, "-c '$args'"},
		{one("n > 1"), 2, "'one if n > 1'"},
		{[]string{"report"}, 2, "jalon report DIR"},
		{[]string{"report", filepath.Join(dir, "none")}, 1, "jalon record -o " + filepath.Join(dir, "none")},
		{[]string{"report", file}, 1, "is a file, not the directory of a recording"},
		{[]string{"export", dir}, 2, "--to html -o FILE"},
		{[]string{"merge", dir}, 2, "jalon merge DIR1 DIR2 -o DIR"},
		{[]string{"gate"}, 2, "jalon gate 'sched:sched_switch if (prev_pid > 1)'"},
		{[]string{"control"}, 2, "jalon control PATH status"},
		{[]string{"control", "status"}, 2, "jalon control PATH status"},
		{[]string{"control", filepath.Join(dir, "none"), "status"}, 1, "--control " + filepath.Join(dir, "none")},
		{[]string{"check", "1"}, 2, "jalon check -p PID"},
		{[]string{"completion"}, 2, "bash, zsh or fish"},
		{[]string{"gdbserver", prog, ":1234"}, 1, "jalon gdbserver :1234 " + prog},
		{[]string{"gdbserver", prog}, 1, "jalon gdbserver :1234 " + prog},
		{[]string{"gdbserver", "localhost:0", "-p", "1"}, 1, "jalon gdbserver --attach localhost:0 1"},
		{[]string{"run", "-c", prog}, 1, "jalon run -e 'BEGIN"},
		// commands
		{[]string{"sleep", "1"}, 2, "jalon trace 'syscall:*' -- sleep 1"},
		{[]string{"ls"}, 2, "jalon trace 'syscall:*' -- ls"},
		{[]string{"stat", "-e", "cycles", "ls"}, 2, "hardware:EVENT:COUNT"},
		{[]string{"probe", "-x", prog, "one"}, 2, "jalon trace one -- " + prog},
		{[]string{"break", "absences.c:9", prog}, 2, "jalon trace absences.c:9 -- " + prog},
		{[]string{"annotate"}, 2, "jalon report DIR"},
		{[]string{"list", "hw"}, 2, "cpu-cycles"},
		{[]string{"list", "hardware:*"}, 2, "cache-misses"},
		// places
		{place("absences.c"), 2, "absences.c:LINE or absences.c:FUNCTION"},
		{place("9"), 2, "FILE.c:9"},
		{place(":9"), 2, "FILE.c:9"},
		{place("absences.c,9"), 2, "absences.c:9"},
		{place("absences.c line 9"), 2, "absences.c:9"},
		{place("one:9"), 2, "one+9"},
		{place("one, two"), 2, "one two"},
		{place("one+two"), 2, "one two"},
		{place("int one(int)"), 2, "written one"},
		{place("syscalls"), 2, "'syscall:*'"},
		{place("sys_openat"), 2, "syscall:openat"},
		{place("malloc@libc.so.6"), 2, "uprobe:libc.so.6:malloc"},
		{place("libc:*"), 2, "'uprobe:libc:*'"},
		{place("absences.c:11"), 2, "another function: two, which begins at line 12"},
		{[]string{"trace", "tracepoint:sched:sched_switch", "-n", "1", "--", script}, 0, ""},
		// conditions and lists
		{place("one if n is 1"), 2, `use "=="`},
		{place("one if n eq 1"), 2, `use "=="`},
		{place("one if $n == 1"), 2, "a variable has no dollar: n"},
		{one("-c", "print n"), 2, "-c n"},
		{one("-c", "p/x n"), 2, "-c n/x"},
		{one("-c", "x/4x p"), 2, "-c '*p@4'"},
		{one("-c", "info locals"), 2, "-c '$locals'"},
		{one("-c", "n=%d"), 2, "-c n"},
		{one("-c", `"%d %d", n, a`), 2, "-c 'n, a'"},
	} {
		if os.Geteuid() != 0 && tt.status == 0 {
			continue // the kernel engine needs root
		}
		r := jalon(t, tt.args...)
		if text := r.stdout + r.stderr; r.status != tt.status || !strings.Contains(text, tt.want) || strings.Contains(text, "is a script") {
			t.Errorf("jalon %s: status %d, without %q:\n%s", strings.Join(tt.args, " "), r.status, tt.want, text)
		}
	}
}
