package report

import (
	"errors"
	"io"

	"github.com/jalon-trace/jalon/internal/ctf"
)

// Keys calls f with the time of each event of a place and the values of expressions in it, until f returns false. Events that have no values are left out.
func Keys(t *ctf.Trace, place, expr string, f func(at int64, key string) bool) error {
	r, err := NewReader(t, Query{})
	if err != nil {
		return err
	}
	name, err := r.placeNamed("place", place)
	if err != nil {
		return err
	}
	items, err := parseList("--key", expr)
	if err != nil {
		return err
	}
	for _, sc := range r.scopes {
		if sc.schema.Place != name {
			r.skip(sc, "another place")
		}
	}
	if err := r.views(items, false); err != nil {
		return err
	}
	if n := len(r.Skipped); n > 0 && len(r.Schemas()) == 0 {
		return items[0].From.At(items[0].Span, r.Skipped[n-1].Place+": "+r.Skipped[n-1].Why, "")
	}
	m := newKeyMaker(r.Unwind, r.Symbol())
	for {
		ev, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if m.known(ev) && !f(ev.TimeNS, m.key(ev, 0)) {
			return nil
		}
	}
}
