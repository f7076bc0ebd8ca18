// Package gdb tests jalon gdbserver as its user has it: a real GDB runs scripts
// against it, on programs that do known things. What GDB prints is compared with
// goldens where every machine prints the same; `go test -update` renews them.
package gdb

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
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

	update = flag.Bool("update", false, "renew the goldens")
)

// full asks for the heavier repetitions.
var full = os.Getenv("JALON_FULL") != ""

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(withJalon(m.Run))
}

// withJalon builds jalon once for all tests.
func withJalon(run func() int) int {
	return testkit.WithJalon("../../cmd/jalon", func(dir, bin string) int {
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
	need(t, cc)
	return programs.Compile(t, tempDir, cc, src, flags...)
}

// need fails the test when a program that it is about is not installed: `make test`
// installs them all.
func need(t testing.TB, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Fatalf("%v; `make test` installs what the tests need", err)
		}
	}
}

// running is a program that a test has started. It leads a process group, which is
// killed when the test ends.
type running struct {
	t      testing.TB
	cmd    *exec.Cmd
	out    syncBuffer
	errs   syncBuffer
	ended  chan struct{}
	status int // 128+N when a signal ended it
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
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
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
func (r *running) wait() {
	r.t.Helper()
	select {
	case <-r.ended:
	case <-time.After(patience):
		r.kill()
		r.t.Fatalf("%v hangs\nstdout: %v\nstderr: %v", r.cmd.Args, r.cmd.Stdout, r.cmd.Stderr)
	}
	for _, word := range []string{"goroutine ", "BUG:", "panic:", "fatal error:", "DATA RACE"} {
		if strings.Contains(r.errs.String(), word) {
			r.t.Errorf("%v: %q in the error output:\n%s", r.cmd.Args, word, r.errs.String())
			return
		}
	}
}

// says waits until the program has written text.
func (r *running) says(text string) {
	r.t.Helper()
	eventually(r.t, fmt.Sprintf("%v writes %q", r.cmd.Args, text), func() bool {
		return strings.Contains(r.out.String(), text) || strings.Contains(r.errs.String(), text)
	})
}
