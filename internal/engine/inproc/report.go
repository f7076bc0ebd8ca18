package inproc

import (
	"errors"
	"fmt"

	"github.com/jalon-trace/jalon/internal/process"
)

// report has the callbacks of the caller.
type report struct{ opt *Options }

func (r report) logf(format string, args ...any) {
	if r.opt.Log != nil {
		r.opt.Log(fmt.Sprintf(format, args...))
	}
}

func (r report) warn(msg string) {
	if r.opt.Warn != nil {
		r.opt.Warn(msg)
	}
}

// trouble logs an error that occurred after the program's own code was restored. What could not be removed
// is harmless.
func (r report) trouble(what string, err error) {
	if err != nil && !errors.Is(err, process.ErrGone) {
		r.warn(fmt.Sprintf("%s: %v", what, err))
	}
}

// step is called for item i of n of a long loop. If it returns an error, the caller has cancelled the work.
// Every place that calls it leaves a state that Stop can undo: plans are not in the process yet, and a patch is
// in the list of placed patches before its first byte is written.
func (r report) step(what string, i, n int) error {
	if r.opt.Progress == nil {
		return nil
	}
	return r.opt.Progress(what, i, n)
}

// interrupted is step without progress to show.
func (r report) interrupted() error { return r.step("", 0, 0) }
