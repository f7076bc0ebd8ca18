package format

import (
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
)

// An array with a Grid has its numbers of elements in the event, the dimension that runs fastest first.

// gridRows appends the elements of dimension k in data.
type gridRows struct {
	counts  []int64
	elem    *ctype.Type
	size    int64 // of elem
	open    byte
	shut    byte
	between string
	more    string // behind the last element that was recorded
	row     func(b []byte, data []byte, n int64) []byte
}

func (g *gridRows) append(b, data []byte, k int) []byte {
	if k == 0 {
		n := min(g.counts[0], int64(len(data))/g.size)
		b = g.row(b, data, n)
		if n < g.counts[0] && g.more != "" && n > 0 && b[len(b)-1] == g.shut {
			b = append(append(b[:len(b)-1], g.more...), g.shut)
		}
		return b
	}
	b = append(b, g.open)
	one := g.size
	for _, n := range g.counts[:k] {
		one *= n
	}
	for i := range g.counts[k] {
		if one > 0 && len(data) == 0 {
			b = append(b, g.more...)
			break
		}
		if i > 0 {
			b = append(b, g.between...)
		}
		n := min(one, int64(len(data)))
		b = g.append(b, data[:n], k-1)
		data = data[n:]
	}
	return append(b, g.shut)
}

// grid prints an array of several dimensions.
func (p *Printer) grid(b []byte, v *event.Value, letter Fmt) []byte {
	elem := v.Field.Grid.Elem
	t, size := elem, elem.Strip().Size
	last := len(v.Counts) - 1
	whole := !v.Truncated
	for _, n := range v.Counts[:last] {
		t = ctype.ArrayOf(t, n)
		whole = whole && n > 0
	}
	if n := v.Counts[last]; whole && n > 0 {
		return p.elements(b, t, valueItem(v, p.Symbol), n, t.Strip().Size, letter)
	}
	g := &gridRows{counts: v.Counts, elem: elem, size: size, open: '{', shut: '}', between: ", ", more: "..."}
	g.row = func(b, data []byte, n int64) []byte {
		if text := textual(elem, letter); text.width > 0 {
			return p.str(b, text, data[:n*size], endOfArray)
		}
		if n == 0 {
			return append(b, '{', '}')
		}
		return p.elements(b, elem, item{data: data}, n, size, letter)
	}
	return g.append(b, v.Data, last)
}

// jsonGrid writes an array of several dimensions; elements that were not recorded are left out.
func jsonGrid(b []byte, v *event.Value) []byte {
	elem := v.Field.Grid.Elem
	size := elem.Strip().Size
	g := &gridRows{counts: v.Counts, elem: elem, size: size, open: '[', shut: ']', between: ","}
	g.row = func(b, data []byte, n int64) []byte {
		return jsonArray(b, elem, item{data: data}, n, size, v.Field.Show.Letter == 's', nil)
	}
	return g.append(b, v.Data, len(v.Counts)-1)
}
