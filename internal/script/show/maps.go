package show

import (
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/jalon-trace/jalon/internal/script/printf"
)

// Kind is how the values of a map are shown.
type Kind uint8

// The kinds of maps.
const (
	Plain Kind = iota
	Stats
	Hists
	Serieses
)

// Map is what a map has at one moment.
type Map struct {
	Name   string
	Scalar bool // it has one element, without key
	Kind   Kind
	Elems  []Elem
}

// Elem is an element. Order decides its place: the smallest first; those of the same Order are in the order of
// their keys.
type Elem struct {
	Key    printf.Value
	Value  printf.Value // of Plain and Stats
	Hist   *Histogram
	Series *Series
	Order  Order
}

// Order is a number of 64 bits, signed or not.
type Order struct {
	N      uint64
	Signed bool
}

func (o Order) less(p Order) bool {
	switch a, b := o.Signed && int64(o.N) < 0, p.Signed && int64(p.N) < 0; {
	case a != b:
		return a
	case a:
		return int64(o.N) < int64(p.N)
	}
	return o.N < p.N
}

// Sort puts elements in their order and keeps the last top of them; all if top is 0.
func (m *Map) Sort(top int) {
	sort.SliceStable(m.Elems, func(i, j int) bool {
		a, b := &m.Elems[i], &m.Elems[j]
		if a.Order.less(b.Order) || b.Order.less(a.Order) {
			return a.Order.less(b.Order)
		}
		return a.Key.Less(b.Key)
	})
	if top > 0 && len(m.Elems) > top {
		m.Elems = m.Elems[len(m.Elems)-top:]
	}
}

// Text writes the map as bpftrace does.
func (m *Map) Text(w io.Writer) {
	for i := range m.Elems {
		e := &m.Elems[i]
		name := m.Name
		if !m.Scalar {
			name += "[" + e.Key.Key() + "]"
		}
		switch {
		case e.Hist != nil:
			fmt.Fprintf(w, "%s:\n", name)
			e.Hist.text(w)
			fmt.Fprintln(w)
		case e.Series != nil:
			fmt.Fprintf(w, "%s:\n", name)
			e.Series.text(w)
			fmt.Fprintln(w)
		default:
			fmt.Fprintf(w, "%s: %s\n", name, e.Value)
		}
	}
}

// jsonTypes are the names of the kinds in JSON lines.
var jsonTypes = [...]string{Plain: "map", Stats: "stats", Hists: "hist", Serieses: "tseries"}

// JSON writes the map as a line. Maps without elements are not written.
func (m *Map) JSON(w io.Writer) {
	if len(m.Elems) == 0 {
		return
	}
	data := ""
	if m.Scalar {
		data = m.Elems[0].json()
	} else {
		parts := make([]string, len(m.Elems))
		for i := range m.Elems {
			e := &m.Elems[i]
			parts[i] = printf.Quote(e.Key.JSONKey()) + ": " + e.json()
		}
		data = "{" + strings.Join(parts, ", ") + "}"
	}
	fmt.Fprintf(w, "{\"type\": %q, \"data\": {%s: %s}}\n", jsonTypes[m.Kind], printf.Quote(m.Name), data)
}

func (e *Elem) json() string {
	switch {
	case e.Hist != nil:
		return e.Hist.json()
	case e.Series != nil:
		return e.Series.json()
	}
	return e.Value.JSON()
}
