package event

import (
	"encoding/binary"
	"errors"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// Grid says how the elements of an array lie that is recorded with its extents. The field's Counted slot has the bytes from
// the lowest to the highest address of an element. At Offset are words of 8 bytes: the number of elements of each dimension
// and the bytes from one to the next, of the dimension that runs fastest first, then the place of the first element.
type Grid struct {
	Elem   *ctype.Type
	Rank   int
	Offset int
}

// Words is the number of words at Offset.
func (g *Grid) Words() int { return 2*g.Rank + 1 }

// spread puts the elements one behind the other. The numbers in the record may be any.
func (v *Value) spread(g *Grid) {
	size := g.Elem.Strip().Size
	words, ok := v.event.slot(g.Offset, 8*g.Words())
	if !ok || size <= 0 {
		v.Status = Unsupported
		return
	}
	word := func(i int) int64 { return int64(binary.LittleEndian.Uint64(words[8*i:])) }
	v.Counts = make([]int64, g.Rank)
	for k := range v.Counts {
		v.Counts[k] = max(0, word(2*k))
		if v.Counts[k] == 0 {
			v.Data, v.Truncated = nil, false
		}
	}
	raw, index, at := v.Data, make([]int64, g.Rank), word(2*g.Rank)
	out := make([]byte, 0, len(raw))
	for len(raw) > 0 {
		if at < 0 || at > int64(len(raw))-size || len(out)+int(size) > v.Field.Size {
			v.Truncated = true
			break
		}
		out = append(out, raw[at:at+size]...)
		k := 0
		for ; k < g.Rank; k++ {
			index[k]++
			at += word(2*k + 1)
			if index[k] < v.Counts[k] {
				break
			}
			at -= v.Counts[k] * word(2*k+1)
			index[k] = 0
		}
		if k == g.Rank {
			v.Truncated = false
			break
		}
	}
	v.Data = out
}

// gridJSON is a Grid in a schema file.
type gridJSON struct {
	Elem   int `json:"elem"`
	Rank   int `json:"rank"`
	Offset int `json:"offset"`
}

// maxRank bounds the dimensions of an array in a schema file.
const maxRank = 16

func (e *encoder) grid(g *Grid) *gridJSON {
	if g == nil {
		return nil
	}
	return &gridJSON{e.types.add(g.Elem, true), g.Rank, g.Offset}
}

func (d *decoder) grid(x *gridJSON, kind FieldKind) (*Grid, error) {
	if x == nil {
		return nil, nil
	}
	g := &Grid{Rank: x.Rank, Offset: x.Offset}
	if kind != Counted || x.Rank < 1 || x.Rank > maxRank || !inRecord(x.Offset) || !inRecord(x.Offset+8*g.Words()) {
		return nil, errors.New("its extents are not possible")
	}
	var err error
	if g.Elem, err = d.types.get(x.Elem); err == nil && g.Elem == nil {
		err = errors.New("its elements have no type")
	}
	return g, err
}
