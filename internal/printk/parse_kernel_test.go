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

// kernelsOwn are functions that decode hardware's commands, which only the kernel
// can call. Linux 6.18 as configured here has events with none of them.
var kernelsOwn = []string{
	"decode_prq_descriptor", "xen_hypercall_name",
	"nvme_trace_disk_name", "nvme_trace_parse_admin_cmd", "nvme_trace_parse_fabrics_cmd", "nvme_trace_parse_nvm_cmd",
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
	for _, known := range kernelsOwn {
		delete(functions, known)
	}
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
