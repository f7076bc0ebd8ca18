package session

import (
	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// resolver makes programs of tracepoints, for either engine.
type resolver struct{ *report }

// programsOf resolves and compiles one tracepoint. found is false for a place that is
// not found, and why. When a place has several addresses, those where the expressions
// mean nothing are left out with a warning; the error is that none is left.
func (r *resolver) programsOf(e engine.Engine, tp *tracked) (list []*engine.Program, found bool, err error) {
	at, err := e.Resolve(tp.Place)
	if err != nil {
		return nil, false, err
	}
	for _, w := range at {
		if text := w.Warning(); text != "" {
			r.warn(tp.Place.Text + ": " + text)
		}
	}
	how := r.compiling()
	var left tracepoint.LeftOut
	for i, w := range at {
		if err := r.step("compiling", i, len(at)); err != nil {
			return nil, true, err
		}
		progs, err := how.Compile(tp, tp.Tracepoint, w)
		if err != nil {
			left.Add(err)
			r.logf("%s at %s: left out: %v", tp.Place.Text, w, err)
			continue
		}
		list = append(list, progs...)
	}
	if len(list) == 0 {
		return nil, true, left.First
	}
	if left.N > 0 {
		r.warn(tp.Place.Text + ": " + left.Text(len(at)))
	}
	return list, true, nil
}

// compiling is how tracepoints are compiled.
func (r *resolver) compiling() *engine.Compiling {
	return &engine.Compiling{
		StringLimit: r.opt.StringLimit, RepeatLimit: r.opt.RepeatLimit, StackLimit: r.opt.StackLimit,
		NoOptimise: r.opt.NoOptimise, Warn: r.warn,
	}
}

// leftOut are the addresses of tracepoints that cannot be traced.
type leftOut map[*tracked]*tracepoint.LeftOut

// sortOut notes what cannot be traced and returns the other programs.
func (left leftOut) sortOut(list []*engine.Program, errs []error) (good []*engine.Program) {
	for i, x := range list {
		if errs[i] == nil {
			good = append(good, x)
			continue
		}
		tp := trackedOf(x)
		if left[tp] == nil {
			left[tp] = &tracepoint.LeftOut{}
		}
		left[tp].Add(probe.Error(tp.Place, errs[i]))
	}
	return good
}

// distinct leaves out diagnostics that are there already: places that share a collect
// list share what is wrong with it.
func distinct(list lang.Diagnostics) lang.Diagnostics {
	var out lang.Diagnostics
	seen := map[string]bool{}
	for _, d := range list {
		if text := d.Error(); !seen[text] {
			seen[text] = true
			out = append(out, d)
		}
	}
	return out
}
