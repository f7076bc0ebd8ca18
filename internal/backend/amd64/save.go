package amd64

import (
	"math"

	"github.com/jalon-trace/jalon/internal/ir"
)

// What must be saved where is found by trial: emitting the code tells which
// items each block destroys; from that follow the saves; with them the code is
// emitted again, until nothing changes.
//
// A block saves at its start what it destroys and its predecessors did not; an
// edge saves what other predecessors of its target saved. So a path saves
// nothing that only other paths need, and an exit knows what to give back.

const never = math.MaxInt32

// info is what one emission learned.
type info struct {
	first [][numItems]int32 // by block: position where the item is first destroyed
	edge  []regSet          // by block: destroyed on the edges to it
}

func newInfo(n int) *info {
	in := &info{first: make([][numItems]int32, n), edge: make([]regSet, n)}
	for b := range in.first {
		for i := range in.first[b] {
			in.first[b][i] = never
		}
	}
	return in
}

// covers reports whether code emitted with i, which turned out to destroy act,
// is right: it assumed at least as much.
func (i *info) covers(act *info) bool {
	for b := range i.first {
		if act.edge[b]&^i.edge[b] != 0 {
			return false
		}
		for k := range i.first[b] {
			if act.first[b][k] < i.first[b][k] {
				return false
			}
		}
	}
	return true
}

// merge makes i cover act too.
func (i *info) merge(act *info) {
	for b := range i.first {
		i.edge[b] |= act.edge[b]
		for k := range i.first[b] {
			i.first[b][k] = min(i.first[b][k], act.first[b][k])
		}
	}
}

// savePlan is what follows from an info.
type savePlan struct {
	in, out []regSet // saved on entry of each block, and after its own saves
	offset  [numItems]int32
	low     item  // what is saved in the lowest slot; numItems: nothing
	tmp     int32 // slot for rax while flags are saved or restored
	hasTmp  bool  // it is there
	spill   int32 // first spill slot
	size    int32 // bytes of all slots
	frame   int32 // bytes that rsp is lowered by
}

// redZone is what lies below rsp and belongs to the program.
const redZone = 128

func (g *gen) makePlan() {
	all := g.planSaves()
	if !g.early && g.opensLate() {
		g.early = true
		all = g.planSaves()
	}
	g.layFrame(all)
}

// planSaves finds what is saved where, and gives all of it.
func (g *gen) planSaves() (all regSet) {
	n := len(g.an.p.Blocks)
	p := &savePlan{in: make([]regSet, n), out: make([]regSet, n)}
	for b := 0; b < n; b++ {
		if !g.an.reach[b] {
			continue
		}
		in := g.info.edge[b] & g.savable
		for _, a := range g.an.preds[b] {
			in |= p.out[a]
		}
		p.in[b] = g.withFrame(in)
		own := regSet(0)
		for k, pos := range g.info.first[b] {
			if pos != never {
				own.add(item(k))
			}
		}
		if g.early && g.an.effect[b] {
			own.add(itemFrame)
		}
		p.out[b] = g.withFrame(p.in[b] | own&g.savable)
		all |= p.out[b]
	}
	g.plan = p
	return all
}

// withFrame adds the frame to s when something in s is saved in memory.
func (g *gen) withFrame(s regSet) regSet {
	inRegs := setOf(itemFrame)
	for it := range g.saveIn {
		inRegs.add(it)
	}
	if s&^inRegs != 0 {
		s.add(itemFrame)
	}
	return s
}

func (g *gen) layFrame(all regSet) {
	p, off := g.plan, int32(0)
	next := func(n int32) int32 { off += n; return off - n }
	if p.low = g.chooseLow(); p.low != numItems {
		p.offset[p.low] = next(8)
	}
	if g.usesTmp {
		p.tmp = next(8)
	}
	all.each(func(it item) {
		if _, ok := g.saveIn[it]; ok || it == itemFrame || it == p.low {
			return
		}
		if it >= itemXMM && it < itemFlags {
			p.offset[it] = next(16)
		} else {
			p.offset[it] = next(8)
		}
	})
	p.spill, p.hasTmp = next(8*int32(g.al.spills)), g.usesTmp
	off = max(off, 8) // what openFrame touches
	p.size, p.frame = off, off+redZone
}

func (g *gen) slot(it item) mem { return at(RSP, g.plan.offset[it]) }

// saveItems saves what is in s; had was saved before. keepRAX: rax holds something now.
// The code destroys no item but, without keepRAX, rax when flags are saved.
func (g *gen) saveItems(s, had regSet, keepRAX bool) {
	a := g.a
	if s.has(itemFrame) {
		s = g.openFrame(s, had)
	}
	(s & allGPR).each(func(it item) {
		if r, ok := g.saveIn[it]; ok {
			a.rm(iMOV, 8, r, rmReg(Reg(it)), 0)
			return
		}
		a.mr(iMOV, 8, rmMem(g.slot(it)), Reg(it))
	})
	if s.has(itemFlags) {
		g.saveFlags(keepRAX)
	}
	if s.has(itemMXCSR) {
		// Our own floating point must not trap: all exceptions masked. What it
		// raises is forgotten when the program's word is restored.
		m := g.slot(itemMXCSR)
		g.clobber(itemFlags)
		a.m(iSTMXCSR, 4, rmMem(m), 0)
		a.m(iSTMXCSR, 4, rmMem(m.plus(4)), 0)
		a.mi(iOR, 4, rmMem(m.plus(4)), 0x1f80)
		a.m(iLDMXCSR, 4, rmMem(m.plus(4)), 0)
	}
	(s & allXMM).each(func(it item) { a.mr(iMOVUPS, 8, rmMem(g.slot(it)), Reg(it-itemXMM)) })
}

