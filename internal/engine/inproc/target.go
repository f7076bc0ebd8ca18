package inproc

import (
	"sync/atomic"

	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/process"
)

// target is the process, while it runs the program whose code was read.
type target struct {
	report
	p     *process.Process
	fresh bool         // it has not run its own code yet
	execs atomic.Int32 // how often the program called exec
	image int32        // execs when its code was read
}

// look records that the present program's code is being read.
func (t *target) look() { t.image = t.execs.Load() }

// replaced reports whether the process has called exec since its code was read.
func (t *target) replaced() bool { return t.execs.Load() != t.image }

// stopped runs f with the world stopped, if the process still runs the program whose code was read.
func (t *target) stopped(f func(*process.Stopped) error) error {
	pause, err := t.p.Stopped(func(st *process.Stopped) error {
		if t.replaced() {
			return engine.ErrReplaced
		}
		return f(st)
	})
	t.logf("stopped for %v", pause)
	if pause > 0 && t.opt.OnPause != nil {
		t.opt.OnPause(pause)
	}
	return err
}
