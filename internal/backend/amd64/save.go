package amd64

import (
	"math"

	"github.com/jalon-trace/jalon/internal/ir"
)

// planner decides, for one round of settle, where registers are saved. It emits nothing.
type planner struct {
	an      *analysis
	l       *liveness
	al      *allocation
	cfg     Config
	deadSet regSet
	savable regSet // items that must be saved before they are destroyed

	saveIn   map[item]Reg // saved in a dead register instead of in the frame
	reserved regSet       // those registers
	info     *info        // what the code is assumed to destroy
	plan     *savePlan
	early    bool // the frame is opened before anything is done that is seen outside
	usesTmp  bool // some block uses the slot tmp

	order []ir.BlockID
	place []section

	reached []reached // addresses that were looked at, for Template
	based   []based
}

// The places of saves are found by iteration: emitting the code shows which items each
// block destroys, and the saves follow from that; with them the code is emitted again,
// until nothing changes.
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
	low     item  // the item in the lowest slot; numItems: none
	tmp     int32 // slot for rax while flags are saved or restored
	hasTmp  bool  // it is there
	spill   int32 // first spill slot; the words of a key are behind them
	size    int32 // bytes of all slots
	frame   int32 // bytes that rsp is lowered by
}

// redZone is what lies below rsp and belongs to the program.
const redZone = 128

func (pl *planner) makePlan() {
	all := pl.planSaves()
	if !pl.early && pl.opensLate() {
		pl.early = true
		all = pl.planSaves()
	}
	pl.layFrame(all)
}

// planSaves finds the places of all saves.
func (pl *planner) planSaves() (all regSet) {
	n := len(pl.an.p.Blocks)
	p := &savePlan{in: make([]regSet, n), out: make([]regSet, n)}
	for b := 0; b < n; b++ {
		if !pl.an.reach[b] {
			continue
		}
		in := pl.info.edge[b] & pl.savable
		for _, a := range pl.an.preds[b] {
			in |= p.out[a]
		}
		p.in[b] = pl.withFrame(in)
		own := regSet(0)
		for k, pos := range pl.info.first[b] {
			if pos != never {
				own.add(item(k))
			}
		}
		if pl.early && pl.an.effect[b] {
			own.add(itemFrame)
		}
		p.out[b] = pl.withFrame(p.in[b] | own&pl.savable)
		all |= p.out[b]
	}
	pl.plan = p
	return all
}

// withFrame adds the frame to s when something in s is saved in memory.
func (pl *planner) withFrame(s regSet) regSet {
	inRegs := setOf(itemFrame)
	for it := range pl.saveIn {
		inRegs.add(it)
	}
	if s&^inRegs != 0 {
		s.add(itemFrame)
	}
	return s
}

func (pl *planner) layFrame(all regSet) {
	p, off := pl.plan, int32(0)
	next := func(n int32) int32 { off += n; return off - n }
	if p.low = pl.chooseLow(); p.low != numItems {
		p.offset[p.low] = next(8)
	}
	if pl.usesTmp {
		p.tmp = next(8)
	}
	all.each(func(it item) {
		if _, ok := pl.saveIn[it]; ok || it == itemFrame || it == p.low {
			return
		}
		if it >= itemXMM && it < itemFlags {
			p.offset[it] = next(16)
		} else {
			p.offset[it] = next(8)
		}
	})
	p.spill, p.hasTmp = next(8*int32(pl.al.spills+pl.an.keyWords)), pl.usesTmp
	off = max(off, 8) // what openFrame touches
	p.size, p.frame = off, off+redZone
}

func (pl *planner) slot(it item) mem { return at(RSP, pl.plan.offset[it]) }

// moveSavesToRegisters keeps saved registers in dead registers that the code does not use, instead of in
// memory, and emits the code once more.
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
func (po *pool) savesBefore(to ir.BlockID) regSet { return po.plan.in[to] &^ po.plan.out[po.cur] }

// beginEdge starts the work of an edge: its saves. Parameters count as
// destroyed by the edge.
func (sv *saver) beginEdge(to ir.BlockID) {
	sv.edgeTo = to
	sv.busy = sv.reserved
	sv.saveItems(sv.savesBefore(to), sv.plan.out[sv.cur], true)
}
