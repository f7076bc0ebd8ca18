package report

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jalon-trace/jalon/internal/ctf"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/lang"
)

// Query selects events of a trace, and what of them is shown.
type Query struct {
	From, To int64  // CLOCK_MONOTONIC, both included; To 0: to the end
	Where    string // a C expression over the recorded fields; "": all events
	Fields   string // a collect list over them; "": what was recorded
}

// Reader returns the events of a query. It keeps no events.
type Reader struct {
	Trace *ctf.Trace
	// Skipped are the places whose events are left out, since they have not the fields of an expression.
	Skipped []Skipped
	// Unknown is how many events the filter could not decide: a value that it needs is not in the trace.
	Unknown uint64
	// Read and Chosen count events.
	Read, Chosen uint64

	q      Query
	items  int // of the list of fields
	scopes []*scope
	all    *union
	sites  map[*event.Schema]*site
	left   map[*event.Schema]bool // whose events are left out
	number []*site                // by the number of the schema in the trace; nil: not looked up yet
	site   *site                  // of the event that was read last
	it     *ctf.Iterator
	orig   *event.Event // of the event that is shown
	pid    int          // of the event that was read last
}

// Skipped is a place whose events are left out.
type Skipped struct{ Place, Why string }

// site is what a query does with the events of a schema.
type site struct {
	skip  bool
	where *program // nil: all
	view  *view    // nil: the event as it is
}

