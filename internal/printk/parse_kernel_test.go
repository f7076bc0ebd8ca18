package printk

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/debuginfo/tracefs"
)

// running opens this machine's trace file system, mounting it where it is not.
func running(t testing.TB) *tracefs.FS {
	t.Helper()
	f, err := tracefs.Open()
	if err != nil {
		if out, merr := exec.Command("mount", "-t", "tracefs", "tracefs", "/sys/kernel/tracing").CombinedOutput(); merr != nil {
			t.Skipf("needs root and a kernel with tracefs: %v: %s", err, out)
		}
		f, err = tracefs.Open()
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// allEvents reads every event of the kernel, those of its own tracers included.
func allEvents(t testing.TB, fs *tracefs.FS) []*tracefs.Event {
	t.Helper()
	names, err := fs.Match("*", "*")
	if err != nil {
		t.Fatal(err)
	}
	ftrace, err := fs.Events("ftrace")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range ftrace {
		names = append(names, tracefs.Name{System: "ftrace", Event: e})
	}
	var out []*tracefs.Event
	for _, n := range names {
		ev, err := fs.Event(n.System, n.Event)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, ev)
	}
	return out
}

// TestParseAll parses the print format of every event of the running kernel.
func TestParseAll(t *testing.T) {
	parsed := 0
	functions, names := map[string]bool{}, map[string]bool{}
	for _, ev := range allEvents(t, running(t)) {
		f, err := Parse(ev.PrintFmt, ev.Fields)
		if err != nil {
			t.Errorf("%s:%s: %v\n%s", ev.System, ev.Name, err, ev.PrintFmt)
			continue
		}
		parsed++
		for _, n := range f.Functions() {
			functions[n] = true
		}
		for _, n := range f.Names() {
			names[n] = true
		}
	}
	t.Logf("%d print formats; functions of the kernel's: %s; names: %d", parsed, sorted(functions), len(names))
	if len(functions) != 0 {
		t.Errorf("functions without a value: %s", sorted(functions))
	}
}

func sorted(m map[string]bool) string {
	var out []string
	for n := range m {
		out = append(out, n)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}
