package testkit

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Process is a program that a test has started. It leads a process group, which is
// killed when the test ends.
type Process struct {
	T     testing.TB
	Cmd   *exec.Cmd
	In    io.Writer // of a program that StartTold started
	Out   Output    // unless the command writes elsewhere
	Errs  Output
	Ended chan struct{} // closed at the end; then Status holds
	// Status is the exit status; 128+N when a signal ended the program.
	Status int
	// empty: no process of the group was left when the program had ended. Its number may
	// then be another's.
	empty bool
}

// Start starts a program in a process group of its own.
func Start(t testing.TB, args ...string) *Process {
	t.Helper()
	return StartCmd(t, exec.Command(args[0], args[1:]...))
}

// StartTold starts a program that the test controls through its standard input.
func StartTold(t testing.TB, cmd *exec.Cmd) *Process {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p := StartCmd(t, cmd)
	p.In = in
	return p
}

// StartReady starts a program that writes a byte when it has reached the point for the test, and kills it
// when the test ends. Nothing waits for the program meanwhile, so that the test can trace it by ptrace
// (StartCmd would take its stops).
func StartReady(t testing.TB, cmd *exec.Cmd) (pid int) {
	t.Helper()
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v: %v", cmd.Args, err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		t.Fatalf("%v did not come to its place: %v", cmd.Args, err)
	}
	return cmd.Process.Pid
}

// started holds the programs that have not ended.
var started sync.Map

// StartCmd is Start for a command that was prepared.
func StartCmd(t testing.TB, cmd *exec.Cmd) *Process {
	t.Helper()
	p := &Process{T: t, Cmd: cmd, Ended: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout = &p.Out
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &p.Errs
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
	started.Store(p, nil)
	go func() {
		_ = cmd.Wait()
		started.Delete(p)
		if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			p.Status = 128 + int(ws.Signal())
		} else {
			p.Status = cmd.ProcessState.ExitCode()
		}
		p.empty = syscall.Kill(-p.Pid(), 0) == syscall.ESRCH
		close(p.Ended)
	}()
	t.Cleanup(p.Kill)
	return p
}

// Kill ends the program's whole process group, with processes that the program has left running.
func (p *Process) Kill() {
	select {
	case <-p.Ended:
		if p.empty {
			return
		}
	default:
	}
	_ = syscall.Kill(-p.Pid(), syscall.SIGKILL)
	<-p.Ended
}

// Pid is the program's process.
func (p *Process) Pid() int { return p.Cmd.Process.Pid }

// Signal sends the program a signal.
func (p *Process) Signal(sig syscall.Signal) {
	p.T.Helper()
	if err := syscall.Kill(p.Pid(), sig); err != nil {
		p.T.Fatalf("%v: sending %v: %v", p.Cmd.Args, sig, err)
	}
}

// Send writes a line to the program.
func (p *Process) Send(line string) {
	p.T.Helper()
	if _, err := io.WriteString(p.In, line+"\n"); err != nil {
		p.T.Fatalf("%v: %v", p.Cmd.Args, err)
	}
}

// Wait waits for the end. No user ever sees a Go panic, whatever the program is.
func (p *Process) Wait() *Process {
	p.T.Helper()
	select {
	case <-p.Ended:
	case <-time.After(Patience):
		p.T.Fatal(p.hangs())
	}
	NoPanic(p.T, p.Cmd.Args, p.Errs.String())
	return p
}

// hangs kills a hanging program and returns what it was doing.
func (p *Process) hangs() string {
	state := p.StateOf()
	p.stacks()
	p.Kill()
	return fmt.Sprintf("%v hangs\n%s\nstdout: %s\nstderr: %s", p.Cmd.Args, state, Tail(p.Out.String()), p.Errs.String())
}

