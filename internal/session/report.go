package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/jalon-trace/jalon/internal/arming"
	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/process"
)

// report is what the parts of a session report to the user, and ask.
type report struct {
	opt *Options
	ctx context.Context // of Session.Run; nil: nothing interrupts
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

// trouble reports what went wrong when the program's own code is back already: what is
// left does no harm.
func (r *report) trouble(what string, err error) {
	if err != nil && !errors.Is(err, process.ErrGone) {
		r.warn(fmt.Sprintf("%s: %v", what, err))
	}
}

// interrupted is arming.ErrInterrupted when the user has ended the session.
func (r *report) interrupted() error {
	if r.ctx == nil || r.ctx.Err() == nil {
		return nil
	}
	return arming.ErrInterrupted
}

// step is interrupted for item i of n of a long loop, and shows how far it is.
func (r *report) step(what string, i, n int) error {
	if r.opt.Progress != nil && what != "" && i%64 == 0 {
		r.opt.Progress(what, i, n)
	}
	return r.interrupted()
}

// compiling is how tracepoints are compiled.
func (r *report) compiling() *engine.Compiling {
	return &engine.Compiling{
		StringLimit: r.opt.StringLimit, RepeatLimit: r.opt.RepeatLimit, StackLimit: r.opt.StackLimit,
		NoOptimise: r.opt.NoOptimise, Warn: r.opt.Warn, Log: r.opt.Log, Progress: r.step,
	}
}
