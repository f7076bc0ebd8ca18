package gdb

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	collected = regexp.MustCompile(`Collected (\d+) trace frames`)
	created   = regexp.MustCompile(`of (\d+) created total`)
)

// TestFullBufferVariables: a hit without room for its frame does not set trace state variables by its
// actions, and later hits have no effect: there are as many frames as counted hits. gdbserver's buffer
// behaves in the same way. (It is not used as an oracle here: version 13 cannot set registers on processors
// with AMX.) A circular buffer never ends a trace.
func TestFullBufferVariables(t *testing.T) {
	prog := compile(t, "gcc", "work.c", "-g", "-O2", "-pthread")
	for _, c := range []struct {
		name, args, script string
		// more is the difference between $n and the number of frames: the condition of the hit without room
		// has counted that hit.
		more     int
		circular bool
	}{
		{"action", "30000 0", `trace work
actions
teval $n = $n + 1
collect n, $regs
end
`, 0, false},
		{"condition", "30000 0", `trace work if ($n = $n + 1) > 0
actions
collect n, $regs
end
`, 1, false},
		{"threads", "30000 4", `trace work
actions
collect n
teval $n = $n + 1
end
`, 0, false},
		{"two tracepoints", "30000 2", `trace work
actions
collect n
teval $n = $n + 1
end
trace *work if n % 3 == 0
actions
collect $regs
teval $n = $n + 1
end
`, 0, false},
		{"while-stepping", "2000 0", `trace work
actions
teval $n = $n + 1
collect $regs
while-stepping 2
teval $n = $n + 1
collect $regs
end
end
`, 0, false},
		{"circular", "30000 2", `set circular-trace-buffer on
trace work
actions
collect n
teval $n = $n + 1
end
`, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			script := "break finished\nset trace-buffer-size 100000\ntvariable $n = 0\n" + c.script + "tstart\ncontinue\n"
			if c.circular {
				script += "tstop\n"
			}
			script += "tstatus\nprint $n\nkill\n"
			s := talk(t, conversation{args: append([]string{prog}, strings.Fields(c.args)...), quiet: true, script: script})
			if !c.circular {
				s.inOrder(`Trace stopped because the buffer was full`)
			}
			frames := created
			if !c.circular {
				frames = collected
			}
			n := frames.FindStringSubmatch(s.text)
			if n == nil {
				t.Fatalf("no number of frames in\n%s", s.text)
			}
			got, want := atoi(t, variableAfter(s.text)), atoi(t, n[1])+c.more
			if got != want || want < 30 {
				t.Errorf("the variable is %d, and %s frames are there", got, n[1])
			}
		})
	}
}

func atoi(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