func (g *gen) saveFlags(keepRAX bool) {
	a := g.a
	if g.an.readFlags {
		a.plain(iPUSHF)
		a.m(iPOPM, 8, rmMem(g.slot(itemFlags)), 0)
		return
	}
	if keepRAX {
		g.needFrame()
		g.usesTmp = true
		a.mr(iMOV, 8, rmMem(at(RSP, g.plan.tmp)), RAX)
	} else {
		g.clobber(item(RAX))
	}
	a.plain(iLAHF)
	a.m(iSET, 1, rmReg(RAX), 0)
	if r, ok := g.saveIn[itemFlags]; ok {
		a.rm(iMOV, 4, r, rmReg(RAX), 0)
	} else {
		a.mr(iMOV, 4, rmMem(g.slot(itemFlags)), RAX)
	}
	if keepRAX {
		a.rm(iMOV, 8, RAX, rmMem(at(RSP, g.plan.tmp)), 0)
	}
}

// restoreItems gives back what s holds, but for dead registers.
func (g *gen) restoreItems(s regSet) {
	a, dead := g.a, g.deadSet
	if s.has(itemMXCSR) {
		a.m(iLDMXCSR, 4, rmMem(g.slot(itemMXCSR)), 0)
	}
	(s & allXMM &^ dead).each(func(it item) { a.rm(iMOVUPS, 8, Reg(it-itemXMM), rmMem(g.slot(it)), 0) })
	if s.has(itemFlags) && !dead.has(itemFlags) {
		g.restoreFlags((s | dead).has(item(RAX)) && !g.reserved.has(item(RAX)))
	}
	(s & allGPR &^ dead).each(func(it item) {
		if r, ok := g.saveIn[it]; ok {
			a.rm(iMOV, 8, Reg(it), rmReg(r), 0)
			return
		}
		a.rm(iMOV, 8, Reg(it), rmMem(g.slot(it)), 0)
	})
	if s.has(itemFrame) {
		a.rm(iLEA, 8, RSP, rmMem(at(RSP, g.plan.frame)), 0)
	}
}

func (g *gen) restoreFlags(freeRAX bool) {
	a := g.a
	if g.an.readFlags {
		a.m(iPUSHM, 8, rmMem(g.slot(itemFlags)), 0)
		a.plain(iPOPF)
		return
	}
	if !freeRAX {
		g.needFrame()
		g.usesTmp = true
		a.mr(iMOV, 8, rmMem(at(RSP, g.plan.tmp)), RAX)
	}
	if r, ok := g.saveIn[itemFlags]; ok {
		a.rm(iMOV, 4, RAX, rmReg(r), 0)
	} else {
		a.rm(iMOV, 4, RAX, rmMem(g.slot(itemFlags)), 0)
	}
	a.mi(iADD, 1, rmReg(RAX), 0x7f) // overflows when al is 1
	a.plain(iSAHF)
	if !freeRAX {
		a.rm(iMOV, 8, RAX, rmMem(at(RSP, g.plan.tmp)), 0)
	}
}

// moveSavesToRegisters keeps saved registers in dead registers that the code
// leaves alone, instead of in memory, and emits the code once more.
func (g *gen) moveSavesToRegisters() {
	free := g.deadSet & allGPR &^ g.an.regReads
	var saved regSet
	for b := range g.info.first {
		if !g.an.reach[b] {
			continue
		}
		saved |= g.plan.out[b]
		free &^= g.info.edge[b]
		for k := range g.info.first[b] {
			if g.info.first[b][k] != never {
				free &^= setOf(item(k))
			}
		}
	}
	wanted := []item{itemFlags}
	if g.an.readFlags {
		wanted = nil
	}
	(saved & allGPR).each(func(it item) { wanted = append(wanted, it) })
	moved := map[item]Reg{}
	for _, it := range wanted {
		if saved.has(it) && free != 0 {
			r := item(0)
			for !free.has(r) {
				r++
			}
			free &^= setOf(r)
			moved[it] = Reg(r)
		}
	}
	if len(moved) == 0 {
		return
	}
	was := *g
	g.saveIn = moved
	for _, r := range moved {
		g.reserved.add(item(r))
	}
	if !g.settle() {
		*g = was
	}
}

// savesBefore is what must be saved on the edge from the current block to b.
func (g *gen) savesBefore(to ir.BlockID) regSet { return g.plan.in[to] &^ g.plan.out[g.cur] }
