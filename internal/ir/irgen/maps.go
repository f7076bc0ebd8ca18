package irgen

import (
	"math/rand"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/eval"
)

// MapsOf are the maps of programs with Options.Maps. They have room for all keys of programs.
var MapsOf = [...]ir.Map{
	{Name: "one", Words: 1, Slots: 8},
	{Name: "five", Words: 5, Slots: 8, Limit: 64, Shared: true},
	{Name: "long", Words: 1, Slots: 8, More: 3, Deletes: true, Shared: true},
	{Name: "cells", Words: 6, Slots: 8, Limit: 64, Cells: true},
	{Name: "single", Words: 3, Slots: 1, Single: true, Cells: true},
}

// MapSums is how many words of a value with cells are sums; the others are maxima.
const MapSums = 2

// Ticks is the time stamp counter in a State's Machine: programs use only bits of it that no counter of these years has.
const Ticks = 1 << 40

// mapped makes operations on maps.
type mapped struct {
	*builder
	*values
	slots []slot
}

// slot is a result that only operations on maps may take.
type slot struct {
	v  ir.Value
	of int64

	at ir.BlockID
}

// key is one of few: programs and states use the same.
func key(r *rand.Rand, m *ir.Map) (k eval.Key) {
	if m.Single {
		return k
	}
	k = eval.Key{uint64(r.Intn(4)) * 16, uint64(r.Intn(2)) << 40}
	for n := range m.More {
		k[2+n] = moreKeys[r.Intn(2)]
	}
	return k
}

// moreKeys are words of keys behind the first two.
var moreKeys = [2]uint64{0, 0x636261} // also a string

func (mp *mapped) keyWord(mask, shift int64) ir.Value {
	v := mp.hidden(ir.Instr{Op: ir.And, W: 8, A: mp.int(), B: mp.constant(mask)})
	return mp.hidden(ir.Instr{Op: ir.Shl, W: 8, A: v, B: mp.constant(shift)})
}

func (mp *mapped) onMap() {
	if mp.r.Intn(3) == 0 || !mp.use() {
		mp.look()
		mp.use()
	}
}

// look looks for a key.
func (mp *mapped) look() {
	m := int64(mp.r.Intn(len(mp.p.Maps)))
	a, b := mp.keyWord(3, 4), mp.keyWord(1, 40)
	if mp.r.Intn(3) == 0 {
		k := key(mp.r, &mp.p.Maps[m])
		a, b = mp.constant(int64(k[0])), mp.constant(int64(k[1]))
	}
	mp.more(&mp.p.Maps[m])
	op := []ir.Op{ir.MapSlot, ir.MapFind}[mp.r.Intn(2)]
	v := mp.hidden(ir.Instr{Op: op, Aux: m, A: a, B: b})
	mp.slots = append(mp.slots, slot{v: v, of: m, at: mp.id})
}

// more sets the words of a key behind the first two, some of them to a string.
func (mp *mapped) more(m *ir.Map) {
	for n := int64(2); n < int64(2+m.More); n++ {
		mp.emit(ir.Instr{Op: ir.KeyWord, Imm: n, A: mp.constant(int64(moreKeys[mp.r.Intn(2)]))})
	}
	if m.More == 0 || mp.r.Intn(3) != 0 {
		return
	}
	n := 1 + mp.r.Intn(m.More)
	a := mp.access(int64(8*n), false)
	mp.emit(ir.Instr{Op: ir.KeyText, Imm: int64(2 + mp.r.Intn(m.More-n+1)), Aux: int64(8*n - mp.r.Intn(8)), A: a.a, Fault: a.fault})
}

// use works on a slot that was found in this block; false: there is none.
func (mp *mapped) use() bool {
	if len(mp.slots) == 0 || mp.slots[len(mp.slots)-1].at != mp.id {
		mp.slots = nil
		return false
	}
	for n := range mp.slots {
		if mp.slots[n].at == mp.id {
			mp.slots = mp.slots[n:]
			break
		}
	}
	s := mp.slots[mp.r.Intn(len(mp.slots))]
	i := ir.Instr{Aux: s.of, A: s.v, Imm: int64(mp.r.Intn(mp.p.Maps[s.of].Words))}
	ops := []ir.Op{ir.MapHas, ir.MapSeen, ir.MapAdd, ir.MapShow, ir.MapHide, ir.MapGet, ir.MapSet}
	if mp.p.Maps[s.of].Cells {
		ops = []ir.Op{ir.MapHas, ir.MapSeen, ir.MapAdd, ir.MapShow, ir.MapHide, ir.MapMax, ir.MapCount}
	}
	switch i.Op = ops[mp.r.Intn(7)]; i.Op {
	case ir.MapCount: // words that are sums, or none
		i.Imm, i.B = 0, mp.constant([]int64{0, 1, 1 << 40, -1}[mp.r.Intn(4)])
		if mp.r.Intn(3) == 0 {
			i.B = mp.hidden(ir.Instr{Op: ir.And, W: 8, A: mp.int(), B: mp.constant(MapSums - 1)})
		}
		mp.emit(i)
	case ir.MapMax:
		i.Imm, i.B = MapSums+i.Imm%int64(mp.p.Maps[s.of].Words-MapSums), mp.second()
		mp.emit(i)
	case ir.MapSet, ir.MapAdd:
		if mp.p.Maps[s.of].Cells {
			i.Imm %= MapSums
		}
		i.B = mp.second()
		mp.emit(i)
	case ir.MapShow, ir.MapHide:
		i.Imm = 0
		mp.emit(i)
	default:
		if i.Op != ir.MapGet {
			i.Imm = 0
		}
		mp.avail = append(mp.avail, mp.hidden(i))
	}
	return true
}

// ticks uses only what is the same of every time; or the number of the site.
func (mp *mapped) ticks() {
	if len(mp.avail)%2 == 0 {
		mp.avail = append(mp.avail, mp.hidden(ir.Instr{Op: ir.Env, Imm: ir.EnvSite}))
		return
	}
	t := mp.hidden(ir.Instr{Op: ir.Ticks})
	mp.avail = append(mp.avail, mp.hidden(ir.Instr{Op: ir.Shr, W: 8, A: t, B: mp.constant(62)}))
}

// RandomMaps fills the maps of programs.
func RandomMaps(r *rand.Rand) eval.Maps {
	out := make(eval.Maps, len(MapsOf))
	for n := range out {
		out[n] = map[eval.Key]*eval.Slot{}
		most := 6
		if MapsOf[n].Single { // a table has no bit for whether it is there
			out[n][eval.Key{}] = &eval.Slot{Words: make([]uint64, MapsOf[n].Words)}
			most = 2
		}
		for range r.Intn(most) {
			s := &eval.Slot{Shown: r.Intn(3) != 0}
			for range MapsOf[n].Words {
				s.Words = append(s.Words, r.Uint64())
			}
			out[n][key(r, &MapsOf[n])] = s
		}
	}
	return out
}
