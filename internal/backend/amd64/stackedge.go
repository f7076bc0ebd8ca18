package amd64

import "github.com/jalon-trace/jalon/internal/ir"

// Registers are saved below the red zone, where a program need not have a stack: its own code may end
// directly above a guard page. So the first store to the frame is one that may fault (Code.Edges), and it
// is to the lowest address:
//
//  1. rsp is lowered. Nothing has been stored, and only dead registers of the program have changed: what
//     was saved so far is in those (plan.in without itemFrame).
//  2. The lowest slot is stored to. Frame and red zone together are smaller than a page, so they extend no
//     further than the guard page; larger ones are touched page by page from the top.
//  3. If that faults, the tracer moves the thread to a stub that raises rsp, restores the registers saved
//     in dead registers, and continues after the hit program. The tracer counts the hit as a fault.
//
// No visible effect (a record, a counter, a variable) happens before the frame is open, so that the hit is
// complete or has no effect.

const pageSize = 4096

// opensLate reports whether the frame is opened after an effect.
func (pl *planner) opensLate() bool {
	for b := range pl.an.p.Blocks {
		if !pl.an.reach[b] {
			continue
		}
		if pl.an.behind[b] && pl.opens(b) {
			return true
		}
		if !pl.an.behind[b] && !pl.an.effect[b] {
			continue
		}
		for _, to := range pl.successors(b) {
			if pl.plan.in[to].has(itemFrame) && !pl.plan.out[b].has(itemFrame) {
				return true
			}
		}
	}
	return false
}

// opens reports whether a block opens the frame at its start.
func (pl *planner) opens(b int) bool {
	return pl.plan.out[b].has(itemFrame) && !pl.plan.in[b].has(itemFrame)
}

// successors are the blocks that b leads to, by faults too.
func (pl *planner) successors(b int) (list []ir.BlockID) {
	blk := pl.an.p.Blocks[b]
	for _, e := range edges(&blk.Term) {
		list = append(list, e.To)
	}
	for i := range blk.Instrs {
		if to := blk.Instrs[i].Fault; to != ir.NoBlock {
			list = append(list, to)
		}
	}
	return list
}

// chooseLow returns the register that most paths into the frame save: its store also touches the lowest
// slot, at no cost. numItems: there is none.
func (pl *planner) chooseLow() item {
	if pl.an.readFlags {
		return numItems // pushf stores below the slots
	}
	var times [numItems]int
	count := func(s regSet) {
		(s & allGPR).each(func(it item) {
			if _, ok := pl.saveIn[it]; !ok {
				times[it]++
			}
		})
	}
	for b := range pl.an.p.Blocks {
		if !pl.an.reach[b] {
			continue
		}
		if pl.opens(b) {
			count(pl.plan.out[b] &^ pl.plan.in[b])
		}
		for _, to := range pl.successors(b) {
			if pl.plan.in[to].has(itemFrame) && !pl.plan.out[b].has(itemFrame) {
				count(pl.plan.in[to] &^ pl.plan.out[b])
			}
		}
	}
	best := item(numItems)
	for it, n := range times {
		if n > 0 && (best == numItems || n > times[best]) {
			best = item(it)
		}
	}
	return best
}

// openFrame lowers rsp and touches the frame; it returns what of s is still to be saved.
func (sv *saver) openFrame(s, had regSet) regSet {
	a, p := sv.a, sv.plan
	a.rm(iLEA, 8, RSP, rmMem(at(RSP, -p.frame)), 0)
	full := a.newLabel()
	touch := func(m mem, r Reg) {
		a.edges = append(a.edges, faultPoint{a.here(), full})
		a.mr(iMOV, 8, rmMem(m), r)
	}
	if p.frame > pageSize-8 {
		for off := p.size - 8; off >= pageSize-8; off -= pageSize - 8 {
			touch(at(RSP, off), RSP)
		}
	}
	switch {
	case p.low != numItems && s.has(p.low):
		touch(sv.slot(p.low), Reg(p.low))
		s &^= setOf(p.low)
	case sv.an.readFlags:
		touch(at(RSP, -8), RSP)
	default:
		touch(at(RSP, 0), RSP)
	}
	sv.later(func() {
		a.comment("; no room on the stack")
		a.bind(full)
		a.rm(iLEA, 8, RSP, rmMem(at(RSP, p.frame)), 0)
		sv.giveBackRegisters(had)
		a.jmp(sv.endLab)
	})
	return s
}

// giveBackRegisters restores the items saved in registers; there is no memory.
func (sv *saver) giveBackRegisters(s regSet) {
	a, dead := sv.a, sv.deadSet
	if r, ok := sv.saveIn[itemFlags]; ok && s.has(itemFlags) && !dead.has(itemFlags) {
		a.mr(iXCHG, 8, rmReg(RAX), r)
		a.mi(iADD, 1, rmReg(RAX), 0x7f) // overflows when al is 1
		a.plain(iSAHF)
		a.rm(iMOV, 8, RAX, rmReg(r), 0)
	}
	(s & allGPR &^ dead).each(func(it item) {
		if r, ok := sv.saveIn[it]; ok {
			a.rm(iMOV, 8, Reg(it), rmReg(r), 0)
		}
	})
}
