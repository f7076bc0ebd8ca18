package test

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestLatencyBesideOther: where another tracer has a uprobe at the function, what only the in-process engine has is refused
// with that as the reason.
func TestLatencyBesideOther(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the kernel engine needs root")
	}
	prog := compile(t, "gcc", "threads.c", "-g", "-O2", "-pthread")
	target := start(t, prog, "1", "100000000000")
	pid := strconv.Itoa(target.Pid())
	other := start(t, jalonBin, "trace", "-f", "none", "--engine", "kernel", "work if i < 0", "-p", pid).AwaitErr("jalon: armed")
	r := jalon(t, "trace", "work", "--latency", "-p", pid)
	if r.status != 2 || !strings.Contains(r.stderr, "another tracer's breakpoint") || !strings.Contains(r.stderr, "end the other tracer") || strings.Contains(r.stderr, "name one process") {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
	other.Signal(syscall.SIGTERM)
	other.Wait()
	target.Kill()
}

// TestDynamicArrayHint: a text of the kernel's record whose length changes is read by str().
func TestDynamicArrayHint(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("tracefs needs root")
	}
	r := jalon(t, "run", "-e", `tracepoint:sched:sched_process_exec { printf("%s\n", args.filename); exit(); }`)
	if r.status != 1 || !strings.Contains(r.stderr, "str(args.filename) is the text in it") {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
}