// hanging calls hangs for every program that still runs. Tests that run in parallel share the list: when
// one fails, the programs of the others end too.
func hanging() string {
	var list strings.Builder
	started.Range(func(p, _ any) bool {
		list.WriteString("\n" + p.(*Process).hangs())
		return true
	})
	return list.String()
}

// StateOf lists what the threads of the group's processes are doing.
func (p *Process) StateOf() string {
	out, _ := exec.Command("ps", "-eLo", "pgid,pid,tid,stat,wchan:20,comm").CombinedOutput()
	var list strings.Builder
	for _, line := range strings.SplitAfter(string(out), "\n") {
		if f := strings.Fields(line); len(f) > 0 && (f[0] == "PGID" || f[0] == fmt.Sprint(p.Pid())) {
			list.WriteString(line)
		}
	}
	return list.String()
}

// stacks makes a hanging Go program print its goroutines: it may treat the first SIGQUIT as a request to
// end, but not the second. Other programs end.
func (p *Process) stacks() {
	for range 2 {
		_ = syscall.Kill(p.Pid(), syscall.SIGQUIT)
		select {
		case <-p.Ended:
			return
		case <-time.After(2 * time.Second):
		}
	}
}

func (p *Process) said() string {
	return fmt.Sprintf("stdout: %s\nstderr: %s", Tail(p.Out.String()), Tail(p.Errs.String()))
}

// AwaitOut waits until the program has written text to its standard output, AwaitErr to its standard error,
// Says to either. They fail if the program ends before.
func (p *Process) AwaitOut(text string) *Process {
	p.T.Helper()
	p.await(text, p.Out.Has(text), nil)
	return p
}

// AwaitErr is AwaitOut for the standard error.
func (p *Process) AwaitErr(text string) *Process {
	p.T.Helper()
	p.await(text, p.Errs.Has(text), nil)
	return p
}

// Says waits for text on standard output or standard error.
func (p *Process) Says(text string) *Process {
	p.T.Helper()
	p.await(text, p.Out.Has(text), p.Errs.Has(text))
	return p
}

func (p *Process) await(text string, a, b <-chan struct{}) {
	p.T.Helper()
	select {
	case <-a:
		return
	case <-b:
		return
	case <-time.After(Patience):
	case <-p.Ended: // all its output has been read
		select {
		case <-a:
			return
		case <-b:
			return
		default:
		}
	}
	p.T.Fatalf("%v did not write %q\n%s", p.Cmd.Args, text, p.said())
}

// NoPanic fails the test if an error output contains text that only a bug of jalon prints.
func NoPanic(t testing.TB, args []string, stderr string) {
	t.Helper()
	for _, word := range []string{"goroutine ", "BUG:", "panic:", "fatal error:", "DATA RACE"} {
		if strings.Contains(stderr, word) {
			t.Errorf("%v: %q in the error output:\n%s", args, word, stderr)
			return
		}
	}
}

// Output collects a program's output and notifies waiters for a text in it.
type Output struct {
	mu      sync.Mutex
	b       bytes.Buffer
	waiting []waiter
}

type waiter struct {
	text string
	seen chan struct{}
}

func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.b.Write(p)
	var rest []waiter
	for _, w := range o.waiting {
		if bytes.Contains(o.b.Bytes(), []byte(w.text)) {
			close(w.seen)
		} else {
			rest = append(rest, w)
		}
	}
	o.waiting = rest
	return len(p), nil
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// Has returns a channel that is closed when the text has been written.
func (o *Output) Has(text string) <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := waiter{text, make(chan struct{})}
	if bytes.Contains(o.b.Bytes(), []byte(text)) {
		close(w.seen)
	} else {
		o.waiting = append(o.waiting, w)
	}
	return w.seen
}

// Memory returns a function that reads the memory of a process.
func Memory(t testing.TB, pid int) func(addr uint64, b []byte) error {
	t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return func(addr uint64, b []byte) error {
		_, err := f.ReadAt(b, int64(addr))
		return err
	}
}
