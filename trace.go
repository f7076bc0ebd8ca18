package jalon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/jalon-trace/jalon/internal/drain"
	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/internal/session"
)

// Trace is a running or finished trace. Its methods may be called from any goroutine.
type Trace struct {
	s      *session.Session
	cancel context.CancelFunc
	queue  *queue // nil: the events go to Options.Output
	done   chan struct{}
	result *Result
	err    error

	launched bool // the trace started the program
	untraced bool // the program is not traced by ptrace: only the kernel engine is used
	typed    typed
	stopped  func() bool // the trace was ended from outside, maybe by a typed signal

	recorded *RecordedTrace // of events that are read from it; s is nil then

	mu     sync.Mutex // guards s after the end of the session
	closed bool
}

// Start arms the tracepoints of a trace. When it returns, hits are being recorded. The trace ends with the
// program, at a limit of the options, by [Trace.Stop], or when ctx is done. Then all code and probes are
// removed, and a program that was started or attached to continues.
//
// The caller must close the trace.
func Start(ctx context.Context, target Target, opt Options) (*Trace, error) {
	sopt, err := opt.session()
	if err != nil {
		return nil, err
	}
	sopt.Process = target.pid != 0 || len(target.argv) > 0
	ctx, cancel := context.WithCancel(ctx)
	t := &Trace{
		cancel: cancel, done: make(chan struct{}), launched: len(target.argv) > 0, untraced: sopt.OnlyKernel(),
		stopped: func() bool { return ctx.Err() != nil && !errors.Is(context.Cause(ctx), ErrUntyped) },
	}
	output := opt.Output
	if output == nil {
		t.queue = newQueue(orDefault(opt.Queue, defaultQueue))
		output = queueing{t}
	}
	if opt.Aggregate != nil && opt.Aggregate.Top > 0 {
		output = slowest(output, opt.Aggregate.Top)
	}
	sopt.NewSink = func(s *session.Session) drain.Sink { return output.sink(s, nil) }
	sopt.Interrupt = ctx.Done()
	armed := make(chan error, 2)
	sopt.OnTyped = func() { t.typed.seen.Add(1) }
	sopt.OnArmed = func(err error) {
		if errors.Is(err, session.ErrEnded) { // before it was armed, or this was called before
			err = nil
		} else if first := !t.typed.armed.Swap(true); first && err == nil {
			if r, ok := output.(*Recording); ok {
				r.r.Armed()
			}
			if opt.OnArmed != nil {
				opt.OnArmed(t)
			}
		}
		select {
		case armed <- err:
		default: // at the end of an armed trace, OnArmed is called again
		}
	}
	began := make(chan error)
	go t.run(ctx, target, sopt, began)
	if err := <-began; err != nil {
		cancel()
		return nil, convert(err)
	}
	if err := <-armed; err != nil {
		if ended := t.Close(); ended != nil {
			return nil, ended
		}
		return nil, convert(err)
	}
	return t, nil
}

// run starts the session and drains it to its end, on one goroutine.
func (t *Trace) run(ctx context.Context, target Target, opt session.Options, began chan<- error) {
	var err error
	if t.s, err = begin(target, opt); err != nil {
		began <- err
		return
	}
	began <- nil
	res, err := t.s.Run(ctx)
	t.result, t.err = newResult(res), convert(err)
	if t.queue != nil {
		t.result.Dropped = t.queue.end()
	}
	close(t.done)
}

func begin(target Target, opt session.Options) (*session.Session, error) {
	switch {
	case len(target.argv) > 0:
		return session.Launch(target.argv, target.std, opt)
	case target.pid == 0 || opt.OnlyKernel():
		return session.Watch(target.pid, opt)
	}
	if isChild(target.pid) {
		return nil, &fail.Error{
			Op:  fmt.Sprintf("attach to process %d", target.pid),
			Err: errors.New("it is a child of this process: a wait for its end, such as exec.Cmd's, would take the tracer's events (wait(2))"), Remedy: "start it by jalon.Command, or trace it from another process",
		}
	}
	return session.Attach(target.pid, opt)
}

// isChild reports whether the process is a child of this one.
func isChild(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	var state string
	var parent int
	_, err = fmt.Sscan(string(b[bytes.LastIndexByte(b, ')')+1:]), &state, &parent)
	return err == nil && parent == os.Getpid()
}

// Stop ends the trace; it does not wait for the end.
func (t *Trace) Stop() { t.cancel() }

// Done is closed when the trace is over and all code and probes are removed.
func (t *Trace) Done() <-chan struct{} { return t.done }

// Wait waits for the end of the trace. The result is valid even if there is an error.
func (t *Trace) Wait() (*Result, error) {
	<-t.done
	return t.result, t.err
}

// Close ends the trace if it runs, and frees its resources. It returns the error of Wait. Afterwards,
// symbols and stack traces of its events can no longer be looked up.
func (t *Trace) Close() error {
	t.Stop()
	<-t.done
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.closed = true
		t.s.Close()
	}
	return t.err
}

// SetEnabled enables or disables a tracepoint while the trace runs, by its number: its index in
// Options.Tracepoints, from 1, or the number that Add returned.
func (t *Trace) SetEnabled(ctx context.Context, tracepoint int, on bool) error {
	return convert(t.s.SetEnabled(ctx, tracepoint, on))
}

// Add arms one more tracepoint while the trace runs and returns its number: one more than the largest so
// far. When Add returns without an error, hits are being recorded. After an error the trace is unchanged.
func (t *Trace) Add(ctx context.Context, tp Tracepoint) (tracepoint int, err error) {
	tps, err := parse([]Tracepoint{tp})
	if err != nil {
		return 0, err
	}
	n, err := t.s.Add(ctx, tps[0])
	return n, convert(err)
}

// Remove removes a tracepoint while the trace runs, by its number, which is not used again. Its counts stay
// in the Result.
func (t *Trace) Remove(ctx context.Context, tracepoint int) error {
	return convert(t.s.Remove(ctx, tracepoint))
}

// Snapshot shows the events that are in the rings, with Options.Overwrite, and that no snapshot has shown before. The
// program goes on meanwhile.
func (t *Trace) Snapshot(ctx context.Context) error { return convert(t.s.Snapshot(ctx)) }

// Counts returns the counters of all sites so far. After the end of the trace it returns an error; the
// counters are then in Result.
func (t *Trace) Counts(ctx context.Context) ([]Count, error) {
	list, err := t.s.Status(ctx)
	if err != nil {
		return nil, convert(err)
	}
	var out []Count
	for i := range list {
		c := newCount(&list[i].SiteSummary)
		c.Tracepoint, c.Enabled = list[i].Tracepoint, list[i].Enabled
		out = append(out, c)
	}
	return out, nil
}

// lookUp runs f where the session's tables may be read: on the session's goroutine while it runs, on the
// caller's afterwards. After Close it does nothing.
func (t *Trace) lookUp(f func()) {
	if t.s.Look(context.Background(), f) == nil {
		return
	}
	<-t.done
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		f()
	}
}
