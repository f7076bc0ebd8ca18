package interp

import (
	"math"
	"strings"
	"time"

	"github.com/jalon-trace/jalon/internal/script/check"
	"github.com/jalon-trace/jalon/internal/script/printf"
	"github.com/jalon-trace/jalon/internal/script/show"
	"github.com/jalon-trace/jalon/internal/script/types"
)

// table is a map while the script runs.
type table struct {
	*check.Map
	elems map[string]*cell
	limit uint64
	lru   bool
	clock uint64 // of uses
	// The literals of the function that updates it.
	k               uint  // of hist
	low, high, step int64 // of lhist; interval and number of tseries
	by              string
	unsigned        bool // the values of a tseries
}

// cell is an element. Aggregations use the fields after v.
type cell struct {
	key    val
	v      val
	used   uint64
	count  uint64
	total  uint64 // of a map of floating-point values: the bits of a double
	counts []uint64
	series map[int64]*cell
}

func newTable(m *check.Map, p *check.Program) *table {
	t := &table{Map: m, elems: map[string]*cell{}, limit: uint64(p.Config.Int("max_map_keys"))}
	if m.Decl != nil {
		t.limit, t.lru = m.Decl.Max, strings.Contains(m.Decl.Kind, "lru")
	}
	return t
}

// get returns an element, or nil.
func (t *table) get(key val) *cell {
	c := t.elems[string(encode(nil, key))]
	if c != nil {
		t.clock++
		c.used = t.clock
	}
	return c
}

// make returns an element, which is made if it is missing; nil if the map is full.
func (t *table) make(key val) *cell {
	if c := t.get(key); c != nil {
		return c
	}
	if uint64(len(t.elems)) >= t.limit && !t.evict() {
		return nil
	}
	t.clock++
	c := &cell{key: key, used: t.clock}
	t.elems[string(encode(nil, key))] = c
	return c
}

// evict removes the element that was not used for longest from an lru map.
func (t *table) evict() bool {
	if !t.lru {
		return false
	}
	oldest, at := ^uint64(0), ""
	for k, c := range t.elems {
		if c.used < oldest {
			oldest, at = c.used, k
		}
	}
	delete(t.elems, at)
	return true
}

// update executes count(), sum() and the like. Of a map of floating-point values n has the bits of a double.
func (t *table) update(c *cell, fn string, n uint64, signed bool, now time.Time) {
	c.count++
	less := func(a, b uint64) bool {
		if t.Value.Float {
			return math.Float64frombits(a) < math.Float64frombits(b)
		}
		if signed {
			return int64(a) < int64(b)
		}
		return a < b
	}
	switch fn {
	case "sum", "avg", "stats":
		c.total = plus(c.total, n, t.Value.Float)
	case "min":
		if c.count == 1 || less(n, c.total) {
			c.total = n
		}
	case "max":
		if c.count == 1 || less(c.total, n) {
			c.total = n
		}
	case "hist":
		c.add(t.histIndex(n))
	case "lhist":
		c.add(t.linearIndex(n))
	case "tseries":
		t.tick(c, n, signed, now)
	}
}

// plus adds numbers, or doubles by their bits.
func plus(a, b uint64, doubles bool) uint64 {
	if doubles {
		return math.Float64bits(math.Float64frombits(a) + math.Float64frombits(b))
	}
	return a + b
}

func (t *table) histIndex(n uint64) int {
	if t.Value.Float {
		return show.RealIndex(math.Float64frombits(n), t.k)
	}
	return show.HistIndex(int64(n), t.k)
}

func (t *table) linearIndex(n uint64) int {
	if !t.Value.Float {
		return show.LinearIndex(int64(n), t.low, t.high, t.step)
	}
	switch x := math.Floor(math.Float64frombits(n)); { // bounds are integers, so this is in the same range
	case x < float64(t.low):
		return 0
	case x >= float64(t.high):
		return show.LinearIndex(t.high, t.low, t.high, t.step)
	default:
		return show.LinearIndex(int64(x), t.low, t.high, t.step)
	}
}

func (c *cell) add(index int) {
	for len(c.counts) <= index {
		c.counts = append(c.counts, 0)
	}
	c.counts[index]++
}

// tick updates the interval of a time series.
func (t *table) tick(c *cell, n uint64, signed bool, now time.Time) {
	t.unsigned = !signed
	if c.series == nil {
		c.series = map[int64]*cell{}
	}
	epoch := now.UnixNano() / t.low
	s := c.series[epoch]
	if s == nil {
		s = &cell{}
		c.series[epoch] = s
		delete(c.series, epoch-t.high)
	}
	if t.by == "" {
		s.count, s.total = 1, n
		return
	}
	t.update(s, t.by, n, signed, now)
}

// value is what reading an element gives.
func (c *cell) value(t *types.Type) val {
	switch t.Kind {
	case types.Count:
		return num(c.count)
	case types.Sum, types.Min, types.Max:
		return numberOf(c.total, t)
	case types.Avg:
		return numberOf(c.average(t), t)
	case types.Stats:
		return val{list: []val{num(c.count), numberOf(c.average(t), t), numberOf(c.total, t)}}
	}
	return c.v
}

