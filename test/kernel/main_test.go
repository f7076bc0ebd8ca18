// Package kernel tests the kernel engine by the jalon command on known programs. All tests need root, and a
// kernel with tracefs and BTF; skipped tests are counted and named at the end.
package kernel

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

var (
	jalonBin string
	tempDir  string // readable by every user; removed at the end

	skipMu  sync.Mutex
	skipped []string
)

// full enables the heavier repetitions.
var full = os.Getenv("JALON_FULL") != ""

// tracefs is where the kernel's tracing files are.
const tracefs = "/sys/kernel/tracing"

func TestMain(m *testing.M) { os.Exit(withJalon(m.Run)) }

// cannot is why no test of this package can run.
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
	release, err := testkit.HoldKernel(true)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer release()
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

// skip skips and counts a test if this machine lacks a feature.
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

// process is a program started and controlled by a test.
type process = testkit.Process

// start starts a program in a process group of its own.
func start(t testing.TB, args ...string) *process {
	t.Helper()
	return startCmd(t, exec.Command(args[0], args[1:]...))
}

func startCmd(t testing.TB, cmd *exec.Cmd) *process {
	t.Helper()
	if cmd.Stdin != nil {
		return testkit.StartCmd(t, cmd)
	}
	return testkit.StartTold(t, cmd)
}

// jalon runs jalon to its end.
func jalon(t testing.TB, args ...string) *process {
	t.Helper()
	return start(t, append([]string{jalonBin}, args...)...).Wait()
}

// Parsing of jalon's output.
type (
	event  = testkit.Event
	counts = testkit.Totals
)

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
	tr := &trace{startCmd(t, cmd), file}
	name, _, _ := strings.Cut(t.Name(), "/")
	c := &testkit.Count{Table: "beside other tracers", Name: name, Rounds: 1} // when part of `make torture`
	testkit.Counted(t, c)
	t.Cleanup(func() {
		sum, _ := testkit.FindTotals(tr.Errs.String())
		c.Sites, c.Hits = uint64(sum.Sites), sum.Hits
	})
	return tr
}

// armed waits until the sites are armed.
func (tr *trace) armed() *trace {
	tr.T.Helper()
	tr.AwaitErr("armed after")
	return tr
}

// stop ends the trace by SIGINT.
func (tr *trace) stop() *trace {
	tr.T.Helper()
	tr.Signal(syscall.SIGINT)
	tr.wait()
	return tr
}

// run traces until the program after "--" ends.
func run(t testing.TB, args ...string) *trace {
	t.Helper()
	tr := begin(t, args...)
	tr.wait()
	return tr
}

func (tr *trace) counts() counts {
	tr.T.Helper()
	return testkit.TotalsOf(tr.T, fmt.Sprintf("%v, status %d", tr.Cmd.Args, tr.Status), tr.Errs.String())
}

// events are those of the file; none, if jalon did not come to make it.
func (tr *trace) events() []event {
	tr.T.Helper()
	if _, err := os.Stat(tr.file); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return testkit.ReadEvents(tr.T, tr.file)
}

// check complains when a count is not as it must be.
func (tr *trace) check(what string, got, want uint64) {
	tr.T.Helper()
	if got != want {
		tr.T.Errorf("%v: %s: %d, want %d\n%s", tr.Cmd.Args[8:], what, got, want, tr.Errs.String())
	}
}

// beginIn is begin in a directory.
func beginIn(t testing.TB, dir string, args ...string) *trace {
	t.Helper()
	return beginCmd(t, func(c *exec.Cmd) { c.Dir = dir }, args...)
}

func (tr *trace) wait() *trace {
	tr.T.Helper()
	tr.process.Wait()
	return tr
}
