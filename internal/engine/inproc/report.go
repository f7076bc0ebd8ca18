package inproc

import (
	"errors"
	"fmt"

	"github.com/jalon-trace/jalon/internal/process"
)

// report is what the parts of an engine report to the caller, and ask of it.
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

// trouble reports what went wrong when the program's own code is back already: what is
// left in it does no harm.
func (r report) trouble(what string, err error) {
	if err != nil && !errors.Is(err, process.ErrGone) {
		r.warn(fmt.Sprintf("%s: %v", what, err))
	}
}

// step is called for item i of n of a long loop. An error ends it: the caller does not
// want it any more. Each place that asks leaves what Stop takes back: the plans that
// are made are not in the process yet, and a patch is in the list of those placed
// before its first byte is written.
func (r report) step(what string, i, n int) error {
	if r.opt.Progress == nil {
		return nil
	}
	return r.opt.Progress(what, i, n)
}

// interrupted is step where there is nothing to show.
func (r report) interrupted() error { return r.step("", 0, 0) }
