package inproc

import (
	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/process"
)

// One bad address does not end an installation: what cannot be traced is refused, with
// the reason as the error of its program.

// refuse notes why a site is not installed.
func (e *Engine) refuse(x *site, err error) {
	e.refused[x] = err
	e.logf("%s at %#x: left out: %v", x.Label, x.addr, err)
}

func (e *Engine) refuseAll(p *placed, err error) {
	for _, x := range p.sites {
		e.refuse(x, err)
	}
}

// errorsOf lists what is wrong with programs.
func (e *Engine) errorsOf(list []*engine.Program) []error {
	errs := make([]error, len(list))
	for i, x := range list {
		errs[i] = e.refused[e.known[x]]
	}
	return errs
}

// keep returns the plans that f does; those with an error are refused.
func (e *Engine) keep(plans []*placed, f func(*placed) error) (kept []*placed) {
	for i, p := range plans {
		if e.step("generating code", i, len(plans)) != nil {
			return kept // the caller asks, too
		}
		if err := f(p); err != nil {
			e.refuseAll(p, err)
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

// stopped runs f with the world stopped, in the program that was looked at.
func (e *Engine) stopped(f func(*process.Stopped) error) error {
	pause, err := e.p.Stopped(func(st *process.Stopped) error {
		if e.Replaced() {
			return engine.ErrReplaced
		}
		return f(st)
	})
	e.notePause(pause)
	return err
}
