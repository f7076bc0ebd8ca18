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
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var (
	jalonBin string
	tempDir  string // readable by every user; removed at the end

	update = flag.Bool("update", false, "renew the goldens")
)

// full asks for the heavier repetitions.
var full = os.Getenv("JALON_FULL") != ""

// patience is how long one GDB or program may take before it counts as hanging.
const patience = 90 * time.Second

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(withJalon(m.Run))
}

func withJalon(run func() int) int {
	dir, err := os.MkdirTemp("", "jalon-gdb-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	tempDir, jalonBin = dir, filepath.Join(dir, "jalon")
	cmd := exec.Command("go", "build", "-o", jalonBin, "../../cmd/jalon")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building jalon: %v\n%s", err, out)
		return 1
	}
	return run()
}

var built struct {
	sync.Mutex
	byKey map[string]string
}

// compile builds programs/SRC with a compiler and flags and returns the path of the
// program; the same build is made once only. Names in flags that begin with "@" are
// files of programs/.
func compile(t testing.TB, cc, src string, flags ...string) string {
	t.Helper()
	need(t, cc)
	abs := func(name string) string {
		path, err := filepath.Abs(filepath.Join("programs", name))
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	key := fmt.Sprint(cc, src, flags)
	built.Lock()
	defer built.Unlock()
	if out := built.byKey[key]; out != "" {
		return out
	}
	base := strings.TrimSuffix(filepath.Base(src), filepath.Ext(src))
	dir, err := os.MkdirTemp(tempDir, base+"-")
	if err != nil {
		t.Fatal(err)
	}
	_ = os.Chmod(dir, 0o755)
	bin := filepath.Join(dir, base)
	args := []string{"-o", bin, abs(src)}
	if cc == "go" {
		args = []string{"build", "-o", bin}
	}
	for _, f := range flags { // last, so that libraries (-l) find their users
		if name, ok := strings.CutPrefix(f, "@"); ok {
			f = abs(name)
		}
		args = append(args, f)
	}
	if cc == "go" {
		args = append(args, abs(src))
	}
	cmd := exec.Command(cc, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	if built.byKey == nil {
		built.byKey = map[string]string{}
	}
	built.byKey[key] = bin
	return bin
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

// eventually waits for a condition; what names it in the failure.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// alive tells whether a process exists and is not a zombie.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return rest != "" && rest[0] != 'Z' && rest[0] != 'X'
}

// tracerOf is the pid of a process's tracer; 0 = none.
func tracerOf(pid int) int {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for _, line := range strings.Split(string(b), "\n") {
		var n int
		if _, err := fmt.Sscanf(line, "TracerPid: %d", &n); err == nil {
			return n
		}
	}
	return 0
}

// tail is the end of a long text.
func tail(s string) string {
	const limit = 4000
	if len(s) <= limit {
		return s
	}
	return "..." + s[len(s)-limit:]
}
