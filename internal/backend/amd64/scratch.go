package amd64

import (
	"github.com/jalon-trace/jalon/internal/backend/regalloc"
	"github.com/jalon-trace/jalon/internal/ir"
)

// scratch returns a general register that is free during the current
// instruction. It stays taken until the instruction ends or release is called.
func (g *gen) scratch() Reg { return Reg(g.pick(allGPR)) }

// scratchX is scratch for xmm registers.
func (g *gen) scratchX() Reg { return Reg(g.pick(allXMM) - itemXMM) }

func (g *gen) pick(pool regSet) item {
	best, bestCost := item(0), 1<<30
	now := regalloc.Interval{From: g.pos, To: g.pos + 1}
	(pool &^ g.busy).each(func(it item) {
		if c := g.scratchCost(it); c < bestCost && g.unoccupied(it, now) {
			best, bestCost = it, c
		}
	})
	if bestCost == 1<<30 {
		g.pressure = true
		if pool == allXMM {
			return itemXMM
		}
		return item(RAX)
	}
	g.busy.add(best)
	return best
}

// cheapScratch is scratch when there is a register that need not be saved for it.
func (g *gen) cheapScratch() (Reg, bool) {
	was := g.pressure
	it := g.pick(allGPR)
	if g.pressure || g.scratchCost(it) >= costFresh {
		g.busy &^= setOf(it)
		g.pressure = was
		return NoReg, false
	}
	return Reg(it), true
}

func (g *gen) unoccupied(it item, now regalloc.Interval) bool {
	for _, iv := range g.al.byItem[it] {
		if iv.Overlaps(now) {
			return false
		}
	}
	return true
}

// scratchCost ranks registers for scratch use: free ones, those already saved,
// those that this block destroys anyhow, and last those that the program reads.
func (g *gen) scratchCost(it item) int {
	c := 0
	switch {
	case !g.savable.has(it):
	case g.plan.in[g.cur].has(it):
		c = 100
	case g.info.first[g.cur][it] != never:
		c = 150
	case g.deadSet.has(it):
		c = 180
	case !g.an.regReads.has(it):
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
func (g *gen) take(r Reg) { g.busy.add(item(r)) }

func (g *gen) release(r Reg) { g.busy &^= 1 << r }

// pin keeps the program registers that the values v are read from out of the
// scratch pool for the current instruction.
func (g *gen) pin(v ir.Value) {
	in := g.an.instr(v)
	if in == nil {
		return
	}
	if g.an.folded[v] {
		for _, x := range g.an.inputs(in) {
			g.pin(x)
		}
		return
	}
	switch {
	case in.Op == ir.Reg && in.Imm < 16:
		g.busy.add(item(dwarfGPR[in.Imm]))
	case in.Op == ir.FReg:
		g.busy.add(itemXMM + item(in.Imm))
	}
}
