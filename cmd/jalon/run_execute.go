package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/bounded"
	"github.com/jalon-trace/jalon/internal/openfile"
	"github.com/jalon-trace/jalon/internal/procdir"
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/internal/script/check"
	"github.com/jalon-trace/jalon/internal/script/interp"
	"github.com/jalon-trace/jalon/internal/script/runner"
	"github.com/jalon-trace/jalon/internal/session"
)

// job is a checked script with all that it runs with.
type job struct {
	program *check.Program
	options interp.Options // outputs, clocks, the shell
	target
	usr1 <-chan struct{} // a value for each SIGUSR1
	// log is of -v, maps of --maps; may be nil.
	log, warn, maps func(string)
	debugDirs       []string
	usdtFile        bool // --usdt-file-activation
	unsafe          bool
}

// execute runs a checked script and prints its maps.
func (c *runCmd) execute(p *check.Program, t target) error {
	bpftraceUnsafe = c.Unsafe
	ctx, stop := untilSignal()
	defer stop()
	out, done, err := c.output(stop)
	if err != nil {
		return err
	}
	usr1, stopUSR1 := userSignals()
	defer stopUSR1()
	live := newLazyKernel()
	j := &job{
		program: p, target: t, usr1: usr1, debugDirs: c.debugDirs(), usdtFile: c.USDTFile, unsafe: c.Unsafe,
		options: interp.Options{
			Out: out, Err: stderr, JSON: c.Format == "json", Quiet: c.Quiet, NoWarn: c.NoWarn, Helpers: c.Warnings,
			Folded: c.Folded, Live: c.Live, Clear: c.clearing(out),
			Now: time.Now, Boot: clock(procdir.Boottime), Mono: clock(procdir.Monotonic),
			TimeMap: os.Getenv("BPFTRACE_DUMMY_TS_MAP"), // as in bpftrace, for tests
			Render:  render, Message: messageLine,
			Kernel: live, Names: live, Cgroup: runner.CgroupPath,
			System: func(command string) ([]byte, error) { return shell(ctx, command) },
		},
	}
	if c.Test || c.Bench {
		return errors.Join(c.tests(ctx, j), done())
	}
	j.warn = func(m string) {
		if !c.NoWarn {
			fmt.Fprintln(stderr, warning(m))
		}
	}
	if c.Verbose {
		j.log = func(m string) { fmt.Fprintln(stderr, "jalon:", m) }
	}
	if c.Maps {
		j.maps = func(m string) { fmt.Fprintln(stderr, m) }
	}
	m, err := j.run(ctx)
	if err == nil {
		m.End()
		if p.Config.Bool("print_maps_on_exit") {
			m.PrintMaps()
		}
	}
	if e := done(); err == nil && !errors.Is(e, unix.EPIPE) {
		err = e
	}
	if err != nil {
		return err
	}
	if !c.NoWarn {
		if l := m.Uncommitted(); l != "" {
			fmt.Fprintln(stderr, "jalon: warning:", l)
		}
		for _, l := range m.Repeated() {
			fmt.Fprintln(stderr, "jalon: warning:", l)
		}
	}
	if _, status := m.Ended(); status != 0 {
		return exitError{status & 0xff}
	}
	return nil
}

// tests runs the tests or benchmarks of the script.
func (c *runCmd) tests(ctx context.Context, j *job) error {
	if err := interp.Refuse(j.program, nil, j.options.Kernel != nil); err != nil {
		return err
	}
	m := interp.New(j.program, j.options)
	run := m.Test
	if c.Bench {
		run = m.Bench
	}
	ok, err := run(ctx)
	if err == nil && !ok {
		err = exitError{1}
	}
	return err
}

