package testkit

import (
	"bytes"
	"context"
	"os"
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

// SpareStaticTracepoints avoids a bug of GDB 13, which writes to a member of its static tracepoints before
// the member is constructed (the marker's name, in the constructor of the base class). It crashes or not
// depending on the contents of the memory; it does not if new memory is filled with zeros.
func SpareStaticTracepoints(gdb *exec.Cmd) {
	gdb.Env = append(gdb.Environ(), "GLIBC_TUNABLES=glibc.malloc.perturb=255:glibc.malloc.tcache_count=0")
}

// GDB runs commands in a GDB that reads no start files. It returns GDB's output, errors last.
func GDB(t testing.TB, args []string, commands ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	full := []string{"-nx", "-batch", "-iex", "set auto-load off", "-iex", "set debuginfod enabled off", "-iex", "set print thread-events off"}
	for _, c := range commands {
		full = append(full, "-ex", c)
	}
	cmd := exec.CommandContext(ctx, "gdb", append(full, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "HOME="+t.TempDir())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("gdb: %v\n%s\n%s", err, out, stderr.Bytes())
	}
	return string(out) + stderr.String()
}

// InOrder looks for patterns in GDB's output, each after the one before.
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
