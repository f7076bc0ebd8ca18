package amd64

import (
	"sort"

	"github.com/jalon-trace/jalon/internal/ir"
)

type locKind uint8

const (
	locNone locKind = iota
	locReg
	locSpill
)

// loc is where a value lives for its whole interval.
type loc struct {
	kind locKind
	r    Reg
	slot int // spill number
}

// allocation is the result of the register allocator.
type allocation struct {
	loc    []loc
	byItem [32][]interval // what each register holds, for scratch registers
	spills int
}

type allocator struct {
	l       *liveness
	out     *allocation
	owner   [32][]ir.Value
	dead    regSet
	avoid   regSet // read by the program
	used    regSet
	exclude regSet
}

// allocate gives each value a register or a spill slot: linear scan in the
// order of definition, whole intervals, no splitting. Registers in exclude are
// left to scratch use.
func allocate(l *liveness, dead, used, exclude regSet) *allocation {
	al := &allocator{
		l: l, dead: dead, avoid: l.an.regReads, used: used, exclude: exclude,
		out: &allocation{loc: make([]loc, len(l.iv))},
	}
	var order []ir.Value
	for v := range l.iv {
		if l.iv[v].from <= l.iv[v].to {
			order = append(order, ir.Value(v))
		}
	}
	sort.SliceStable(order, func(i, j int) bool { return l.iv[order[i]].from < l.iv[order[j]].from })
	for _, v := range order {
		al.place(v)
	}
	for it, vs := range al.owner {
		for _, v := range vs {
			al.out.byItem[it] = append(al.out.byItem[it], l.iv[v])
		}
	}
	return al.out
}

func overlaps(a, b interval) bool { return a.from <= b.to && b.from <= a.to }

func (al *allocator) place(v ir.Value) {
	iv := al.l.iv[v]
	if it, ok := al.hinted(iv); ok {
		al.assign(v, it)
		return
	}
	best, bestCost := item(0), 1<<30
	pool := allGPR
	if iv.xmm {
		pool = allXMM
	}
	(pool &^ al.exclude).each(func(it item) {
		if c := al.cost(it); c < bestCost && al.free(it, iv) {
			best, bestCost = it, c
		}
	})
	if bestCost < 1<<30 {
		al.assign(v, best)
		return
	}
	al.spillFor(v, pool&^al.exclude)
}

// hinted returns the register of the value that v is made from, when v may take it over.
func (al *allocator) hinted(iv interval) (item, bool) {
	if iv.hint == ir.None || al.out.loc[iv.hint].kind != locReg || al.l.iv[iv.hint].xmm != iv.xmm {
		return 0, false
	}
	it := item(al.out.loc[iv.hint].r)
	if iv.xmm {
		it += itemXMM
	}
	return it, !al.exclude.has(it) && al.free(it, iv)
}

// cost ranks registers: dead ones, those that are destroyed anyhow, those that
// hold nothing the program reads; short encodings first among equals.
func (al *allocator) cost(it item) int {
	c := 0
	switch {
	case al.dead.has(it) && !al.avoid.has(it):
	case al.used.has(it) && !al.avoid.has(it):
		c = 100
	case !al.avoid.has(it):
		c = 200
	case al.used.has(it):
		c = 250
	default:
		c = 300
	}
	if it < itemXMM {
		return c + gprRank[it]
	}
	return c + int(it-itemXMM)
}

// gprRank: the registers of the record path first (they are saved there anyhow),
// then short encodings, then the rest.
var gprRank = [16]int{
	RAX: 0, RDX: 1, RCX: 2, RSI: 3, RDI: 4, R8: 6, R9: 7, R10: 8, R11: 9,
	RBX: 10, RBP: 11, R14: 12, R15: 13, R12: 14, R13: 15,
}

func (al *allocator) free(it item, iv interval) bool {
	for _, o := range al.owner[it] {
		if overlaps(al.l.iv[o], iv) {
			return false
		}
	}
	return !al.fixedIn(it, iv)
}

func (al *allocator) fixedIn(it item, iv interval) bool {
	for _, f := range al.l.fixed {
		if f.regs.has(it) && iv.from <= f.pos && f.pos <= iv.to {
			return true
		}
	}
	return false
}

func (al *allocator) assign(v ir.Value, it item) {
	r := Reg(it)
	if it >= itemXMM {
		r = Reg(it - itemXMM)
	}
	al.out.loc[v] = loc{kind: locReg, r: r}
	al.owner[it] = append(al.owner[it], v)
	al.used.add(it)
}

func (al *allocator) spill(v ir.Value) {
	al.out.loc[v] = loc{kind: locSpill, slot: al.out.spills}
	al.out.spills++
}

// spillFor makes room for v by spilling a value that lives longer, or spills v.
func (al *allocator) spillFor(v ir.Value, pool regSet) {
	iv := al.l.iv[v]
	victim, reg, last := ir.None, item(0), iv.to
	pool.each(func(it item) {
		if al.fixedIn(it, iv) {
			return
		}
		var one ir.Value = ir.None
		for _, o := range al.owner[it] {
			if overlaps(al.l.iv[o], iv) {
				if one != ir.None {
					return
				}
				one = o
			}
		}
		if one != ir.None && al.l.iv[one].to > last {
			victim, reg, last = one, it, al.l.iv[one].to
		}
	})
	if victim == ir.None || victim == al.l.recPtr() {
		al.spill(v)
		return
	}
	al.spill(victim)
	owners := al.owner[reg][:0]
	for _, o := range al.owner[reg] {
		if o != victim {
			owners = append(owners, o)
		}
	}
	al.owner[reg] = owners
	al.assign(v, reg)
}
