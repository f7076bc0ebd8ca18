// Package kernel tests the kernel engine as its user has it: jalon is built once and
// run on programs that do known things. Everything here needs root, and a kernel with
// tracefs and BTF; what cannot be tested is skipped, counted and named at the end.
package kernel

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

var (
	jalonBin string
	tempDir  string // readable by every user; removed at the end

	skipMu  sync.Mutex
	skipped []string
)

// full asks for the heavier repetitions.
var full = os.Getenv("JALON_FULL") != ""

// tracefs is where the kernel's tracing files are.
const tracefs = "/sys/kernel/tracing"

func TestMain(m *testing.M) { os.Exit(withJalon(m.Run)) }

// cannot says why no test here can run.
func cannot() string {
	if os.Geteuid() != 0 {
		return "they need root"
	}
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err != nil {
		return "the kernel does not describe its types"
	}
	if _, err := os.Stat(tracefs + "/events"); err != nil {
		if err := syscall.Mount("tracefs", tracefs, "tracefs", 0, ""); err != nil {
			return "tracefs cannot be mounted: " + err.Error()
		}
	}
	return ""
}

// withJalon builds jalon once for all tests.
func withJalon(run func() int) int {
	if why := cannot(); why != "" {
		fmt.Printf("skipped all tests of the kernel engine: %s\n", why)
		return 0
	}
	return testkit.WithJalon("../../cmd/jalon", func(dir, bin string) int {
		tempDir, jalonBin = dir, bin
		code := run()
		if len(skipped) > 0 {
			fmt.Printf("skipped %d tests: %s\n", len(skipped), strings.Join(skipped, "; "))
		}
		return code
	})
}

const patience = testkit.Patience

var programs = testkit.Builder{From: "testdata"}

// compile builds testdata/SRC with a compiler and flags and returns the path of the
// program; the same build is made once only.
func compile(t testing.TB, cc, src string, flags ...string) string {
	t.Helper()
	return programs.Compile(t, tempDir, cc, src, flags...)
}

// skip leaves a test out for what this machine lacks, and counts it.
func skip(t *testing.T, why string) {
	t.Helper()
	skipMu.Lock()
	skipped = append(skipped, t.Name()+" ("+why+")")
	skipMu.Unlock()
	t.Skip(why)
}

// tool is the path of a program that a test needs beside jalon.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		skip(t, "there is no "+name)
	}
	return path
}

// things is the program that does known things.
func things(t testing.TB) string {
	return compile(t, "gcc", "things.c", "-g", "-O1", "-Wall", "-pthread")
}

// process is a program that a test has started; it is ended with the test.
type process struct {
	t      testing.TB
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    lines
	errs   lines
	ended  chan struct{}
	status int // 128+N when a signal ended it
}

// lines collects output and tells those who wait for a text in it.
type lines struct {
	mu      sync.Mutex
	b       bytes.Buffer
	waiting []func(string) bool
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Write(p)
	text := l.b.String()
	var rest []func(string) bool
	for _, f := range l.waiting {
		if !f(text) {
			rest = append(rest, f)
		}
	}
	l.waiting = rest
	return len(p), nil
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// has gives a channel that is closed when the text is there.
func (l *lines) has(text string) <-chan struct{} {
	c := make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	f := func(s string) bool {
		if !strings.Contains(s, text) {
			return false
		}
		close(c)
		return true
	}
	if !f(l.b.String()) {
		l.waiting = append(l.waiting, f)
	}
	return c
}

// start starts a program in a process group of its own.
func start(t testing.TB, args ...string) *process {
	t.Helper()
	return startCmd(t, exec.Command(args[0], args[1:]...))
}

func startCmd(t testing.TB, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{t: t, cmd: cmd, ended: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout = &p.out
	}
	cmd.Stderr = &p.errs
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	}
	cmd.WaitDelay = 5 * time.Second // a grandchild may keep the pipes
	var err error
	if cmd.Stdin == nil {
		if p.in, err = cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v: %v", cmd.Args, err)
	}
	go func() {
		_ = cmd.Wait()
		if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			p.status = 128 + int(ws.Signal())
		} else {
			p.status = cmd.ProcessState.ExitCode()
		}
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-p.pid(), syscall.SIGKILL)
		<-p.ended
	})
	return p
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) signal(sig syscall.Signal) {
	p.t.Helper()
	if err := syscall.Kill(p.pid(), sig); err != nil {
		p.t.Fatalf("%v: %v: %v", p.cmd.Args, sig, err)
	}
}

// tell writes a line to the program.
func (p *process) tell(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatalf("%v: %v", p.cmd.Args, err)
	}
}

