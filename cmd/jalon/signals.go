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
)

// ending decides the effect of a signal that ends jalon.
//
//   - SIGINT and SIGQUIT typed at the terminal are the program's, when jalon has started
//     it: it gets them too, and is traced to its end. The second one ends the tracing.
//   - Any other, and those from `kill`, end the tracing; the program runs on.
//   - The next one ends jalon itself.
type ending struct {
	ctx    context.Context
	cancel func()
	ch     chan os.Signal
	trace  atomic.Pointer[jalon.Trace]
	passed func(*jalon.Trace) // called for the first that was passed on
}

// newEnding takes the signals. What is ignored (nohup) stays ignored.
//
// A closed pipe is an error of our output, not the end of jalon: the program must be
// let go in good order. The signal is taken, not ignored: what is ignored the traced
// program would inherit.
func newEnding() *ending {
	if !signal.Ignored(unix.SIGPIPE) {
		signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)
	}
	e := &ending{ch: make(chan os.Signal, 8)}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT} {
		if !signal.Ignored(sig) {
			signal.Notify(e.ch, sig)
		}
	}
	go e.serve()
	return e
}

func (e *ending) serve() {
	passed := false
	for sig := range e.ch {
		t := e.trace.Load()
		if !passed && t != nil && (sig == unix.SIGINT || sig == unix.SIGQUIT) && t.PassedOn() {
			passed = true
			if e.passed != nil {
				go e.passed(t)
			}
			continue
		}
		signal.Stop(e.ch)
		e.cancel()
		return
	}
}

// stop gives the signals their meaning back.
func (e *ending) stop() {
	signal.Stop(e.ch)
	e.cancel()
}

// untilSignal returns a context that ends at the first signal that ends jalon; the second ends jalon itself.
func untilSignal() (context.Context, func()) {
	e := newEnding()
	return e.ctx, e.stop
}

// goesOnAfter is how long jalon waits for a program to end after Ctrl-C before it prints how to continue.
const goesOnAfter = time.Second

// remind says how to leave a program that does not end.
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

// runsOn says that a program which jalon has started is left running: it may hold the
// terminal or a pipe.
func (c *traceCmd) runsOn(t *jalon.Trace) {
	if pid, ok := t.Running(); ok {
		c.warn(c.programName(pid) + " runs on")
	}
}

func (c *traceCmd) programName(pid int) string {
	return fmt.Sprintf("%s (pid %d)", filepath.Base(c.program[0]), pid)
}
