package gdb

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// TestFilesOfVariables: a file of GDB's `save tracepoints` with trace state variables has the same frames and the same values at the end in
// `jalon trace -x` as in GDB in front of `jalon gdbserver`.
func TestFilesOfVariables(t *testing.T) {
	prog := compile(t, "gcc", "work.c", "-g", "-O0", "-pthread")
	for _, c := range []struct {
		name, script string
		variables    []string // at the end, and in the frames if fields has them
		fields       []string // integers of the frames
	}{
		{"count", `tvariable $n
trace work
actions
teval $n = $n + 1
collect n, $n
end
`, []string{"$n"}, []string{"n", "$n"}},
		{"order", `tvariable $n = 100
tvariable $last = -7
trace work if n % 3 == 0
actions
collect $n, n, $last
teval $n = $n + n * 2, $last = n + 0
collect p->x
teval $last = $last * $n
end
`, []string{"$n", "$last"}, []string{"$n", "n", "$last", "p->x"}},
		{"condition", `tvariable $seen = 5
tvariable $sum
trace work if ($seen = $seen + 1) % 2 == 0 && n > 2
actions
collect n
teval $sum = $sum - (p->y << 1)
end
`, []string{"$seen", "$sum"}, []string{"n"}},
		{"several", `tvariable $calls
tvariable $half = 0x10
trace work if $half == 16
actions
teval $calls = $calls + 1
collect n, $calls
end
trace halfway
actions
teval $half = 0
end
`, []string{"$calls", "$half"}, nil},
		{"passcount", `tvariable $n
tvariable $all
trace work if ($all = $all + 1) > 0
actions
teval $n = $n + n
collect n
end
passcount 4
`, []string{"$n", "$all"}, []string{"n"}},
		{"unfulfilled", `tvariable $n
trace work if $n > 3
actions
teval $n = $n + 1
end
`, []string{"$n"}, nil},
		{"wild", `tvariable $n
tvariable $behind
trace work
actions
teval $n = $n + *(long *)8
collect n
end
`, []string{"$n", "$behind"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "saved.tp")
			script := "break finished\n" + c.script + "save tracepoints " + file + "\ntstart\ncontinue\ntry tstop\n"
			script += "tfind none\n"
			for _, v := range c.variables {
				script += fmt.Sprintf("printf \"at the end %%s %%ld\\n\", \"%s\", %s\n", v[1:], v)
			}
			if c.fields != nil {
				script += "tfind start\nwhile $trace_frame != -1\nprintf \"frame"
				script += strings.Repeat(" %ld", len(c.fields)) + "\\n\", " + strings.Join(c.fields, ", ") + "\ntfind\nend\n"
			}
			s := talk(t, conversation{args: []string{prog, "20", "0"}, quiet: true, script: script + "tfind none\nkill\n"})

			out, err := os.CreateTemp(t.TempDir(), "events")
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(jalonBin, "trace", "-q", "-x", file, "-f", "json", "-o", out.Name(), "--summary-json", "--", prog, "20", "0")
			text, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			for _, v := range c.variables {
				want := ""
				for line := range strings.Lines(s.text) {
					if rest, ok := strings.CutPrefix(line, "at the end "+v[1:]+" "); ok {
						want = strings.TrimSpace(rest)
					}
				}
				if want == "" || !strings.Contains(string(text), fmt.Sprintf("%q:%s", v[1:], want)) {
					t.Errorf("%s is %q in GDB; here:\n%s", v, want, text)
				}
			}
			if c.fields == nil {
				return
			}
			var frames, events strings.Builder
			for line := range strings.Lines(s.text) {
				if strings.HasPrefix(line, "frame ") {
					frames.WriteString(line)
				}
			}
			for _, e := range testkit.ParseEvents(t, out) {
				events.WriteString("frame")
				for _, f := range c.fields {
					fmt.Fprintf(&events, " %d", e.Num(t, f))
				}
				events.WriteByte('\n')
			}
			if frames.String() != events.String() || frames.Len() == 0 {
				t.Errorf("frames in GDB:\n%sevents:\n%s", frames.String(), events.String())
			}
		})
	}
}
