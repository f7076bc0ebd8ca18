package main

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
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/bpf"
)

// patience is how long a tracer may take to start or to end. bpftrace's compiler is slow in a guest.
const patience = 2 * time.Minute

// command is a tracer in a process of its own.
type command struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	lines  atomic.Int64 // on its standard output
	done   chan struct{}
	err    error
}

// launch starts a tracer and counts the lines that it prints.
func launch(env []string, name string, args ...string) (*command, error) {
	c := &command{cmd: exec.Command(name, args...), done: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), env...)
	c.cmd.Stderr = &c.stderr
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		in := bufio.NewReaderSize(out, 1<<20)
		buf := make([]byte, 64<<10)
		for {
			n, err := in.Read(buf)
			c.lines.Add(int64(bytes.Count(buf[:n], []byte{'\n'})))
			if err != nil {
				break
			}
		}
		c.err = c.cmd.Wait()
		close(c.done)
	}()
	return c, nil
}

// await polls until the tracer has attached.
func (c *command) await(attached func(pid int) bool) error {
	end := time.Now().Add(patience)
	for !attached(c.cmd.Process.Pid) {
		select {
		case <-c.done:
			return fmt.Errorf("%s ended: %w: %s", c.cmd.Path, c.err, tail(c.stderr.String()))
		case <-time.After(time.Millisecond):
		}
		if time.Now().After(end) {
			c.kill()
			return fmt.Errorf("%s did not attach in %v: %s", c.cmd.Path, patience, tail(c.stderr.String()))
		}
	}
	return nil
}

// interrupt ends the tracer as Ctrl-C does.
func (c *command) interrupt() error {
	_ = c.cmd.Process.Signal(unix.SIGINT)
	if !c.ends(patience) {
		c.kill()
		return fmt.Errorf("%s did not end on SIGINT in %v", c.cmd.Path, patience)
	}
	var exit *exec.ExitError
	if c.err != nil && !(errors.As(c.err, &exit) && interrupted(exit)) {
		return fmt.Errorf("%s: %w: %s", c.cmd.Path, c.err, tail(c.stderr.String()))
	}
	return nil
}

// ends waits for the end of the tracer, at most for the time most.
func (c *command) ends(most time.Duration) bool {
	select {
	case <-c.done:
		return true
	case <-time.After(most):
		return false
	}
}

func (c *command) kill() {
	_ = c.cmd.Process.Kill()
	<-c.done
}

func interrupted(e *exec.ExitError) bool {
	st, ok := e.Sys().(interface {
		Signaled() bool
		ExitStatus() int
	})
	return ok && (st.Signaled() || st.ExitStatus() == 128+int(unix.SIGINT))
}

func tail(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-2):], " | ")
}

// jalonRun is a running jalon.
type jalonRun struct{ *command }

// jalonSummary is the output of `jalon trace --summary-json`.
type jalonSummary struct {
	ArmedMS  float64 `json:"armed_ms"`
	Hits     int64   `json:"hits"`
	Recorded int64   `json:"recorded"`
	Lost     int64   `json:"lost"`
}

// startJalon traces a place in all processes.
func (b *bench) startJalon(place string, args ...string) (tracing, error) {
	full := append([]string{"trace", "--all", place, "--summary-json"}, args...)
	c, err := launch(nil, b.jalon, full...)
	if err != nil {
		return nil, err
	}
	return &jalonRun{c}, c.await(hasProgram(siteProgram))
}

func (j *jalonRun) stop() (seen, error) {
	if err := j.interrupt(); err != nil {
		return seen{}, err
	}
	s, err := lastSummary(j.stderr.String())
	return seen{s.Hits, s.Recorded, s.Lost}, err
}

func lastSummary(stderr string) (jalonSummary, error) {
	var s jalonSummary
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &s); err != nil {
		return s, fmt.Errorf("jalon's summary: %w: %s", err, tail(stderr))
	}
	return s, nil
}

// bpftraceRun is a running bpftrace; its output goes to a pipe, which is read.
type bpftraceRun struct{ *command }

// bpftraceEnv sets bpftrace's buffers to 4 MiB a CPU, as in jalon.
var bpftraceEnv = []string{"BPFTRACE_PERF_RB_PAGES=1024"}

func startBpftrace(program string) (tracing, error) {
	path, err := exec.LookPath("bpftrace")
	if err != nil {
		return nil, errors.New("not installed")
	}
	c, err := launch(bpftraceEnv, path, "-e", program)
	if err != nil {
		return nil, err
	}
	return &bpftraceRun{c}, c.await(hasAttached)
}

// bpftrace's own lines: "Attaching 1 probe...", and two empty lines at the end.
const (
	bpftraceBegins = 1
	bpftraceEnds   = 2
)

func (r *bpftraceRun) stop() (seen, error) {
	r.settle()
	lines := int64(-bpftraceBegins)
	// Sometimes bpftrace does not end on SIGINT. If it is killed, the output in its buffer is lost.
	_ = r.cmd.Process.Signal(unix.SIGINT)
	if r.ends(10 * time.Second) {
		lines -= bpftraceEnds
	} else {
		r.kill()
	}
	lines += r.lines.Load()
	var lost int64
	for line := range strings.Lines(r.stderr.String()) {
		var n int64
		if _, err := fmt.Sscanf(line, "Lost %d events", &n); err == nil {
			lost += n
		}
	}
	return seen{-1, max(0, lines), lost}, nil
}

// settle waits until no more lines arrive, because on SIGINT bpftrace drops the events in its buffers that
// it has not printed. If other processes cause lines all the time, it stops waiting after a limit.
func (r *bpftraceRun) settle() {
	const quiet = 6 // times in a row
	end := time.Now().Add(2 * time.Second)
	last, same := int64(-1), 0
	for ; same < quiet && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if n := r.lines.Load(); n == last {
			same++
		} else {
			last, same = n, 0
		}
	}
}

// emptyRun is an attached program that returns at once.
type emptyRun struct{ parts []io.Closer }

// startEmpty attaches an empty program of the type that jalon would load.
func startEmpty(t bpf.Target) (tracing, error) {
	r := &emptyRun{}
	if err := r.attach(t); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

func (r *emptyRun) attach(t bpf.Target) error {
	k, err := bpf.Open()
	if err != nil {
		return err
	}
	r.parts = append(r.parts, k)
	p, err := k.Load(bpf.Program{
		Name: "empty", Insns: asm.Instructions{asm.Mov.Imm(asm.R0, t.Kind.Return()), asm.Return()}, Kind: t.Kind, Target: t,
	})
	if err != nil {
		return err
	}
	r.parts = append(r.parts, p)
	l, err := p.Attach(t)
	if err != nil {
		return err
	}
	r.parts = append(r.parts, l)
	return nil
}

func (r *emptyRun) close() error {
	var err error
	for i := len(r.parts) - 1; i >= 0; i-- {
		err = errors.Join(err, r.parts[i].Close())
	}
	return err
}

func (r *emptyRun) stop() (seen, error) { return seen{-1, -1, -1}, r.close() }

// fileOffset returns the offset of a symbol's code in the workload's file.
func (b *bench) fileOffset(symbol string) (uint64, error) {
	return symbolOffset(b.loopPath, symbol)
}

// output returns the path of the file for jalon's events.
func (b *bench) output() string { return filepath.Join(b.dir, "events") }
