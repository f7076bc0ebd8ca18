package arming

import (
	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// leftOut are the addresses of tracepoints that cannot be traced.
type leftOut map[*Tracked]*tracepoint.Skipped

// sortOut notes what cannot be traced and returns the other programs.
func (left leftOut) sortOut(list []*engine.Program, errs []error) (good []*engine.Program) {
	for i, x := range list {
		if errs[i] == nil {
			good = append(good, x)
			continue
		}
		tp := TrackedOf(x)
		if left[tp] == nil {
			left[tp] = &tracepoint.Skipped{}
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
