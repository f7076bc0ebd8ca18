package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/format"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/script/printf"
	"github.com/jalon-trace/jalon/internal/script/show"
)

// Hist is a histogram of the values of an expression, or one for each value of a key.
type Hist struct {
	Name    string
	Keyed   bool
	Unknown uint64 // events that have no value
	keys    map[string]*histogram
}

type histogram struct {
	counts []uint64
	events uint64
	sum    float64
	least  int64
	most   int64
}

const (
	// histBits divides each power of two: no division, as bpftrace's hist.
	histBits = 0
	// maxKeys limits the histograms; further keys share one.
	maxKeys  = 4096
	otherKey = "(other keys)"
)

func (h *histogram) add(v int64) {
	n := show.HistIndex(v, histBits)
	for len(h.counts) <= n {
		h.counts = append(h.counts, 0)
	}
	h.counts[n]++
	if h.events == 0 || v < h.least {
		h.least = v
	}
	if h.events == 0 || v > h.most {
		h.most = v
	}
	h.events++
	h.sum += float64(v)
}

func (x *Hist) add(key string, v int64) {
	h := x.keys[key]
	if h == nil {
		if x.keys == nil {
			x.keys = map[string]*histogram{}
		}
		if len(x.keys) >= maxKeys {
			key = otherKey
			h = x.keys[key]
		}
		if h == nil {
			h = &histogram{}
			x.keys[key] = h
		}
	}
	h.add(v)
}

// MakeHist makes histograms of an expression by another one ("": none).
func MakeHist(r *Reader, expr, by string) (*Hist, error) {
	value, err := oneItem("--hist", expr)
	if err != nil {
		return nil, err
	}
	items := []lang.Collect{value}
	if by != "" {
		key, err := parseList("--by", by)
		if err != nil {
			return nil, err
		}
		items = append(items, key...)
	}
	if err := r.views(items, false); err != nil {
		return nil, err
	}
	if err := r.numbers(value); err != nil {
		return nil, err
	}
	x := &Hist{Name: expr, Keyed: by != ""}
	m := newKeyMaker(r.Unwind, r.Symbol())
	return x, r.Each(func(ev *event.Event) error {
		n, ok := m.number(ev, 0)
		if !ok {
			x.Unknown++
			return nil
		}
		x.add(m.key(ev, 1), n)
		return nil
	})
}

func oneItem(source, text string) (lang.Collect, error) {
	list, err := parseList(source, text)
	if err != nil {
		return lang.Collect{}, err
	}
	if len(list) != 1 {
		return lang.Collect{}, lang.At(source, text, lang.Span{Lo: list[1].Span.Lo, Hi: len(text)}, "one expression is expected here", "the values of another one are keys: --by EXPR")
	}
	return list[0], nil
}

// numbers reports whether the first field of the views is a number.
func (r *Reader) numbers(it lang.Collect) error {
	for _, s := range r.Schemas() {
		if len(s.Fields) == 0 {
			continue
		}
		switch format.SimpleOf(&s.Fields[0]) {
		case format.SimpleInt, format.SimpleUint, format.SimpleBool, format.SimplePointer, format.SimpleNone, format.SimpleFloat:
		default:
			if f := &s.Fields[0]; f.Type != nil && f.Size <= 8 && f.Kind == event.Fixed && f.StrSize == 0 && len(f.Gaps) == 0 && format.SimpleOf(f) == format.SimpleText {
				continue // an enum
			}
			return it.From.At(it.Span, "this is not a number", "a histogram is made of integers; of floating numbers it has the integral parts")
		}
	}
	return nil
}

// keyMaker makes keys and numbers of events.
type keyMaker struct {
	printer format.Printer
	simples *format.Simples
	kinds   map[*event.Schema][]format.SimpleKind
	buf     []byte
}

func newKeyMaker(unwind format.Unwinder, symbol func(uint64) string) *keyMaker {
	return &keyMaker{simples: format.NewSimples(&format.Trace{Unwind: unwind, Symbol: symbol}), kinds: map[*event.Schema][]format.SimpleKind{}}
}

func (m *keyMaker) kind(ev *event.Event, i int) format.SimpleKind {
	list, ok := m.kinds[ev.Schema]
	if !ok {
		for i := range ev.Schema.Fields {
			list = append(list, format.SimpleOf(&ev.Schema.Fields[i]))
		}
		m.kinds[ev.Schema] = list
	}
	return list[i]
}

// number is field i as a number.
func (m *keyMaker) number(ev *event.Event, i int) (int64, bool) {
	v := ev.Value(i)
	kind := m.kind(ev, i)
	if kind == format.SimpleText { // an enum
		kind = format.SimpleInt
	}
	switch x := m.simples.Value(ev, &v, kind); x.Kind {
	case format.SimpleInt:
		return x.Int, true
	case format.SimpleUint, format.SimplePointer, format.SimpleBool:
		return int64(min(x.Uint, math.MaxInt64)), true
	case format.SimpleFloat:
		if x.Float != x.Float {
			return 0, false
		}
		return int64(max(min(x.Float, math.MaxInt64/2), math.MinInt64/2)), true
	}
	return 0, false
}

// known reports whether all fields have values.
func (m *keyMaker) known(ev *event.Event) bool {
	for i := range ev.Schema.Fields {
		if v := ev.Value(i); v.Status != event.OK {
			return false
		}
	}
	return true
}

// key is the text of the fields from i on.
func (m *keyMaker) key(ev *event.Event, i int) string {
	m.buf = m.buf[:0]
	for n := i; n < len(ev.Schema.Fields); n++ {
		if n > i {
			m.buf = append(m.buf, ", "...)
		}
		v := ev.Value(n)
		switch x := m.simples.Value(ev, &v, m.kind(ev, n)); x.Kind {
		case format.SimpleText:
			m.buf = append(m.buf, x.Text...)
		default:
			m.buf = m.printer.AppendField(m.buf, ev, &v)
		}
	}
	return string(m.buf)
}

// asMap is the histogram as scripts show them.
func (x *Hist) asMap(name string) *show.Map {
	m := &show.Map{Name: name, Scalar: !x.Keyed, Kind: show.Hists}
	for key, h := range x.keys {
		drawn := show.Hist(h.counts, histBits, 1)
		m.Elems = append(m.Elems, show.Elem{Key: printf.Text(key), Hist: &drawn, Order: show.Order{N: h.events}})
	}
	m.Sort(0)
	return m
}

// Text draws the histograms, the one with most events last; top limits them.
func (x *Hist) Text(w io.Writer, top int) {
	m := x.asMap(x.Name)
	if top > 0 && len(m.Elems) > top {
		fmt.Fprintf(w, "%d other keys have fewer events\n\n", len(m.Elems)-top)
		m.Sort(top)
	}
	m.Text(w)
	for _, key := range x.sorted() {
		h := x.keys[key]
		name := x.Name
		if x.Keyed {
			name += "[" + key + "]"
		}
		if !x.Keyed {
			fmt.Fprintf(w, "%s: %d values, average %.1f, from %d to %d\n", name, h.events, h.sum/float64(h.events), h.least, h.most)
		}
	}
	x.unknown(w)
}

func (x *Hist) unknown(w io.Writer) {
	if x.Unknown > 0 {
		fmt.Fprintf(w, "%d events have no value of it\n", x.Unknown)
	}
}

func (x *Hist) sorted() (list []string) {
	for k := range x.keys {
		list = append(list, k)
	}
	slices.SortFunc(list, strings.Compare)
	return list
}

// JSON writes the histograms as scripts do.
func (x *Hist) JSON(w io.Writer) { x.asMap(x.Name).JSON(w) }
