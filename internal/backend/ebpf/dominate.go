package ebpf

import "github.com/jalon-trace/jalon/internal/ir"

// placeZero finds where the pointer to address 0 is made: in the last block that dominates all its uses,
// before the first of them. A fault edge leaves the middle of a block, so the place is also before all
// instructions that may fault.
func (an *analysis) placeZero() {
	an.zeroBlock = ir.NoBlock
	dom := an.dominators()
	for id, b := range an.p.Blocks {
		if !an.reach[id] {
			continue
		}
		for k := range b.Instrs {
			if in := &b.Instrs[k]; an.emitted(in) && an.needsZero(in) {
				an.zeroBlock = meet(dom, an.zeroBlock, ir.BlockID(id))
				break
			}
		}
	}
	if an.zeroBlock == ir.NoBlock {
		return
	}
	instrs := an.p.Blocks[an.zeroBlock].Instrs
	for an.zeroIndex = range instrs {
		in := &instrs[an.zeroIndex]
		if _, ok := an.faults(in); ok || an.emitted(in) && an.needsZero(in) {
			return
		}
	}
	an.zeroIndex = len(instrs)
}

// dominators gives the immediate dominator of each reachable block. All edges
// lead forward, so one pass is enough.
func (an *analysis) dominators() []ir.BlockID {
	dom := make([]ir.BlockID, len(an.p.Blocks))
	for id := range dom {
		dom[id] = ir.NoBlock
	}
	dom[0] = 0
	for id, b := range an.p.Blocks {
		if !an.reach[id] {
			continue
		}
		from := ir.BlockID(id)
		for k := range b.Instrs {
			if f, ok := an.faults(&b.Instrs[k]); ok {
				dom[f] = meet(dom, dom[f], from)
			}
		}
		for _, e := range an.edges(&b.Term) {
			dom[e.To] = meet(dom, dom[e.To], from)
		}
	}
	return dom
}

// meet returns the nearest block that dominates a and b; NoBlock means any block.
func meet(dom []ir.BlockID, a, b ir.BlockID) ir.BlockID {
	if a == ir.NoBlock {
		return b
	}
	for a != b {
		if a > b {
			a = dom[a]
		} else {
			b = dom[b]
		}
	}
	return a
}

// findWho finds for each Reserve a value that is pid_tgid and defined on every way
// to it, so that the header needs no call of its own.
func (an *analysis) findWho() {
	an.pidTgid = map[*ir.Instr]ir.Value{}
	dom := an.dominators()
	for id, b := range an.p.Blocks {
		if !an.reach[id] {
			continue
		}
		for k := range b.Instrs {
			if in := &b.Instrs[k]; in.Op == ir.Reserve {
				if v := an.whoBefore(dom, ir.BlockID(id), k); v != ir.None {
					an.pidTgid[in] = v
				}
			}
		}
	}
}

// whoBefore looks through the first n instructions of block id and through the
// blocks that dominate it, there before the first instruction that may fault: a
// fault leaves the middle of a block.
func (an *analysis) whoBefore(dom []ir.BlockID, id ir.BlockID, n int) ir.Value {
	for _, in := range an.p.Blocks[id].Instrs[:n] {
		if in.Op == ir.Env && in.Imm == ir.EnvPidTgid {
			return in.Dst
		}
	}
	for id != 0 {
		id = dom[id]
		for k := range an.p.Blocks[id].Instrs {
			in := &an.p.Blocks[id].Instrs[k]
			if in.Op == ir.Env && in.Imm == ir.EnvPidTgid {
				return in.Dst
			}
			if _, faults := an.faults(in); faults {
				break
			}
		}
	}
	return ir.None
}