// NewReader compiles a query. Its errors are the user's, or that the trace has no events.
func NewReader(t *ctf.Trace, q Query) (*Reader, error) {
	r := &Reader{Trace: t, q: q, sites: map[*event.Schema]*site{}}
	for _, s := range t.Schemas() {
		r.scopes = append(r.scopes, newScope(s))
		r.sites[s] = &site{}
	}
	r.all = newUnion(r.scopes)
	if q.Where != "" {
		c, err := lang.ParseCondition(lang.TextOf("--where", q.Where))
		if err != nil {
			return nil, err
		}
		if err := r.each(c.X, c.From, func(sc *scope, x *site) (err error) {
			x.where, err = sc.condition(c)
			return err
		}); err != nil {
			return nil, err
		}
	}
	if q.Fields != "" {
		items, err := parseList("--fields", q.Fields)
		if err != nil {
			return nil, err
		}
		if err := r.views(items, true); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func parseList(source, text string) ([]lang.Collect, error) {
	return lang.TextOf(source, text).ParseCollect()
}

// each compiles something of an expression for each schema. The places for which that fails are skipped. If it fails for all of them, the
// error is that of a place which has all fields of the expression; there is none if each lacks some that others have.
func (r *Reader) each(x lang.Expr, from lang.Text, compile func(*scope, *site) error) error {
	if err := unknownNames(x, from, r.scopes); err != nil && len(r.scopes) > 0 {
		return err
	}
	var first error
	done := 0
	for _, sc := range r.scopes {
		site := r.sites[sc.schema]
		if site.skip {
			continue
		}
		err := compile(sc, site)
		if err == nil {
			done++
			continue
		}
		if !isUsers(err) {
			return err
		}
		if why := lackText(sc.lacks(x, r.all)); why != "" {
			r.skip(sc, why)
			continue
		}
		r.skip(sc, reason(err))
		if first == nil {
			first = err
		}
	}
	if done == 0 {
		return first
	}
	return nil
}

// skip leaves the events of a schema out.
func (r *Reader) skip(sc *scope, why string) {
	r.sites[sc.schema].skip = true
	r.leave(sc, why)
}

// leave notes that the events of a schema are left out.
func (r *Reader) leave(sc *scope, why string) {
	if r.left == nil {
		r.left = map[*event.Schema]bool{}
	}
	r.left[sc.schema] = true
	if x := (Skipped{sc.schema.Place, why}); !slices.Contains(r.Skipped, x) {
		r.Skipped = append(r.Skipped, x)
	}
}

// Next returns the next event, valid until the next call; io.EOF behind the last one.
func (r *Reader) Next() (*event.Event, error) {
	if r.it == nil {
		r.it = r.Trace.Events(ctf.Query{From: r.q.From, To: r.q.To})
		r.number = make([]*site, r.Trace.Sites())
	}
	for {
		ev, err := r.it.Next()
		if err != nil {
			return nil, err
		}
		r.Read++
		r.pid = ev.Pid
		n := r.it.Site()
		x := r.number[n]
		if x == nil {
			x = r.sites[ev.Schema]
			r.number[n] = x
		}
		if r.site = x; x.skip {
			continue
		}
		if x.where != nil {
			if _, ok, unknown := x.where.run(ev); !ok {
				if unknown {
					r.Unknown++
				}
				continue
			}
		}
		r.Chosen++
		if x.view != nil {
			r.orig = ev
			return x.view.show(ev), nil
		}
		return ev, nil
	}
}

// Each calls f with all events. f may keep nothing of them.
func (r *Reader) Each(f func(*event.Event) error) error {
	for {
		ev, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = f(ev)
		}
		if err != nil {
			return err
		}
	}
}

// Unwind is the format.Unwinder of the events.
func (r *Reader) Unwind(ev *event.Event, v *event.Value) []debuginfo.Frame {
	if x := r.site; x != nil && x.view != nil && ev == &x.view.ev {
		i := slices.IndexFunc(ev.Schema.Fields, func(f event.Field) bool { return f.Offset == v.Field.Offset && f.Kind == v.Field.Kind })
		if i < 0 || x.view.from[i] < 0 {
			return nil
		}
		old := r.orig.Value(x.view.from[i])
		return r.Trace.Unwind(r.orig, &old)
	}
	return r.Trace.Unwind(ev, v)
}

// Symbol returns what names addresses in the event that was read last; nil: nothing does.
func (r *Reader) Symbol() func(addr uint64) string {
	if r.Trace.State.Symbols == nil {
		return nil
	}
	symbols := r.Trace.State.Symbols()
	if symbols == nil {
		return nil
	}
	return func(addr uint64) string { return symbols(r.pid, addr) }
}

// Schemas are those of the events that the reader returns.
func (r *Reader) Schemas() (list []*event.Schema) {
	for _, sc := range r.scopes {
		switch x := r.sites[sc.schema]; {
		case x.skip:
		case x.view != nil:
			list = append(list, &x.view.schema)
		default:
			list = append(list, sc.schema)
		}
	}
	return list
}

// Site is the number of the site of the event that Next returned last, below Trace.Sites.
func (r *Reader) Site() int { return r.it.Site() }

// Stack is the number of the first stack of an event, 0 if it has none.
func (r *Reader) Stack(ev *event.Event) uint32 {
	if x := r.site; x != nil && x.view != nil && ev == &x.view.ev {
		ev = r.orig
	}
	return ctf.StackOf(ev)
}

// Notes are what the user should know of a report: damage, events without a decision.
func (r *Reader) Notes() (list []string) {
	list = append(list, r.Trace.Damage...)
	if r.it != nil {
		list = append(list, r.it.Damage()...)
	}
	list = append(list, r.skippedText()...)
	if first, last, ok := r.Trace.Span(); ok && r.it != nil && r.Read == 0 && (r.q.From != 0 || r.q.To != 0) {
		begin := time.Unix(0, first+r.Trace.Info.WallOffset)
		list = append(list, fmt.Sprintf("there are no events in this time: the trace has %v, from %s on", time.Duration(last-first), begin.Format("2006-01-02 15:04:05.999999999")))
	}
	if from := r.Incomplete(); from != 0 {
		at := time.Unix(0, from+r.Trace.Info.WallOffset)
		list = append(list, fmt.Sprintf("all events are there from %s on (--from complete); some of the older ones are missing", at.Format("2006-01-02 15:04:05.999999999")))
	}
	if r.Unknown > 0 {
		list = append(list, fmt.Sprintf("%d events are left out: --where needs values that the trace does not have for them", r.Unknown))
	}
	return list
}

// Incomplete is from which time on the trace has all events, if the query is also for older ones; 0: there are none, or all of them are there.
func (r *Reader) Incomplete() int64 {
	from := r.Trace.CompleteFrom
	first, _, ok := r.Trace.Span()
	if !ok || max(first, r.q.From) >= from {
		return 0
	}
	return from
}

// partly reports whether a place has other events too, which are not left out: one place may have several lists, as with --snapshot-on.
func (r *Reader) partly(place string) bool {
	return slices.ContainsFunc(r.scopes, func(sc *scope) bool { return sc.schema.Place == place && !r.left[sc.schema] })
}

// skippedText names the places that are left out, those with the same reason together.
func (r *Reader) skippedText() (list []string) {
	var reasons []string
	places := map[string][]string{}
	for _, x := range r.Skipped {
		if places[x.Why] == nil {
			reasons = append(reasons, x.Why)
		}
		name := x.Place
		if r.partly(name) {
			name += " (some of them)"
		}
		places[x.Why] = append(places[x.Why], name)
	}
	const most = 4
	for _, why := range reasons {
		names := places[why]
		text := strings.Join(names[:min(len(names), most)], ", ")
		if n := len(names) - most; n > 0 {
			text += fmt.Sprintf(" and %d other places", n)
		}
		list = append(list, "the events of "+text+" are left out: "+why)
	}
	return list
}
