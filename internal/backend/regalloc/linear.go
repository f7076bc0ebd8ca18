package regalloc

import (
	"sort"

	"github.com/jalon-trace/jalon/internal/ir"
)

// Reg is a register by the backend's own number.
type Reg uint8

// Machine describes the registers of a processor for the allocator.
type Machine interface {
	// Registers are those that v may have, in the order in which equal ones are given out.
	Registers(v ir.Value) []Reg
	// Wanted is a register to be tried first, for v or because of its hint; hinted is that
	// of the hint.
	Wanted(v ir.Value, hinted Reg, ok bool) (Reg, bool)
	// Cost ranks registers: the cheapest free one is taken. used: a value has it already.
	Cost(r Reg, used bool) int
	// Destroyed reports whether an instruction within the life destroys r.
	Destroyed(r Reg, iv Interval) bool
	// Pinned values are not spilled for another.
	Pinned(v ir.Value) bool
}

// Kind is the kind of place of a value.
type Kind uint8

// The kinds of places.
const (
	Nowhere Kind = iota
	InRegister
	Spilled
)

// Place is where a value is for its whole life.
type Place struct {
	Kind Kind
	Reg  Reg
	Slot int // of Spilled, from 0
}

// Allocation is where all values are.
type Allocation struct {
	Places []Place
	// Holders are the values that each register holds, in the order of their lives.
	Holders [][]ir.Value
	Slots   int
}

// Options of Allocate.
type Options struct {
	Registers  int  // one more than the largest number
	ShareSlots bool // values that do not live at the same time may have one slot
}

type allocator struct {
	l       *Liveness
	m       Machine
	out     *Allocation
	used    []bool
	spilled []ir.Value // in the order of their spilling
}

// Allocate gives each value a register or a spill slot: linear scan in the order of
// definition, whole lives, no splitting.
func Allocate(l *Liveness, m Machine, opt Options) *Allocation {
	al := &allocator{
		l: l, m: m, used: make([]bool, opt.Registers),
		out: &Allocation{Places: make([]Place, len(l.Lives)), Holders: make([][]ir.Value, opt.Registers)},
	}
	var order []ir.Value
	for v := range l.Lives {
		if l.Lives[v].Needed() {
			order = append(order, ir.Value(v))
		}
	}
	sort.SliceStable(order, func(i, j int) bool { return l.Lives[order[i]].From < l.Lives[order[j]].From })
	for _, v := range order {
		al.place(v)
	}
	if opt.ShareSlots {
		al.shareSlots(order)
	} else {
		for slot, v := range al.spilled {
			al.out.Places[v].Slot = slot
		}
		al.out.Slots = len(al.spilled)
	}
	return al.out
}

func (al *allocator) place(v ir.Value) {
	iv, regs := al.l.Lives[v], al.m.Registers(v)
	hinted, ok := al.hinted(iv)
	if r, wanted := al.m.Wanted(v, hinted, ok); wanted && al.free(r, iv) {
		al.assign(v, r)
		return
	}
	best, least := Reg(0), -1
	for _, r := range regs {
		if c := al.m.Cost(r, al.used[r]); (least < 0 || c < least) && al.free(r, iv) {
			best, least = r, c
		}
	}
	if least >= 0 {
		al.assign(v, best)
		return
	}
	al.spillFor(v, regs)
}

// hinted is the register of the value that another is made from.
func (al *allocator) hinted(iv Interval) (Reg, bool) {
	if iv.Hint == ir.None {
		return 0, false
	}
	at := al.out.Places[iv.Hint]
	return at.Reg, at.Kind == InRegister
}

// holder is the value in r during iv, or ir.None. Lives that overlap one that begins last
// have its beginning in common, so there is one at most.
func (al *allocator) holder(r Reg, iv Interval) ir.Value {
	for _, o := range al.out.Holders[r] {
		if al.l.Lives[o].Overlaps(iv) {
			return o
		}
	}
	return ir.None
}

func (al *allocator) free(r Reg, iv Interval) bool {
	return al.holder(r, iv) == ir.None && !al.m.Destroyed(r, iv)
}

func (al *allocator) assign(v ir.Value, r Reg) {
	al.out.Places[v] = Place{Kind: InRegister, Reg: r}
	al.out.Holders[r] = append(al.out.Holders[r], v)
	al.used[r] = true
}

func (al *allocator) spill(v ir.Value) {
	al.out.Places[v] = Place{Kind: Spilled}
	al.spilled = append(al.spilled, v)
}

// spillFor spills v, or the value that lives longest of those whose register v can have.
func (al *allocator) spillFor(v ir.Value, regs []Reg) {
	iv := al.l.Lives[v]
	victim, reg, last := ir.None, Reg(0), iv.To
	for _, r := range regs {
		o := al.holder(r, iv)
		if o != ir.None && al.l.Lives[o].To > last && !al.m.Pinned(o) && !al.m.Destroyed(r, iv) {
			victim, reg, last = o, r, al.l.Lives[o].To
		}
	}
	if victim == ir.None {
		al.spill(v)
		return
	}
	al.spill(victim)
	kept := al.out.Holders[reg][:0]
	for _, o := range al.out.Holders[reg] {
		if o != victim {
			kept = append(kept, o)
		}
	}
	al.out.Holders[reg] = kept
	al.assign(v, reg)
}

// shareSlots numbers the slots of spilled values.
func (al *allocator) shareSlots(order []ir.Value) {
	var busy []int32 // by slot: the end of the last life
	for _, v := range order {
		if al.out.Places[v].Kind != Spilled {
			continue
		}
		iv, slot := al.l.Lives[v], 0
		for slot < len(busy) && busy[slot] >= iv.From {
			slot++
		}
		if slot == len(busy) {
			busy = append(busy, 0)
		}
		busy[slot] = iv.To
		al.out.Places[v].Slot = slot
	}
	al.out.Slots = len(busy)
}
