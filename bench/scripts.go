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
	"{ printf(\"%d %d\\n\", pid, args->__syscall_nr); }",
}

// scriptCalls is how many system calls a batch has: what printf() prints must not be lost.
const scriptCalls = 20_000

// scriptRows are maps in the kernel, computed by bpftrace and by jalon for the same script at the same tracepoint.
func scriptRows() (rows []*measured) {
	for _, action := range scriptActions {
		script := "tracepoint:syscalls:sys_enter_getppid " + action
		for _, tool := range []struct {
			name    string
			command func(b *bench) []string
		}{
			{"bpftrace", func(*bench) []string { return []string{"bpftrace"} }},
			{"jalon", func(b *bench) []string { return []string{b.jalon, "run"} }},
		} {
			rows = append(rows, &measured{name: fmt.Sprintf("%s %s", tool.name, action), base: "calls system", run: func(b *bench) ([]float64, error) {
				return b.observeOutside("system", scriptCalls, append(tool.command(b), "-q", "-o", "/dev/null", "-e", script, "-c")...)
			}})
		}
	}
	return rows
}
