package arming

import (
	"errors"
	"fmt"

	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// skipped has the addresses of tracepoints at which no program can be installed.
type skipped map[*Tracked]*tracepoint.Skipped

// filter records the programs that were not installed and returns the others.
func (skip skipped) filter(list []*engine.Program, errs []error) (good []*engine.Program) {
	for i, x := range list {
		if errs[i] == nil {
			good = append(good, x)
			continue
		}
		tp := TrackedOf(x)
		s := skip[tp]
		if s == nil {
			s = &tracepoint.Skipped{First: notInstalled(x, errs[i])}
			skip[tp] = s
		}
		s.Add(probe.Error(tp.Place, errs[i]))
	}
	return good
}

// notInstalled returns a diagnostic with the tracepoint, the place, the address and the cause.
// A cause that is a diagnostic already has its own position.
func notInstalled(x *engine.Program, cause error) error {
	tp := TrackedOf(x)
	var one *lang.Diagnostic
	var several lang.Diagnostics
	if errors.As(cause, &one) || errors.As(cause, &several) {
		return probe.Error(tp.Place, cause)
	}
	at := tp.Place.Text
	if x.Site != nil && x.Site.Addr() != 0 {
		at += fmt.Sprintf(" (%#x)", x.Site.Addr())
	}
	return probe.Error(tp.Place, fmt.Errorf("tracepoint %d at %s: not installed: %w", tp.Number, at, cause))
}

// distinct removes repeated diagnostics: places that share a collect list also share its errors.
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