// run runs the script to its end: exit(), a signal, the end of the program or process.
func (j *job) run(signalled context.Context) (*interp.Machine, error) {
	if runner.HasSites(j.program) {
		return runner.Run(signalled, j.program, runner.Options{
			Options: j.options, Ready: notifyReady, Argv: j.argv, Kill: j.kill, Pid: j.pid, USR1: j.usr1, Warn: j.warn, Log: j.log, Maps: j.maps, DebugDirs: j.debugDirs,
			IO: session.IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, PlaceText: asBpftrace,
		})
	}
	if err := interp.Refuse(j.program, nil, j.options.Kernel != nil); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(signalled)
	defer cancel()
	release, end, err := j.begin(cancel)
	if err != nil {
		return nil, err
	}
	defer end()
	m := interp.New(j.program, j.options)
	j.attached(m)
	return m, m.Loop(ctx, signalled, j.usr1, release)
}

// attached reports that all probes are attached: to the user, and to a service manager that waits for it.
func (j *job) attached(m *interp.Machine) {
	if !j.options.Quiet {
		m.Attached(runner.Count(j.program))
	}
	notifyReady()
}

// begin starts the program, held before its first instruction, or finds the process. ended is called when it has
// ended; release lets it run; end lets it go, or ends it if -c has started it.
func (j *job) begin(ended func()) (release, end func(), err error) {
	nothing := func() {}
	switch {
	case j.argv != nil:
		h, err := process.StartHeld(j.argv, process.StartOptions{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr})
		if err != nil {
			return nil, nil, err
		}
		j.options.Child = h.Pid()
		go func() { <-h.Done(); ended() }()
		return h.Release, func() { j.letGo(h) }, nil
	case j.pid != 0:
		w, err := process.Watch(j.pid)
		if err != nil {
			return nil, nil, err
		}
		stopped := make(chan struct{})
		go func() {
			select {
			case <-w.Done():
				ended()
			case <-stopped:
			}
		}()
		return nothing, func() { close(stopped); w.Close() }, nil
	}
	return nothing, nothing, nil
}

// letGo ends a program of -c with the script; another runs on.
func (j *job) letGo(h *process.Held) {
	if !j.kill {
		h.Release()
		return
	}
	select {
	case <-h.Done(): // its number may be another's by now
	default:
		_ = unix.Kill(h.Pid(), unix.SIGTERM)
	}
	h.Release()
}

// output opens the output with the buffering of -B, and returns what writes the rest and closes it. A script's bytes
// are written as they are, except to a terminal: strings of programs may be hostile. fail is called with an error of
// the output, such as that its reader is gone.
func (c *runCmd) output(fail func()) (*buffered, func() error, error) {
	var w io.Writer = bounded.Reopen(os.Stdout)
	if isTerminal(os.Stdout) {
		w = stdout
	}
	closeFile := func() error { return nil }
	if c.Output != "" {
		f, err := openfile.Create(c.Output)
		if err != nil {
			return nil, nil, err
		}
		w, closeFile = f, f.Close
	}
	b := newBuffered(w, c.Buffering, fail)
	return b, func() error { return errors.Join(b.Flush(), closeFile()) }, nil
}

// clearing returns what clears the terminal for --live; nil: the output is none.
func (c *runCmd) clearing(out *buffered) func() {
	if !isTerminal(os.Stdout) || c.Output != "" {
		return nil
	}
	return func() { out.writeTo(printed, "\033[H\033[2J") }
}

// userSignals passes on that SIGUSR1 came.
func userSignals() (<-chan struct{}, func()) {
	sig, out := askedFor(), make(chan struct{}, 1)
	go func() {
		for range sig {
			select {
			case out <- struct{}{}:
			default: // one waits already
			}
		}
	}()
	return out, func() { signal.Stop(sig); close(sig) }
}

// clock is one of the kernel's clocks.
func clock(read func() int64) func() uint64 { return func() uint64 { return uint64(read()) } }

// shell runs a command and returns its output.
func shell(ctx context.Context, command string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.Stderr = stderr
	out, err := cmd.Output()
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) { // its status is the command's own affair
		return out, fmt.Errorf("running a command of the script: %w", err)
	}
	return out, nil
}
