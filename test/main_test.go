package test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/test/testkit"
)

// Every test here runs the real program: TestMain builds it once.
var (
	jalonBin string // the built program
	tempDir  string // readable by every user; removed at the end
)

// full asks for the heavier repetitions.
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

// What the tests across packages share.
var (
	eventually = testkit.Eventually
	alive      = testkit.Alive
	tracerOf   = testkit.TracerOf
	tail       = testkit.Tail
)

const patience = testkit.Patience

var programs = testkit.Builder{From: "programs"}

// compile builds programs/SRC with a compiler and flags and returns the path of the
// program; the same build is made once only.
func compile(t testing.TB, cc, src string, flags ...string) string {
	t.Helper()
	return programs.Compile(t, tempDir, cc, src, flags...)
}

// tracedEvent is a line of `-f json`.
type tracedEvent struct {
	Time     int64
	CPU      int
	Pid, Tid int
	Comm     string
	Place    string
	Function string
	Values   map[string]any
	Errors   map[string]string
}

// num is a collected number.
func (e *tracedEvent) num(key string) int64 {
	n, ok := e.Values[key].(json.Number)
	if !ok {
		return -1 << 63
	}
	v, err := n.Int64()
	if err != nil {
		return -1 << 63
	}
	return v
}

// summary is the line of `--summary-json`.
type summary struct {
	ArmedMS                             float64 `json:"armed_ms"`
	PauseUS                             float64 `json:"pause_us"`
	Sites                               int
	Outcome                             string
	Hits, Recorded, False, Faults, Lost uint64
	Torn                                uint64
}

// result is how a run of a program ended.
type result struct {
	args   []string
	stdout string
	stderr string
	status int // 128+N when a signal ended it
}

// running is a program that a test has started. It leads a process group, which
// is killed when the test ends.
type running struct {
	t      testing.TB
	cmd    *exec.Cmd
	out    syncBuffer
	errs   syncBuffer
	ended  chan struct{}
	status int
}

// syncBuffer is a buffer that one goroutine fills and others look at.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// start starts a program in its own process group.
func start(t testing.TB, args ...string) *running {
	t.Helper()
	return startCmd(t, exec.Command(args[0], args[1:]...))
}

func startCmd(t testing.TB, cmd *exec.Cmd) *running {
	t.Helper()
	r := &running{t: t, cmd: cmd, ended: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout = &r.out
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &r.errs
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if !cmd.SysProcAttr.Setsid {
		cmd.SysProcAttr.Setpgid = true
	}
	// A child that outlives its parent keeps the pipes open; do not wait for it.
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v: %v", cmd.Args, err)
	}
	go func() {
		_ = cmd.Wait()
		if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			r.status = 128 + int(ws.Signal())
		} else {
			r.status = cmd.ProcessState.ExitCode()
		}
		close(r.ended)
	}()
	t.Cleanup(r.kill)
	return r
}

// kill ends the program's whole process group.
func (r *running) kill() {
	_ = syscall.Kill(-r.pid(), syscall.SIGKILL)
	<-r.ended
}

func (r *running) pid() int { return r.cmd.Process.Pid }

func (r *running) signal(sig syscall.Signal) {
	r.t.Helper()
	if err := syscall.Kill(r.pid(), sig); err != nil {
		r.t.Fatalf("%v: sending %v: %v", r.cmd.Args, sig, err)
	}
}

// wait waits for the end.
func (r *running) wait() *result {
	r.t.Helper()
	select {
	case <-r.ended:
	case <-time.After(patience):
		stacks := r.stateOf()
		r.kill()
		r.t.Fatalf("%v hangs\n%s\nstdout: %s\nstderr: %s", r.cmd.Args, stacks, tail(r.out.String()), tail(r.errs.String()))
	}
	res := &result{args: r.cmd.Args, stdout: r.out.String(), stderr: r.errs.String(), status: r.status}
	noPanic(r.t, res.args, res.stderr)
	return res
}

// stateOf tells what the threads of the group's processes are doing.
func (r *running) stateOf() string {
	out, _ := exec.Command("ps", "-L", "-o", "pid,tid,stat,wchan:20,comm", "-g", fmt.Sprint(r.pid())).CombinedOutput()
	return string(out)
}

// noPanic: no user ever sees a Go panic.
func noPanic(t testing.TB, args []string, stderr string) {
	t.Helper()
	for _, word := range []string{"goroutine ", "BUG:", "panic:", "fatal error:", "DATA RACE"} {
		if strings.Contains(stderr, word) {
			t.Errorf("%v: %q in the error output:\n%s", args, word, stderr)
			return
		}
	}
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

// traced is a finished `jalon trace` with events in a file, so that standard
// output is the program's alone.
type traced struct {
	*result
	events []tracedEvent
	sum    summary
}

// trace runs `jalon trace -f json -o FILE --summary-json ARGS` and parses what it
// wrote. args hold the places, options, "--" and the program.
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
	s, ok := findSummary(r.stderr)
	if !ok {
		t.Fatalf("%v: no summary; status %d, error output:\n%s", r.args, r.status, tail(r.stderr))
	}
	return s
}

func findSummary(stderr string) (s summary, ok bool) {
	for _, line := range strings.Split(stderr, "\n") {
		if i := strings.Index(line, `{"armed_ms":`); i >= 0 && json.Unmarshal([]byte(line[i:]), &s) == nil {
			return s, true
		}
	}
	return s, false
}

// readEvents parses a file of JSON lines.
func readEvents(t testing.TB, file string) []tracedEvent {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var events []tracedEvent
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		events = append(events, parseEvent(t, sc.Bytes()))
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return events
}

func parseEvent(t testing.TB, line []byte) tracedEvent {
	t.Helper()
	var e tracedEvent
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	if err := d.Decode(&e); err != nil {
		t.Fatalf("not an event: %v\n%s", err, line)
	}
	return e
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

// need fails the test when a program that it is about is not installed: `make
// test` installs them all.
func need(t testing.TB, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			if errors.Is(err, exec.ErrNotFound) {
				t.Fatalf("%s is not installed; `make test` installs what the tests need", p)
			}
			t.Fatal(err)
		}
	}
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
