package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon"
	"github.com/jalon-trace/jalon/internal/process"
)

// ending decides the effect of a signal that ends jalon.
//
//   - SIGINT and SIGQUIT typed at the terminal also reach the program if jalon has started it. The program
//     handles them, and is traced to its end. The second one ends the tracing.
//   - Any other signal, and signals from `kill`, end the tracing; the program continues.
//   - Signals within a second after that are the same request: timeout(1) sends its signal to the process and then to
//     the process group, and a shell and the kernel each send SIGHUP at the end of a session.
//   - The next signal ends jalon itself.
//
// A shell without job control starts commands in the background (jalon trace ... &) with SIGINT ignored, and nohup starts
// them with SIGHUP ignored. jalon heeds the second: it goes on when the terminal hangs up. It does not heed the first, as
// strace, perf and bpftrace do not: `kill -INT` is how a script ends a tracer that it has started. The program that is
// traced ignores SIGINT then, as it would without jalon.
type ending struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	ch     chan os.Signal
	// again: SIGINT was ignored when jalon was started, and would be so again behind signal.Stop.
	again  bool
	armed  atomic.Pointer[jalon.Trace] // nil until the tracepoints are armed; no program started by jalon runs before
	passed func(*jalon.Trace)          // called for the first signal that the program received too
	ended  atomic.Bool                 // a signal has ended the tracing
}

// sameRequest is how long after a signal that ends the tracing further ones are taken for the same request.
const sameRequest = time.Second

// newEnding registers for the signals. A signal that is ignored stays ignored, but for SIGINT.
//
// A closed pipe is an error of jalon's output and must not end jalon, which has to detach from the program
// first. SIGPIPE is caught, not ignored, because the traced program would inherit an ignored signal.
func newEnding() *ending {
	if !signal.Ignored(unix.SIGPIPE) {
		signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)
	}
	e := &ending{ch: make(chan os.Signal, 8)}
	e.ctx, e.cancel = context.WithCancelCause(context.Background())
	for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT} {
		switch {
		case !signal.Ignored(sig):
			signal.Notify(e.ch, sig)
		case sig == unix.SIGINT:
			e.again = true
			signal.Notify(e.ch, sig)
			process.Ignored(sig, func() { signal.Notify(e.ch, unix.SIGINT) })
		}
	}
	go e.serve()
	return e
}

func (e *ending) serve() {
	passed := false
	for sig := range e.ch {
		t := e.armed.Load()
		if !passed && t != nil && (sig == unix.SIGINT || sig == unix.SIGQUIT) && t.PassedOn() {
			passed = true
			if e.passed != nil {
				go e.passed(t)
			}
			continue
		}
		e.ended.Store(true)
		time.AfterFunc(sameRequest, e.next)
		var cause error // nil: one that may be typed
		if sig == unix.SIGTERM || sig == unix.SIGHUP {
			cause = jalon.ErrUntyped
		}
		e.cancel(cause)
		return
	}
}

// next lets the next signal end jalon itself.
func (e *ending) next() {
	signal.Stop(e.ch)
	if e.again {
		last := make(chan os.Signal, 1)
		signal.Notify(last, unix.SIGINT)
		<-last
		exit(128 + int(unix.SIGINT))
	}
}

// stop restores the default effect of the signals; after a signal only when further ones are not the same request.
func (e *ending) stop() {
	if !e.ended.Load() {
		signal.Stop(e.ch)
	}
	e.cancel(nil)
}

// untilSignal returns a context that the first ending signal cancels; a later one ends jalon itself.
func untilSignal() (context.Context, func()) {
	e := newEnding()
	return e.ctx, e.stop
}

// goesOnAfter is how long jalon waits for a program to end after Ctrl-C before it prints how to continue.
const goesOnAfter = time.Second

// remind prints how to end the tracing of a program that does not end.
func (c *traceCmd) remind(t *jalon.Trace) {
	select {
	case <-t.Done():
		return
	case <-time.After(goesOnAfter):
	}
	if pid, ok := t.Running(); ok {
		c.warn(fmt.Sprintf("%s continues and is traced; press Ctrl-C again to end the tracing", c.programName(pid)))
	}
}

// runsOn prints that a program which jalon has started still runs: it may use the terminal or a pipe.
func (c *traceCmd) runsOn(t *jalon.Trace) {
	if pid, ok := t.Running(); ok {
		c.warn(c.programName(pid) + " runs on")
	}
}

func (c *traceCmd) programName(pid int) string {
	return fmt.Sprintf("%s (pid %d)", filepath.Base(c.program[0]), pid)
}

// snapshots prints the events of buffers that are overwritten at each SIGUSR1, until the returned function is called.
func (c *traceCmd) snapshots(t *jalon.Trace) (stop func()) {
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-c.wanted:
				if err := t.Snapshot(context.Background()); err != nil {
					c.warn(fmt.Sprintf("no snapshot: %v", err))
				}
			}
		}
	}()
	return func() { close(done) }
}
