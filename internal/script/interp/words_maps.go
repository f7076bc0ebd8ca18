package interp

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/types"
	"github.com/jalon-trace/jalon/internal/script/words"
)

func (m *library) printWord(at script.Expr, args []script.Expr) val {
	if x, ok := args[0].(*script.Map); ok {
		t := m.maps[x.Name]
		if t.Scalar && len(t.elems) == 0 && !t.Value.ManyValued() {
			empty := *t
			empty.elems = map[string]*cell{"": {v: blank(t.Value)}}
			t = &empty
		}
		if t != nil {
			m.print(t, int(min(m.literal(args, 1, 0), 1<<30)), m.literal(args, 2, 1))
		}
		return val{}
	}
	v := printed(m.expr(args[0]), m.typeOf(args[0]))
	if m.opts.JSON {
		fmt.Fprintf(m.opts.Out, "{\"type\": \"value\", \"data\": %s}\n", v.JSON())
		return val{}
	}
	fmt.Fprintln(m.opts.Out, v)
	return val{}
}

func (m *library) clear(at script.Expr, args []script.Expr) val {
	t := m.maps[args[0].(*script.Map).Name]
	if strings.HasPrefix(at.(*script.Call).Name, "clear") {
		clear(t.elems)
		if m.sites[t.Name] != nil && m.opts.ClearSites != nil {
			m.clearing = append(m.clearing, t.Name)
		}
	} else {
		t.zero()
	}
	return val{}
}

// mapKey is the map of the first argument, and a key of it.
func (m *library) mapKey(args []script.Expr) (*table, val) {
	switch x := args[0].(type) {
	case *script.Element:
		t := m.maps[x.Map.Name]
		return t, m.key(t, x.Key)
	case *script.Map:
		t := m.maps[x.Name]
		if len(args) > 1 {
			return t, m.key(t, args[1])
		}
		return t, val{}
	}
	return nil, val{}
}

func (m *library) remove(at script.Expr, args []script.Expr) val {
	t, key := m.mapKey(args)
	k := string(encode(nil, key))
	_, ok := t.elems[k]
	delete(t.elems, k)
	if !ok {
		m.warn(at, missingDelete)
	}
	return truth(ok)
}

func (m *library) hasKey(_ script.Expr, args []script.Expr) val {
	t, key := m.mapKey(args)
	return truth(t.get(key) != nil)
}

func (m *library) find(_ script.Expr, args []script.Expr) val {
	if m.hit != nil {
		if has, _, ok := m.recorded(args[2], m.turn); ok { // the site has looked
			if has.n != 0 {
				v, t, _ := m.recorded(args[0], m.turn)
				x := args[2].(*script.Var)
				m.set(x.Name, v, t, m.typeOf(x))
			}
			return truth(has.n != 0)
		}
	}
	t, key := m.mapKey(args)
	c := t.get(key)
	if c == nil {
		return truth(false)
	}
	v := args[2].(*script.Var)
	m.set(v.Name, c.value(t.Value), t.Value, m.typeOf(v))
	return truth(true)
}

func (m *library) length(at script.Expr, args []script.Expr) val {
	x, ok := args[0].(*script.Map)
	if !ok {
		if m.hit == nil {
			abandon(unavailable(at, "a stack"))
		}
		return num(depth(m.expr(args[0]).stack))
	}
	return num(uint64(len(m.maps[x.Name].elems)))
}

// adds are the functions that make a sum, which is not a number if one of the values is none.
var adds = map[string]bool{"sum": true, "avg": true, "stats": true, "tseries": true}

// aggregate executes @m = count() and the like.
func (m *library) aggregate(x script.Expr, call *script.Call, t *table, key val) {
	if b, ok := x.(*script.Block); ok && x != script.Expr(call) { // the statements before the call
		m.push()
		defer m.pop()
		for _, s := range b.Stmts {
			m.stmt(s)
		}
		if b.Value != script.Expr(call) {
			m.aggregate(b.Value, call, t, key)
			return
		}
	}
	var n uint64
	signed := true
	if len(call.Args) > 0 {
		at := m.typeOf(call.Args[0])
		v := m.expr(call.Args[0])
		if t.Value.Float {
			x := float(v, at)
			if math.IsNaN(x) && !adds[call.Name] {
				m.warn(call, notNumber)
				return
			}
			n = math.Float64bits(x)
		} else {
			n, signed = convert(v, at, types.IntOf(8, at.Signed)).n, at.Signed
		}
	}
	switch call.Name {
	case "hist":
		t.k = uint(m.literal(call.Args, 1, 0))
	case "lhist":
		t.low, t.high, t.step = int64(m.literal(call.Args, 1, 0)), int64(m.literal(call.Args, 2, 0)), int64(m.literal(call.Args, 3, 1))
	case "tseries":
		t.low, t.high = int64(max(m.literal(call.Args, 1, 1), 1)), int64(m.literal(call.Args, 2, 1))
		if len(call.Args) > 3 {
			t.by = m.expr(call.Args[3]).s
		}
	}
	if c := m.make(call, t, key); c != nil {
		t.update(c, call.Name, n, signed, seriesTime(m))
	}
}

// scalar is the number that a map without keys has.
func scalar(t *table) uint64 {
	if c := t.get(val{}); c != nil {
		return c.value(t.Value).n
	}
	return 0
}

// seriesTime is the time of a value in a time series: that of the hit, or now.
func seriesTime(m *library) time.Time {
	switch t := m.maps[m.opts.TimeMap]; {
	case t != nil:
		return time.Unix(0, int64(scalar(t)))
	case m.hit != nil:
		return time.Unix(0, int64(m.hit.Time+m.wall.at(m.hit.Time)))
	}
	return m.opts.Now()
}

// updater is the call that updates a map, as a value or at the end of a block.
func updater(x script.Expr) *script.Call {
	for {
		switch y := x.(type) {
		case *script.Call:
			if words.FindMapFunc(y.Name) != nil {
				return y
			}
			return nil
		case *script.Block:
			if y.Value == nil {
				return nil
			}
			x = y.Value
		default:
			return nil
		}
	}
}
