package amd64

import (
	"github.com/jalon-trace/jalon/internal/ir"
)

// chooseOrder puts the entry first, rare blocks in the cold section, and in the
// tail, which needs no jump to the end, the block of a false condition.
func (pl *planner) chooseOrder() {
	blocks := pl.an.p.Blocks
	n := len(blocks)
	pl.place = make([]section, n)
	hotEdge := make([]bool, n)
	hotEdge[0] = true
	tail := ir.NoBlock
	var hot, cold []ir.BlockID
	for b, blk := range blocks {
		if !pl.an.reach[b] {
			continue
		}
		if !hotEdge[b] {
			pl.place[b] = secCold
			cold = append(cold, ir.BlockID(b))
			continue
		}
		switch t := &blk.Term; t.Kind {
		case ir.Jump:
			hotEdge[t.Then.To] = true
		case ir.Branch:
			hotEdge[t.Then.To] = hotEdge[t.Then.To] || !t.Unlikely
			hotEdge[t.Else.To] = true
		case ir.Exit:
			if b != 0 && (tail == ir.NoBlock || leaf(blk) && !leaf(blocks[tail])) {
				tail = ir.BlockID(b)
			}
		}
		hot = append(hot, ir.BlockID(b))
	}
	pl.order = nil
	if pl.cfg.ColdAddr != 0 && tail != ir.NoBlock && leaf(blocks[tail]) {
		hot, cold = pl.splitRecord(hot, cold, tail)
	}
	for _, b := range hot {
		if b != tail {
			pl.order = append(pl.order, b)
		}
	}
	pl.order = append(pl.order, cold...)
	if tail != ir.NoBlock {
		pl.place[tail] = secTail
		pl.order = append(pl.order, tail)
	}
}

// splitRecord moves the blocks of the record to the cold section, so a false condition runs straight through. A
// record takes the time of rdtsc, which hides one more jump.
func (pl *planner) splitRecord(hot, cold []ir.BlockID, tail ir.BlockID) (h, c []ir.BlockID) {
	recording := make([]bool, len(pl.place))
	for b, blk := range pl.an.p.Blocks {
		if !pl.an.reach[b] || b == 0 {
			continue
		}
		for _, in := range blk.Instrs {
			recording[b] = recording[b] || in.Op == ir.Reserve
		}
		// After the record if every path to this block leads through it.
		behind := true
		for _, a := range pl.an.preds[b] {
			behind = behind && recording[a]
		}
		recording[b] = recording[b] || behind
	}
	for _, b := range hot {
		if recording[b] && b != tail {
			pl.place[b] = secCold
			c = append(c, b)
		} else {
			h = append(h, b)
		}
	}
	return h, append(c, cold...)
}
