package amd64

import (
	"github.com/jalon-trace/jalon/internal/backend/regalloc"
	"github.com/jalon-trace/jalon/internal/ir"
)

// pool gives registers for intermediate results.
type pool struct {
	*planner
	*emitter
	busy     regSet // registers not to be used as scratch now
	pressure bool   // no scratch register was left
}

// scratch returns a general register that is free during the current
// instruction. It stays taken until the instruction ends or release is called.
func (po *pool) scratch() Reg { return Reg(po.pick(allGPR)) }

// scratchX is scratch for xmm registers.
func (po *pool) scratchX() Reg { return Reg(po.pick(allXMM) - itemXMM) }

func (po *pool) pick(pool regSet) item {
	best, bestCost := item(0), 1<<30
	now := regalloc.Interval{From: po.pos, To: po.pos + 1}
	(pool &^ po.busy).each(func(it item) {
		if c := po.scratchCost(it); c < bestCost && po.unoccupied(it, now) {
			best, bestCost = it, c
		}
	})
	if bestCost == 1<<30 {
		po.pressure = true
		if pool == allXMM {
			return itemXMM
		}
		return item(RAX)
	}
	po.busy.add(best)
	return best
}

// cheapScratch is scratch when there is a register that need not be saved for it.
func (po *pool) cheapScratch() (Reg, bool) {
	was := po.pressure
	it := po.pick(allGPR)
	if po.pressure || po.scratchCost(it) >= costFresh {
		po.busy &^= setOf(it)
		po.pressure = was
		return NoReg, false
	}
	return Reg(it), true
}

func (po *pool) unoccupied(it item, now regalloc.Interval) bool {
	for _, iv := range po.al.byItem[it] {
		if iv.Overlaps(now) {
			return false
		}
	}
	return true
}

// scratchCost ranks registers for scratch use: free ones, those already saved,
// those that this block destroys anyhow, and last those that the program reads.
func (po *pool) scratchCost(it item) int {
	c := 0
	switch {
	case !po.savable.has(it):
	case po.plan.in[po.cur].has(it):
		c = 100
	case po.info.first[po.cur][it] != never:
		c = 150
	case po.deadSet.has(it):
		c = 180
	case !po.an.regReads.has(it):
		c = costFresh
	default:
		c = costFresh + 100
	}
	if it < itemXMM {
		return c + gprRank[it]
	}
	return c + int(it-itemXMM)
}

// costFresh is the cost from which on a register would be saved just for this.
const costFresh = 200

// take marks a fixed register as busy for the current instruction.
func (po *pool) take(r Reg) { po.busy.add(item(r)) }

func (po *pool) release(r Reg) { po.busy &^= 1 << r }

// pin keeps the program registers that the values v are read from out of the
// scratch pool for the current instruction.
func (po *pool) pin(v ir.Value) {
	in := po.an.instr(v)
	if in == nil {
		return
	}
	if po.an.folded[v] {
		for _, x := range po.an.inputs(in) {
			po.pin(x)
		}
		return
	}
	switch {
	case in.Op == ir.Reg && in.Imm < 16:
		po.busy.add(item(dwarfGPR[in.Imm]))
	case in.Op == ir.FReg:
		po.busy.add(itemXMM + item(in.Imm))
	}
}

// spillSlot is the memory of a spilled value; the frame must exist here.
func (po *pool) spillSlot(n int) mem {
	po.needFrame()
	return at(RSP, po.plan.spill+8*int32(n))
}

// keyMem is the memory of a word of a key, from the third on.
func (po *pool) keyMem(word int64) mem { return po.spillSlot(po.al.spills + int(word) - 2) }

// framed reports whether rsp is lowered at the current instruction.
func (po *pool) framed() bool {
	return po.plan.out[po.cur].has(itemFrame) || po.edgeTo != ir.NoBlock && po.plan.in[po.edgeTo].has(itemFrame)
}

func (po *pool) needFrame() { po.clobber(itemFrame) }
