package runner

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestCountersOfProgram: timers and counters of a script with a program have the hits of this program and of the processes that it
// starts, and no others, whichever probes the script has beside them.
func TestCountersOfProgram(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("counters need root")
	}
	const counter = `software:page-faults:1 { @[comm] = count(); }`
	for _, src := range []string{
		counter,
		counter + ` tracepoint:sched:sched_process_exit /comm == "none"/ { printf("none\n"); }`,
		counter + ` interval:s:100 { printf("%d\n", tid); }`,
	} {
		out, _ := runScript(t, src, Options{Argv: []string{"/bin/sh", "-c", "cat /dev/null; true"}})
		var names []string
		for line := range strings.Lines(out) {
			name, _, _ := strings.Cut(strings.TrimPrefix(line, "@["), "]")
			names = append(names, name)
		}
		slices.Sort(names)
		if want := []string{"cat", "sh"}; !slices.Equal(names, want) {
			t.Errorf("%s\nhits of %q, want %q", src, names, want)
		}
	}
}