// numberOf is a number, or a double by its bits.
func numberOf(n uint64, t *types.Type) val {
	if t.Float {
		return val{f: math.Float64frombits(n)}
	}
	return num(n)
}

// average is the average of what was added up: as its total, the bits of a double or a number.
func (c *cell) average(t *types.Type) uint64 {
	switch {
	case c.count == 0:
		return 0
	case t.Float:
		return math.Float64bits(math.Float64frombits(c.total) / float64(c.count))
	case t.Signed:
		return uint64(int64(c.total) / int64(c.count))
	}
	return c.total / c.count
}

// zero sets all values to 0.
func (t *table) zero() {
	for _, c := range t.elems {
		*c = cell{key: c.key, used: c.used}
		if !t.Value.Aggregated() {
			c.v = blank(t.Value)
		}
	}
}

// blank is the value 0 of a type.
func blank(t *types.Type) val {
	switch t.Kind {
	case types.Tuple, types.Record:
		v := val{list: make([]val, len(t.Fields))}
		for i, f := range t.Fields {
			v.list[i] = blank(f.Type)
		}
		return v
	case types.Array:
		v := val{list: make([]val, t.Count)}
		for i := range v.list {
			v.list[i] = blank(t.Elem)
		}
		return v
	}
	return val{}
}

// shown is the map as it is printed; the largest top elements, divided.
func (t *table) shown(top int, div uint64) *show.Map {
	m := &show.Map{Name: t.Name, Scalar: t.Scalar}
	div = max(div, 1)
	for _, c := range t.elems {
		e := show.Elem{Key: printed(c.key, t.Key)}
		switch t.Value.Kind {
		case types.Hist, types.LHist:
			m.Kind = show.Hists
			h := t.histogram(c, div)
			e.Hist, e.Order = &h, show.Order{N: c.count}
		case types.TSeries:
			m.Kind = show.Serieses
			e.Series, e.Order = t.points(c)
		case types.Stats:
			m.Kind = show.Stats
			e.Value, e.Order = t.stats(c, div), order(numberOf(c.average(t.Value), t.Value), t.Value)
		default:
			if t.Value.Kind == types.Avg {
				m.Kind = show.Stats
			}
			v, number := c.value(t.Value), t.Value.Number()
			if number.Is(types.Int, types.Float) {
				e.Order = order(v, number)
				v = divided(v, div, number)
			}
			e.Value = printed(v, number)
		}
		m.Elems = append(m.Elems, e)
	}
	m.Sort(top)
	return m
}

func (t *table) histogram(c *cell, div uint64) show.Histogram {
	switch {
	case t.Value.Kind == types.LHist:
		h := show.Linear(c.counts, t.low, t.high, max(t.step, 1))
		h.Real = t.Value.Float
		return h
	case t.Value.Float:
		return show.RealHist(c.counts, t.k, div)
	}
	return show.Hist(c.counts, t.k, div)
}

// order is the place of a number among those of its type.
func order(v val, t *types.Type) show.Order {
	if t.Floating() || t.Float {
		return show.RealOrder(v.f)
	}
	return show.Order{N: v.n, Signed: t.Signed}
}

func divided(v val, div uint64, t *types.Type) val {
	switch {
	case t.Floating() || t.Float:
		return val{f: v.f / float64(div)}
	case t.Signed && int64(div) > 0:
		return num(uint64(int64(v.n) / int64(div)))
	}
	return num(v.n / div)
}

func (t *table) stats(c *cell, div uint64) printf.Value {
	number := types.Aggregate(types.Sum, t.Value.Signed).Number()
	if t.Value.Float {
		number = types.FloatT
	}
	average, total := numberOf(c.average(t.Value), t.Value), numberOf(c.total, t.Value)
	return printf.Record([]string{"count", "average", "total"},
		[]printf.Value{printf.Uint(c.count), printed(divided(average, div, number), number), printed(total, number)})
}

// points is a time series up to its last interval.
func (t *table) points(c *cell) (*show.Series, show.Order) {
	s := &show.Series{Interval: time.Duration(t.low)}
	first, last := int64(1<<63-1), int64(-1<<63)
	for epoch := range c.series {
		first, last = min(first, epoch), max(last, epoch)
	}
	for epoch := max(first, last-t.high+1); len(c.series) > 0 && epoch <= last; epoch++ {
		p := show.Point{Start: time.Unix(0, epoch*t.low)}
		if e := c.series[epoch]; e != nil {
			number := types.Aggregate(types.Sum, !t.unsigned)
			number.Float = t.Value.Float
			n := e.total
			if t.by == "avg" {
				n = e.average(number)
			}
			p.Value = printed(numberOf(n, number), number)
		}
		s.Points = append(s.Points, p)
	}
	return s, show.Order{N: uint64(last)}
}
