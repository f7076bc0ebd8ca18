package inproc

import (
	"sync/atomic"

	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/process"
)

// target is the process, as long as it runs the program that was looked at.
type target struct {
	report
	p     *process.Process
	fresh bool         // it has run nothing of its own yet
	execs atomic.Int32 // how often the program called exec
	image int32        // execs when its code was looked at
}

// look notes that the code is looked at which is there now.
func (t *target) look() { t.image = t.execs.Load() }

// replaced reports whether the process is another program than that which was looked at.
func (t *target) replaced() bool { return t.execs.Load() != t.image }

// stopped runs f with the world stopped, in the program that was looked at.
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
