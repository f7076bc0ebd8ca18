package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/engine/kernel"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// gateCmd filters the events that perf users see, by conditions.
type gateCmd struct {
	Events   []string      `arg:"" name:"event" help:"SYSTEM:EVENT if COND: perf (perf record, perf_event_open) sees only the hits of the event for which the condition holds, while the gate runs. It affects all perf users of the event on the machine, but not ftrace's own buffers"`
	Duration time.Duration `short:"d" help:"End after this time (10s, 500ms)"`
	Verbose  bool          `short:"v" help:"Report the steps"`

	program []string
}

// Run opens the gates and waits until the program after -- ends, or for Ctrl-C.
func (c *gateCmd) Run() error {
	var list []string
	for _, e := range c.Events {
		list = append(list, gatePlace(e))
	}
	tps, err := tracepoint.FromArgs(list, nil)
	if err != nil {
		return err
	}
	ctx, stop := untilSignal()
	defer stop()
	if c.Duration > 0 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, c.Duration)
		defer cancel()
	}
	opt := kernel.Options{Warn: func(m string) { fmt.Fprintln(stderr, "jalon:", m) }}
	if c.Verbose {
		opt.Log = opt.Warn
	}
	host, err := kernel.Open(opt)
	if err != nil {
		return err
	}
	defer host.Close()
	var engines []*kernel.Engine
	defer func() {
		for _, e := range engines {
			_ = e.Close() // the kernel removes the rest when jalon ends
		}
	}()
	for _, tp := range tps {
		e := host.NewEngine(kernel.EngineOptions{})
		engines = append(engines, e)
		if err := e.Gate(tp, &engine.Compiling{Warn: opt.Warn}); err != nil {
			return err
		}
	}
	fmt.Fprintln(stderr, "jalon: the gates are active; Ctrl-C removes them")
	err = c.wait(ctx)
	for _, e := range engines {
		for _, s := range e.Kept() {
			reportKept(&s)
		}
	}
	return err
}

// gatePlace turns SYSTEM:EVENT into a place.
func gatePlace(arg string) string {
	for _, kind := range []string{"tracepoint:", "t:"} {
		if len(arg) >= len(kind) && arg[:len(kind)] == kind {
			return arg
		}
	}
	return "tracepoint:" + arg
}

// wait runs the program after --, if any, while the gates are open.
func (c *gateCmd) wait(ctx context.Context) error {
	if len(c.program) == 0 {
		<-ctx.Done()
		return nil
	}
	h, err := process.StartHeld(c.program, process.StartOptions{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr})
	if err != nil {
		return err
	}
	h.Release()
	select {
	case <-h.Done():
	case <-ctx.Done():
		_ = unix.Kill(h.Pid(), unix.SIGINT) // perf record completes the header of its file at the end
		<-h.Done()
	}
	if st := h.Status(); st.Code != 0 || st.Signal != 0 {
		return exitError{max(st.Code, 1)}
	}
	return nil
}

func reportKept(s *event.SiteSummary) {
	fmt.Fprintf(stderr, "jalon: %s: %d hits kept from perf", s.Schema.Place, s.False+s.Faults)
	if s.Faults > 0 {
		fmt.Fprintf(stderr, ", %d of them because the condition could not be evaluated", s.Faults)
	}
	fmt.Fprintln(stderr)
}
