package main

import "fmt"

// scriptActions are what a probe does at a system call, in bpftrace's language. The first computes nothing.
var scriptActions = []string{
	"/pid == 1/ { @ = count(); }",
	"{ @ = count(); }",
	"{ @[tid] = count(); }",
	"{ @[comm] = count(); }",
	"{ @[pid, comm] = count(); }",
	"{ @ = sum(args->__syscall_nr); }",
	"{ @ = hist(args->__syscall_nr); }",
	"{ @ = lhist(args->__syscall_nr, 0, 200, 10); }",
	"{ @[kstack] = count(); }",
	"{ @[ustack] = count(); }",
	"{ @[tid] = 1; delete(@[tid]); }",
	"{ printf(\"%d %d\\n\", pid, args->__syscall_nr); }",
}

// scriptCalls is how many system calls a batch has: what printf() prints must not be lost.
const scriptCalls = 20_000

// userActions are what a probe does at a function of a library: jalon's code in the process, bpftrace's uprobe.
var userActions = []string{
	"{ @ = count(); }",
	"{ @[tid] = count(); }",
	"{ @ = hist(arg0); }",
	"{ @[ustack] = count(); }",
	"{ @t[tid] = nsecs; }",
	// The map is in memory that the process and the kernel have in common.
	"{ @t[tid] = nsecs; } tracepoint:syscalls:sys_enter_getpgid /@t[tid]/ { @n = count(); }",
	"{ @t[tid] = nsecs; } tracepoint:syscalls:sys_enter_getpgid /@t[tid]/ { delete(@t[tid]); }",
}

// userCalls is how many calls a batch has where each is a trap.
const userCalls = 5_000

// scriptTools compute the same scripts.
var scriptTools = []struct {
	name    string
	command func(b *bench) []string
	calls   int // of a function
}{
	{"bpftrace", func(*bench) []string { return []string{"bpftrace"} }, userCalls},
	{"jalon", func(b *bench) []string { return []string{b.jalon, "run"} }, 20 * userCalls},
}

// scriptRows are maps of scripts, computed by bpftrace and by jalon for the same script at the same place: a tracepoint, and a function of a library.
func scriptRows() (rows []*measured) {
	row := func(where, mode string, calls int, script func(b *bench) string, action string, tool int) {
		t := &scriptTools[tool]
		rows = append(rows, &measured{name: fmt.Sprintf("%s%s %s", t.name, where, action), base: "calls " + mode, run: func(b *bench) ([]float64, error) {
			return b.observeOutside(mode, calls, append(t.command(b), "-q", "-o", "/dev/null", "-e", script(b), "-c")...)
		}})
	}
	for _, action := range scriptActions {
		for tool := range scriptTools {
			row("", "system", scriptCalls, func(*bench) string { return "tracepoint:syscalls:sys_enter_getppid " + action }, action, tool)
		}
	}
	for _, action := range userActions {
		for tool := range scriptTools {
			row(" function", "library", scriptTools[tool].calls, func(b *bench) string { return "uprobe:" + b.callsLibrary() + ":library_function " + action }, action, tool)
		}
	}
	return rows
}