// wait waits for the end.
func (p *process) wait() *process {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("%v hangs\nstdout: %s\nstderr: %s", p.cmd.Args, p.out.String(), p.errs.String())
	}
	for _, word := range []string{"goroutine ", "BUG:", "panic:", "DATA RACE"} {
		if strings.Contains(p.errs.String(), word) {
			p.t.Errorf("%v: %q in the error output:\n%s", p.cmd.Args, word, p.errs.String())
		}
	}
	return p
}

// awaitOut and awaitErr wait for a text in the output.
func (p *process) awaitOut(text string) *process { p.t.Helper(); return p.await(&p.out, text) }
func (p *process) awaitErr(text string) *process { p.t.Helper(); return p.await(&p.errs, text) }

func (p *process) await(l *lines, text string) *process {
	p.t.Helper()
	select {
	case <-l.has(text):
		return p
	case <-time.After(patience):
	case <-p.ended:
		select {
		case <-l.has(text):
			return p
		default:
		}
	}
	p.t.Fatalf("%v: no %q\nstdout: %s\nstderr: %s", p.cmd.Args, text, p.out.String(), p.errs.String())
	return nil
}

// jalon runs jalon to its end.
func jalon(t testing.TB, args ...string) *process {
	t.Helper()
	return start(t, append([]string{jalonBin}, args...)...).wait()
}

// event is a line of `-f json`.
type event struct {
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
func (e *event) num(t testing.TB, key string) int64 {
	t.Helper()
	n, ok := e.Values[key].(json.Number)
	if !ok {
		t.Fatalf("%s of %+v is no number", key, e)
	}
	v, err := n.Int64()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (e *event) str(key string) string {
	s, _ := e.Values[key].(string)
	return s
}

// text is what the kernel would print of the event's own record.
func (e *event) text() string {
	m, _ := e.Values["$_sdata"].(map[string]any)
	s, _ := m["text"].(string)
	return s
}

// counts is the line of --summary-json.
type counts struct {
	Sites                                       int
	Outcome                                     string
	Hits, Recorded, False, Faults, Lost, Missed uint64
	Torn                                        uint64
}

// trace is a `jalon trace` that writes its events to a file.
type trace struct {
	*process
	file string
}

// begin starts `jalon trace ARGS` with events as JSON in a file and a summary.
func begin(t testing.TB, args ...string) *trace {
	t.Helper()
	return beginCmd(t, func(c *exec.Cmd) {}, args...)
}

func beginCmd(t testing.TB, adapt func(*exec.Cmd), args ...string) *trace {
	t.Helper()
	file := filepath.Join(t.TempDir(), "events")
	all := append([]string{"trace", "-f", "json", "-o", file, "--summary-json", "-v"}, args...)
	cmd := exec.Command(jalonBin, all...)
	adapt(cmd)
	return &trace{startCmd(t, cmd), file}
}

// armed waits until the sites are there.
func (tr *trace) armed() *trace {
	tr.t.Helper()
	tr.awaitErr("armed after")
	return tr
}

// stop ends the trace by SIGINT.
func (tr *trace) stop() *trace {
	tr.t.Helper()
	tr.signal(syscall.SIGINT)
	tr.wait()
	return tr
}

// run traces to the end of the program behind "--".
func run(t testing.TB, args ...string) *trace {
	t.Helper()
	tr := begin(t, args...)
	tr.wait()
	return tr
}

func (tr *trace) counts() counts {
	tr.t.Helper()
	for line := range strings.Lines(tr.errs.String()) {
		var c counts
		if i := strings.Index(line, `{"armed_ms":`); i >= 0 && json.Unmarshal([]byte(line[i:]), &c) == nil {
			return c
		}
	}
	tr.t.Fatalf("%v: no summary; status %d\n%s", tr.cmd.Args, tr.status, tr.errs.String())
	return counts{}
}

func (tr *trace) events() []event {
	tr.t.Helper()
	return readEvents(tr.t, tr.file)
}

func readEvents(t testing.TB, file string) []event {
	t.Helper()
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []event
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		d := json.NewDecoder(bytes.NewReader(sc.Bytes()))
		d.UseNumber()
		var e event
		if err := d.Decode(&e); err != nil {
			t.Fatalf("%v: %s", err, sc.Text())
		}
		out = append(out, e)
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// check complains when a count is not as it must be.
func (tr *trace) check(what string, got, want uint64) {
	tr.t.Helper()
	if got != want {
		tr.t.Errorf("%v: %s: %d, want %d\n%s", tr.cmd.Args[8:], what, got, want, tr.errs.String())
	}
}

// beginIn is begin in a directory.
func beginIn(t testing.TB, dir string, args ...string) *trace {
	t.Helper()
	return beginCmd(t, func(c *exec.Cmd) { c.Dir = dir }, args...)
}

func (tr *trace) wait() *trace {
	tr.t.Helper()
	tr.process.wait()
	return tr
}
