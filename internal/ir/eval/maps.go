package eval

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/jalon-trace/jalon/internal/ir"
)

// Key is a key of a map: its words, and zeros.
type Key [ir.MaxKeyWords]uint64

// Slot is what a map has for a key.
type Slot struct {
	Shown bool
	Words []uint64
}

// Maps are maps by number, each with the slots of its keys.
type Maps []map[Key]*Slot

// Clone copies maps, and makes n of them.
func (m Maps) Clone(n int) Maps {
	out := make(Maps, n)
	for i := range out {
		out[i] = map[Key]*Slot{}
		if i < len(m) {
			maps.Copy(out[i], m[i])
		}
		for k, s := range out[i] {
			out[i][k] = &Slot{s.Shown, slices.Clone(s.Words)}
		}
	}
	return out
}

// slot gives the result of an operation that looks for a key: its number in r.slots, from 1, or 0.
func (r *run) slot(i *ir.Instr, s *Slot) flow {
	if s == nil {
		return r.set(i, 0)
	}
	r.slots = append(r.slots, s)
	return r.set(i, uint64(len(r.slots)))
}

// inMap returns the map of i and the key.
func (r *run) inMap(i *ir.Instr) (map[Key]*Slot, Key) {
	m := &r.p.Maps[i.Aux]
	if m.Single {
		return r.out.Maps[i.Aux], Key{}
	}
	k := Key{r.values[i.A], r.values[i.B]}
	copy(k[2:], r.key[2:2+m.More])
	return r.out.Maps[i.Aux], k
}

// keyText sets words of the key to a string.
func (r *run) keyText(i *ir.Instr) flow {
	b := r.read(r.values[i.A], i.Aux)
	if end := bytes.IndexByte(b, 0); end >= 0 {
		b = b[:end]
	} else if int64(len(b)) < i.Aux {
		return fault
	}
	words := (i.Aux + 7) / 8
	b = append(b, make([]byte, 8*words-int64(len(b)))...)
	for n := range words {
		r.key[i.Imm+n] = little(b[8*n : 8*n+8])
	}
	return next
}

// mapCount adds to a word by number.
func (r *run) mapCount(i *ir.Instr) flow {
	if words := r.of(i).Words; r.values[i.B] < uint64(len(words)) {
		words[r.values[i.B]]++
	}
	return next
}

// mapMax raises a word.
func (r *run) mapMax(i *ir.Instr) flow {
	w := &r.of(i).Words[i.Imm]
	*w = max(*w, r.values[i.B])
	return next
}

func (r *run) mapSlot(i *ir.Instr) flow {
	m, k := r.inMap(i)
	s := m[k]
	switch {
	case s == nil && r.m.MapsFull && !r.p.Maps[i.Aux].Single:
		r.out.NoRoom++
	case s == nil:
		s = &Slot{Words: make([]uint64, r.p.Maps[i.Aux].Words)}
		m[k] = s
	}
	return r.slot(i, s)
}

func (r *run) mapFind(i *ir.Instr) flow {
	m, k := r.inMap(i)
	s := m[k]
	if s != nil && !s.Shown {
		s = nil
	}
	return r.slot(i, s)
}

// of is the slot that i works on; without one, a slot that nothing refers to.
func (r *run) of(i *ir.Instr) *Slot {
	if n := r.values[i.A]; n != 0 {
		return r.slots[n-1]
	}
	return &Slot{Words: make([]uint64, r.p.Maps[i.Aux].Words)}
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// onMaps are the operations on maps.
var onMaps = map[ir.Op]func(r *run, i *ir.Instr) flow{
	ir.MapSlot: (*run).mapSlot,
	ir.MapFind: (*run).mapFind,
	ir.MapHas:  func(r *run, i *ir.Instr) flow { return r.set(i, truth(r.values[i.A] != 0)) },
	ir.MapSeen: func(r *run, i *ir.Instr) flow { return r.set(i, truth(r.of(i).Shown)) },
	ir.MapGet:  func(r *run, i *ir.Instr) flow { return r.set(i, r.of(i).Words[i.Imm]) },
	ir.MapSet:  func(r *run, i *ir.Instr) flow { r.of(i).Words[i.Imm] = r.values[i.B]; return next },
	ir.MapAdd:  func(r *run, i *ir.Instr) flow { r.of(i).Words[i.Imm] += r.values[i.B]; return next },
	ir.MapShow: func(r *run, i *ir.Instr) flow { r.of(i).Shown = true; return next },
	ir.MapHide: func(r *run, i *ir.Instr) flow { r.of(i).Shown = false; return next },

	ir.KeyWord:  func(r *run, i *ir.Instr) flow { r.key[i.Imm] = r.values[i.A]; return next },
	ir.KeyText:  (*run).keyText,
	ir.MapCount: (*run).mapCount,
	ir.MapMax:   (*run).mapMax,
}

// DiffMaps describes the first difference between the maps and those of another executor, "" when there is none.
func (o *Outcome) DiffMaps(got Maps) string {
	for n, want := range o.Maps {
		for k, s := range want {
			x := got[n][k]
			if x == nil || x.Shown != s.Shown || !slices.Equal(x.Words, s.Words) {
				return fmt.Sprintf("map %d has for %#x %+v, want %+v", n, k, x, s)
			}
		}
		if len(got[n]) != len(want) {
			return fmt.Sprintf("map %d has %d keys, want %d", n, len(got[n]), len(want))
		}
	}
	return ""
}
