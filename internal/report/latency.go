package report

import (
	"cmp"
	"container/heap"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/format"
	"github.com/jalon-trace/jalon/internal/lang"
)

// Latency has the times from events of one place to the next ones of another in the same thread, or with the same key.
type Latency struct {
	From, To string
	Hist     Hist
	Slowest  []Pair // longest first
	Pairs    uint64
	// Open are events of From behind which none of To came; Alone those of To before which none of From came.
	Open, Alone uint64
	// Dropped are pairs that were not followed: too many were open at once.
	Dropped uint64
	Sum     int64
}

// Pair is an event of each place.
type Pair struct {
	At   int64  `json:"time"` // of the first
	NS   int64  `json:"ns"`
	Pid  int    `json:"pid"` // of the second
	Tid  int    `json:"tid"`
	Comm string `json:"comm"`
	Text string `json:"event"` // the second
	Key  string `json:"key,omitempty"`
}

// Limits of what a latency report keeps.
const (
	maxOpen    = 1 << 20 // events without their second one
	maxNesting = 256     // of them in a thread
)

// MakeLatency pairs events. In a thread they are nested like calls: an event of to ends the last open one of from. If from and to are the
// same place, each event ends the one before it. by, if not "", is a list of expressions whose values must be equal instead of the thread.
func MakeLatency(r *Reader, from, to, by string, top int) (*Latency, error) {
	a, err := r.placeNamed("--latency", from)
	if err != nil {
		return nil, err
	}
	b, err := r.placeNamed("--latency", to)
	if err != nil {
		return nil, err
	}
	keys, err := r.keysBy(by, a, b)
	if err != nil {
		return nil, err
	}
	x := &Latency{From: a, To: b, Hist: Hist{Name: a + " → " + b + " (ns)"}}
	p := &pairing{x: x, top: top, keys: keys, open: map[string][]int64{}, byThread: map[int][]int64{}, same: a == b}
	err = r.Each(func(ev *event.Event) error {
		isA, isB := isPlace(ev.Schema, a), isPlace(ev.Schema, b)
		if isB {
			p.end(ev)
		}
		if isA {
			p.begin(ev)
		}
		return nil
	})
	for _, list := range p.byThread {
		x.Open += uint64(len(list))
	}
	for _, list := range p.open {
		x.Open += uint64(len(list))
	}
	if p.same {
		x.Open = 0
	}
	x.Slowest = p.slowest
	slices.SortFunc(x.Slowest, func(a, b Pair) int { return cmp.Or(-cmp.Compare(a.NS, b.NS), cmp.Compare(a.At, b.At)) })
	return x, err
}

// keysBy are programs that make the keys of events of places; nil: threads are.
func (r *Reader) keysBy(by string, places ...string) (map[*event.Schema]*view, error) {
	if by == "" {
		return nil, nil
	}
	items, err := parseList("--by", by)
	if err != nil {
		return nil, err
	}
	for _, it := range items {
		if err := unknownNames(it.X, it.From, r.scopes); err != nil {
			return nil, err
		}
	}
	keys := map[*event.Schema]*view{}
	for _, sc := range r.scopes {
		v, err := sc.view(items)
		if err == nil {
			keys[sc.schema] = v
		} else if !isUsers(err) {
			return nil, err
		} else if slices.Contains(places, sc.schema.Place) {
			_, missing := sc.has(items, r.all)
			r.leave(sc, cmp.Or(lackText(missing), reason(err)))
		}
	}
	return keys, nil
}

type pairing struct {
	x        *Latency
	top      int
	same     bool
	keys     map[*event.Schema]*view
	open     map[string][]int64
	byThread map[int][]int64
	count    int
	slowest  pairHeap
	line     eventLine
	maker    *keyMaker
}

func (p *pairing) key(ev *event.Event) (string, bool) {
	v := p.keys[ev.Schema]
	if v == nil {
		return "", false
	}
	if p.maker == nil {
		p.maker = newKeyMaker(nil, nil)
	}
	return p.maker.key(v.show(ev), 0), true
}

func (p *pairing) begin(ev *event.Event) {
	if p.count >= maxOpen {
		p.x.Dropped++
		return
	}
	if p.keys == nil {
		list := p.byThread[ev.Tid]
		if p.same {
			p.byThread[ev.Tid] = append(list[:0], ev.TimeNS)
			return
		}
		if len(list) >= maxNesting {
			p.x.Dropped++
			return
		}
		p.byThread[ev.Tid] = append(list, ev.TimeNS)
		p.count++
		return
	}
	key, ok := p.key(ev)
	if !ok {
		return
	}
	list := p.open[key]
	if p.same {
		list = list[:0]
	}
	if len(list) >= maxNesting {
		p.x.Dropped++
		return
	}
	p.open[key] = append(list, ev.TimeNS)
	p.count++
}

