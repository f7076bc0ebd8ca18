package testkit

import (
	"os/exec"
	"regexp"
	"testing"
)

// UntilStopped waits, in a script of GDB, for the end of a trace run.
const UntilStopped = `python
import gdb
while "Trace is running" in gdb.execute("tstatus", to_string=True): pass
end
`

// SpareStaticTracepoints makes GDB outlive a bug of its own: GDB 13 writes to a member
// of its static tracepoints before that is made (the marker's name, in the constructor
// of what they derive from), and goes down or not by what lay there; fresh memory of
// zeros spares it.
func SpareStaticTracepoints(gdb *exec.Cmd) {
	gdb.Env = append(gdb.Environ(), "GLIBC_TUNABLES=glibc.malloc.perturb=255:glibc.malloc.tcache_count=0")
}

// InOrder looks for patterns in what GDB printed, each behind the one before.
func InOrder(t testing.TB, out string, want ...string) {
	t.Helper()
	rest := out
	for _, w := range want {
		at := regexp.MustCompile(`(?m)` + w).FindStringIndex(rest)
		if at == nil {
			t.Errorf("GDB does not print %q at its place:\n%s", w, out)
			return
		}
		rest = rest[at[1]:]
	}
}
