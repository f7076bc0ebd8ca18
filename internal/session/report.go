package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/jalon-trace/jalon/internal/arming"
	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/internal/sema"
)

// report passes messages to the user, and has whether the user has ended the session.
type report struct {
	opt *Options
	// rate returns nanoseconds for each tick of the time stamp counter.
	rate func() float64
	// moment is from where programs count the time of hits: once for the session, so that their times can be compared.
	moment func() *sema.Moment
	ctx    context.Context // of Session.Run; nil: no interruption
}

func (r *report) logf(format string, args ...any) {
	if r.opt.Log != nil {
		r.opt.Log(fmt.Sprintf(format, args...))
	}
}

func (r *report) warn(msg string) {
	if r.opt.Warn != nil {
		r.opt.Warn(msg)
	}
}

// trouble logs an error that occurred after the program's own code was restored. What could not be removed
// is harmless.
func (r *report) trouble(what string, err error) {
	if err != nil && !errors.Is(err, process.ErrGone) {
		r.warn(fmt.Sprintf("%s: %v", what, err))
	}
}

// interrupted returns arming.ErrInterrupted if the user has ended the session.
func (r *report) interrupted() error {
	if r.ctx == nil || r.ctx.Err() == nil {
		return nil
	}
	return arming.ErrInterrupted
}

// removing is a step whose items take tens of milliseconds each.
const removing = "removing"

// step returns interrupted() for item i of n in a long loop, and shows the progress.
func (r *report) step(what string, i, n int) error {
	if r.opt.Progress != nil && what != "" && (i%64 == 0 || what == removing) {
		r.opt.Progress(what, i, n)
	}
	return r.interrupted()
}

// compiling returns the options for compiling tracepoints.
func (r *report) compiling() *engine.Compiling {
	return &engine.Compiling{
		StringLimit: r.opt.StringLimit, RepeatLimit: r.opt.RepeatLimit, StackLimit: r.opt.StackLimit,
		StackFrames: r.opt.StackFrames, FramePointers: r.opt.FramePointers, TickRate: r.rate, Moment: r.moment, Stamped: r.opt.Clock == ring.ClockTSC,
		Most: r.opt.MaxEvents, Strict: r.opt.Strict, Room: r.opt.BufferSize / 2,
		NoOptimise: r.opt.NoOptimise, Warn: r.opt.Warn, Log: r.opt.Log, Progress: r.step,
	}
}