func (p *pairing) end(ev *event.Event) {
	key, list := "", []int64(nil)
	if p.keys == nil {
		list = p.byThread[ev.Tid]
	} else {
		key, _ = p.key(ev)
		list = p.open[key]
	}
	if len(list) == 0 {
		if !p.same {
			p.x.Alone++
		}
		return
	}
	last := len(list) - 1
	began := list[last]
	if !p.same || p.keys != nil {
		p.count--
	}
	switch {
	case p.keys == nil:
		p.byThread[ev.Tid] = list[:last]
	case last == 0:
		delete(p.open, key)
	default:
		p.open[key] = list[:last]
	}
	ns := ev.TimeNS - began
	p.x.Pairs++
	p.x.Sum += ns
	p.x.Hist.add("", ns)
	if p.top > 0 && (len(p.slowest) < p.top || ns > p.slowest[0].NS) {
		heap.Push(&p.slowest, Pair{began, ns, ev.Pid, ev.Tid, ev.Comm, p.line.text(ev), key})
		if len(p.slowest) > p.top {
			heap.Pop(&p.slowest)
		}
	}
}

// pairHeap has the shortest pair first.
type pairHeap []Pair

func (h pairHeap) Len() int           { return len(h) }
func (h pairHeap) Less(i, j int) bool { return h[i].NS < h[j].NS }
func (h pairHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *pairHeap) Push(x any)        { *h = append(*h, x.(Pair)) }
func (h *pairHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}

// eventLine makes a short text of an event's fields.
type eventLine struct {
	printer format.Printer
	buf     []byte
}

func (l *eventLine) text(ev *event.Event) string {
	l.buf = AppendValues(l.buf[:0], &l.printer, ev)
	return string(l.buf)
}

// AppendValues appends NAME=VALUE of the fields that fit on a line.
func AppendValues(b []byte, p *format.Printer, ev *event.Event) []byte {
	for i := range ev.Schema.Fields {
		f := &ev.Schema.Fields[i]
		v := ev.Value(i)
		switch f.Kind {
		case event.Regs, event.Stack, event.KernelFrames, event.UserFrames, event.SData:
			continue
		}
		if len(b) > 0 {
			b = append(b, ' ')
		}
		b = append(append(b, f.Name...), '=')
		b = p.AppendField(b, ev, &v)
	}
	return b
}

// placeNamed finds a place of the trace by its text or function.
func (r *Reader) placeNamed(flag, name string) (string, error) {
	var all []string
	for _, sc := range r.scopes {
		all = append(all, sc.schema.Place)
	}
	if slices.Contains(all, name) {
		return name, nil
	}
	var found []string
	for _, sc := range r.scopes {
		if p := sc.schema.Place; sc.schema.Function == name || strings.Contains(p, name) {
			found = append(found, p)
		}
	}
	slices.Sort(found)
	found = slices.Compact(found)
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		hint := lang.DidYouMean(lang.Nearest(name, all, 3))
		if hint == "" && len(all) > 0 {
			slices.Sort(all)
			all = slices.Compact(all)
			hint = "places: " + strings.Join(all[:min(len(all), 12)], ", ")
		}
		return "", lang.At(flag, name, lang.Span{Hi: len(name)}, "the trace has no events of this place", hint)
	}
	return "", lang.At(flag, name, lang.Span{Hi: len(name)}, "several places have this in their names", strings.Join(found[:min(len(found), 12)], ", "))
}

func isPlace(s *event.Schema, place string) bool { return s.Place == place }

// Text writes the histogram and the slowest pairs. offset is added for the wall clock.
func (x *Latency) Text(w io.Writer, offset int64) error {
	x.Hist.asMap(x.Hist.Name).Text(w)
	fmt.Fprintf(w, "%d pairs", x.Pairs)
	if x.Pairs > 0 {
		fmt.Fprintf(w, ", average %v", time.Duration(x.Sum/int64(x.Pairs)))
	}
	for _, part := range []struct {
		n    uint64
		text string
	}{{x.Open, "events of " + x.From + " without an end"}, {x.Alone, "events of " + x.To + " without a beginning"}, {x.Dropped, "not followed: too many are open"}} {
		if part.n > 0 {
			fmt.Fprintf(w, ", %d %s", part.n, part.text)
		}
	}
	fmt.Fprint(w, "\n")
	if len(x.Slowest) == 0 {
		return nil
	}
	fmt.Fprintln(w, "\nslowest:")
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, p := range x.Slowest {
		fmt.Fprintf(tw, "%v\t%s\t%s\t%s\n", time.Duration(p.NS), time.Unix(0, p.At+offset).Format("15:04:05.000000"), oneLine(threadName(p.Comm, p.Pid, p.Tid)), oneLine(p.Text))
	}
	return tw.Flush()
}

// oneLine replaces what would break a table: line breaks, tabs, and the byte 0xff, behind which tabwriter sees neither.
func oneLine(s string) string {
	return strings.NewReplacer("\n", " ", "\t", " ", "\v", " ", "\f", " ").Replace(format.PlainText(s))
}

// JSON writes an object.
func (x *Latency) JSON(w io.Writer) error {
	var hist struct {
		Data map[string]json.RawMessage `json:"data"`
	}
	var text strings.Builder
	x.Hist.JSON(&text)
	if text.Len() > 0 {
		if err := json.Unmarshal([]byte(text.String()), &hist); err != nil {
			return err
		}
	}
	return json.NewEncoder(w).Encode(map[string]any{
		"from": x.From, "to": x.To, "pairs": x.Pairs, "sum_ns": x.Sum, "open": x.Open, "alone": x.Alone, "dropped": x.Dropped, "slowest": x.Slowest, "hist": hist.Data[x.Hist.Name],
	})
}
