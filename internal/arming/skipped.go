package arming

import (
	"errors"
	"fmt"
	"slices"
	"strings"

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

// refusals are the errors of tracepoints. Those that share a collect list also share its errors.
type refusals struct {
	list   lang.Diagnostics
	places map[string][]string // of each error, by its text
}

func (r *refusals) add(tp *Tracked, err error) {
	if r.places == nil {
		r.places = map[string][]string{}
	}
	for _, d := range tracepoint.Append(nil, err) {
		text := d.Error()
		if r.places[text] == nil {
			r.list = append(r.list, d)
		}
		r.places[text] = append(r.places[text], tp.Place.Text)
	}
}

// mostPlaces is how many places an error names.
const mostPlaces = 4

// err returns the errors, each once. named: those in collect lists name their places.
func (r *refusals) err(named bool) error {
	out := slices.Clone(r.list)
	for i, d := range out {
		if !named || d.Source != "collect" {
			continue
		}
		places := r.places[d.Error()]
		at := strings.Join(places[:min(len(places), mostPlaces)], ", ")
		if n := len(places) - mostPlaces; n > 0 {
			at += fmt.Sprintf(" and %d more", n)
		}
		copied := *d
		copied.Msg += " (at " + at + ")"
		out[i] = &copied
	}
	return out.Err()
}
