package test

import (
	"strings"
	"testing"
)

// TestKernelNumbers: maps of numbers at sites in the kernel, by threads that come and go: their keys have room in a small table as long as
// each thread deletes its own, and what is kept between two places is that of the thread. Without delete() the map gets full, which is
// reported.
func TestKernelNumbers(t *testing.T) {
	churn := compile(t, "gcc", "turnover.c", "-g", "-O1", "-pthread")
	const pair = "config = { max_map_keys = 16 } tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @of[tid] = curtask.pid; @at[tid] = nsecs; } " +
		"tracepoint:syscalls:sys_exit_getppid /@of[tid]/ { @right = sum((int64)(@of[tid] == curtask.pid)); @wrong = sum((int64)(nsecs < @at[tid] || @at[tid] == 0)); DELETE }"
	for _, c := range []struct {
		delete string
		full   bool
	}{{"delete(@of, tid); delete(@at, tid);", false}, {"", true}} {
		script := strings.ReplaceAll(pair, "DELETE", c.delete)
		r := jalon(t, "run", "--maps", "-e", script, "-c", churn)
		if n := strings.Count(r.stderr, "in the kernel: "); r.status != 0 || n != 4 {
			t.Fatalf("status %d, %d maps in the kernel\n%s%s", r.status, n, r.stdout, r.stderr)
		}
		if full := strings.Contains(r.stderr, "was full"); full != c.full {
			t.Errorf("%q: full: %t\n%s%s", c.delete, full, r.stdout, r.stderr)
		}
		if !strings.Contains(r.stdout, "@wrong: 0\n") || !c.full && !strings.Contains(r.stdout, "@right: 4000\n") {
			t.Errorf("%q:\n%s%s", c.delete, r.stdout, r.stderr)
		}
	}
}
