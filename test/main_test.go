package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// Every test here runs the real program: TestMain builds it once.
var (
	jalonBin string // the built program
	tempDir  string // readable by every user; removed at the end
)

// full enables the heavier repetitions.
var full = os.Getenv("JALON_FULL") != ""

func TestMain(m *testing.M) {
	os.Exit(withJalon(m.Run))
}

// withJalon builds jalon once for all tests.
func withJalon(run func() int) int {
	return testkit.WithJalon("../cmd/jalon", func(dir, bin string) int {
		tempDir, jalonBin = dir, bin
		return run()
	})
}

// State that all tests share.
var (
	eventually = testkit.Eventually
	alive      = testkit.Alive
	tracerOf   = testkit.TracerOf
	tail       = testkit.Tail
	need       = testkit.Need
	readEvents = testkit.ReadEvents
)

const patience = testkit.Patience

var programs = testkit.Builder{From: "programs"}

// compile builds programs/SRC with a compiler and flags and returns the path of the
// program; the same build is made once only.
func compile(t testing.TB, cc, src string, flags ...string) string {
	t.Helper()
	return programs.Compile(t, tempDir, cc, src, flags...)
}

// Parsing of jalon's output.
type (
	event   = testkit.Event
	summary = testkit.Totals
)

// result is how a run of a program ended.
type result struct {
	args   []string
	stdout string
	stderr string
	status int // 128+N when a signal ended it
}

// running is a program that a test has started.
type running struct{ *testkit.Process }

// start starts a program in its own process group.
func start(t testing.TB, args ...string) *running {
	t.Helper()
	return &running{testkit.Start(t, args...)}
}

func startCmd(t testing.TB, cmd *exec.Cmd) *running {
	t.Helper()
	return &running{testkit.StartCmd(t, cmd)}
}

// wait waits for the end.
func (r *running) wait() *result {
	r.T.Helper()
	r.Wait()
	return &result{args: r.Cmd.Args, stdout: r.Out.String(), stderr: r.Errs.String(), status: r.Status}
}

// run runs a program to its end.
func run(t testing.TB, args ...string) *result {
	t.Helper()
	return start(t, args...).wait()
}

// runInput is run with something on standard input.
func runInput(t testing.TB, input string, args ...string) *result {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin = strings.NewReader(input)
	return startCmd(t, cmd).wait()
}

// jalonArgs is the command line of jalon with args.
func jalonArgs(args ...string) []string { return append([]string{jalonBin}, args...) }

// jalon runs jalon with args to its end.
func jalon(t testing.TB, args ...string) *result {
	t.Helper()
	return run(t, jalonArgs(args...)...)
}

// traced is a finished `jalon trace` with its events in a file, so that standard output has only the
// program's output.
type traced struct {
	*result
	events []event
	sum    summary
}

// trace runs `jalon trace -f json -o FILE --summary-json ARGS` and parses its output. args hold the places,
// options, "--" and the program.
func trace(t testing.TB, args ...string) *traced {
	t.Helper()
	return traceInput(t, "", args...)
}

func traceInput(t testing.TB, input string, args ...string) *traced {
	t.Helper()
	file := filepath.Join(t.TempDir(), "events")
	r := runInput(t, input, jalonArgs(append([]string{"trace", "-f", "json", "-o", file, "--summary-json"}, args...)...)...)
	tr := &traced{result: r}
	tr.sum = summaryOf(t, r)
	tr.events = readEvents(t, file)
	return tr
}

// summaryOf finds the line of --summary-json in the error output.
func summaryOf(t testing.TB, r *result) summary {
	t.Helper()
	return testkit.TotalsOf(t, fmt.Sprintf("%v, status %d", r.args, r.status), r.stderr)
}

// childOf is the one child of a process; 0 = none yet.
func childOf(pid int) int {
	var child int
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, f := range tasks {
		b, _ := os.ReadFile(f)
		if _, err := fmt.Sscan(string(b), &child); err == nil {
			return child
		}
	}
	return 0
}

// equal fails the test when a traced program did something else than the
// untraced one.
func equal(t testing.TB, what, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	from := max(0, i-200)
	t.Errorf("%s differs at byte %d (lengths %d, %d)\n got: ...%q\nwant: ...%q", what, i, len(got), len(want),
		got[from:min(len(got), i+200)], want[from:min(len(want), i+200)])
}
