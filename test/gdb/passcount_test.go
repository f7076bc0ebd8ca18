package gdb

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

var stateVariable = regexp.MustCompile(`(?m)^\$\d+ = (-?\d+)$`)

// variableAfter runs a script and returns the numbers that `print` printed.
func variableAfter(text string) string {
	var list []string
	for _, m := range stateVariable.FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	return strings.Join(list, " ")
}

// TestPassCountVariables: no hit after the pass count is reached sets a trace state variable or adds a
// frame, as with gdbserver. (It is not used as an oracle here: version 13 cannot set registers on
// processors with AMX.)
func TestPassCountVariables(t *testing.T) {
	prog := compile(t, "gcc", "work.c", "-g", "-O0", "-pthread")
	for _, c := range []struct {
		name, script, variables string
		frames                  int
	}{
		{"condition", `tvariable $n = 0
trace work if ($n = $n + 1) > 0
passcount 3
`, "3", 3},
		{"every other", `tvariable $n = 0
tvariable $seen = 0
trace work if ($seen = $seen + 1) > 0 && n % 2 == 1
actions
teval $n = $n + n
collect n
end
passcount 4
`, "16 8", 4},
		{"another tracepoint's", `tvariable $n = 0
trace work
actions
teval $n = $n + 1
end
trace halfway
passcount 1
`, "10", 11},
		{"while-stepping", `tvariable $n = 0
trace work
actions
teval $n = $n + 1
while-stepping 3
teval $n = $n + 100
end
end
passcount 2
`, "602", 8},
		{"of the last hit", `tvariable $n = 0
trace work
actions
teval $n = $n + 1
end
passcount 20
`, "20", 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			script := "break finished\n" + c.script + "tstart\ncontinue\ntstatus\nprint $n\n"
			if strings.Contains(c.script, "$seen") {
				script += "print $seen\n"
			}
			script += "tstop\ntfind start\nkill\n"
			script = strings.Replace(script, "tstop\n", "try tstop\n", 1)
			s := talk(t, conversation{args: []string{prog, "20", "0"}, quiet: true, script: script})
			if got := variableAfter(s.text); got != c.variables {
				t.Errorf("variables %q, want %q", got, c.variables)
			}
			s.inOrder(`Trace stopped by tracepoint \d`, fmt.Sprintf(`Collected %d trace frames`, c.frames))
		})
	}
}

// TestPassCountThreads: of hits in several threads exactly so many count.
func TestPassCountThreads(t *testing.T) {
	t.Parallel()
	prog := compile(t, "gcc", "work.c", "-g", "-O2", "-pthread")
	s := talk(t, conversation{args: []string{prog, "30000", "4"}, quiet: true, script: fmt.Sprintf(`break finished
tvariable $n = 0
trace work
actions
teval $n = $n + 1
collect n
end
passcount %d
tstart
continue
tstatus
print $n
kill
`, 2500)})
	s.inOrder(`Trace stopped by tracepoint 2`, `Collected 2500 trace frames`, `= 2500$`)
}

// TestAddedVariable: the first tracepoint that sets a trace state variable, added while a trace
// runs: from then on the run ends at the hit itself, at which it would have ended without it.
func TestAddedVariable(t *testing.T) {
	prog := compile(t, "gcc", "work.c", "-g", "-O0", "-pthread")
	const adds = "trace work if ($n = $n + 1) > 0\n"
	for _, c := range []struct {
		name, loops, first, reason string
		hits, n                    string // of the first one; of the other, "": as many as it has hits
	}{
		{"pass count", "20", "trace work\npasscount 14\n", `Trace stopped by tracepoint 3`, "14", "3"},
		{"disabled and enabled", "20", "trace work\npasscount 14\ntstart\ndisable 3\nenable 3\n", `Trace stopped by tracepoint 3`, "14", "3"},
		{"while-stepping", "20", "trace work\npasscount 12\nactions\nwhile-stepping 2\ncollect $regs\nend\nend\n", `Trace stopped by tracepoint 3`, "12", "1"},
		{"full", "4000", "set trace-buffer-size 200000\ntrace work\nactions\ncollect n\nend\n", `Trace stopped because the buffer was full`, "", ""},
		{"full, with registers", "1000", "set trace-buffer-size 400000\ntrace work\nactions\ncollect $regs\nend\n", `Trace stopped because the buffer was full`, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			first, start, _ := strings.Cut(c.first, "tstart\n")
			s := talk(t, conversation{args: []string{prog, c.loops, "0"}, quiet: true, script: "break halfway\nbreak finished\ntvariable $n = 0\n" +
				first + "tstart\n" + start + "continue\n" + adds + "continue\ntstatus\ninfo tracepoints\nprint $n\nkill\n"})
			s.inOrder(c.reason)
			hits := hitTimes.FindAllStringSubmatch(s.text, -1)
			if len(hits) != 2 || c.hits != "" && hits[0][1] != c.hits {
				t.Fatalf("hits %v, want %s\n%s", hits, c.hits, s.text)
			}
			want := c.n
			if want == "" {
				want = hits[1][1]
			}
			if got := variableAfter(s.text); got != want || got == "0" || hits[1][1] != want {
				t.Errorf("the variable is %s, %s hits; want %q", got, hits[1][1], want)
			}
		})
	}
}

var hitTimes = regexp.MustCompile(`already hit (\d+) times?`)
