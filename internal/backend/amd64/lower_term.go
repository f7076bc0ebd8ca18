package amd64

import "github.com/jalon-trace/jalon/internal/ir"

// branches ends blocks: jumps, instructions on the edge to the next block, the end of the hit.
type branches struct {
	*planner
	*emitter
	*pool
	*stubs
	*saver
	*operands
	*moves
	*comparisons
	exits map[regSet]label
}

// condJump jumps to other when cond is false (nextIsTrue) or when it is true.
func (br *branches) condJump(cond ir.Value, nextIsTrue bool, other label) {
	in := br.an.instr(cond)
	if in == nil || !br.an.folded[cond] {
		if k, ok := br.an.constant(cond); ok {
			if (k != 0) != nextIsTrue {
				br.a.jmp(other)
			}
			return
		}
		br.compareOpds(8, br.regm(cond, 8), immOpd(0))
		br.jumpIf(ccNE, nextIsTrue, other)
		return
	}
	switch {
	case in.Op == ir.MapHas:
		s := br.reg(in.A, 8)
		br.mr(iTEST, 8, rmReg(s), s)
		br.jumpIf(ccNE, nextIsTrue, other)
	case in.Op == ir.And:
		br.test(in)
		br.jumpIf(ccNE, nextIsTrue, other)
	case in.Op == ir.FEq || in.Op == ir.FNe:
		br.compareFloat(in)
		// Unordered sets P and Z: equal is Z and not P.
		if (in.Op == ir.FEq) == nextIsTrue {
			br.a.jcc(ccP, other)
			br.a.jcc(ccNE, other)
			return
		}
		skip := br.a.newLabel()
		br.a.jcc(ccP, skip)
		br.a.jcc(ccE, other)
		br.a.bind(skip)
	case in.Op >= ir.FEq && in.Op <= ir.FLe:
		br.jumpIf(br.compareFloat(in), nextIsTrue, other)
	default:
		br.jumpIf(br.compare(in), nextIsTrue, other)
	}
}

func (br *branches) jumpIf(c cc, nextIsTrue bool, to label) {
	if nextIsTrue {
		c = c.not()
	}
	br.a.jcc(c, to)
}

func (br *branches) emitTerm(t *ir.Term, next ir.BlockID) {
	switch t.Kind {
	case ir.Exit:
		br.exit()
	case ir.Jump:
		br.jumpEdge(t.Then, next)
	case ir.Branch:
		br.branch(t, next)
	default:
		panic("BUG: amd64: unknown terminator")
	}
}

// jumpEdge emits the work of an edge and the jump, unless the target is next.
func (br *branches) jumpEdge(e ir.Edge, next ir.BlockID) {
	br.edgeWork(e)
	if e.To != next {
		br.a.jmp(br.blockLab[e.To])
	}
}

func (br *branches) branch(t *ir.Term, next ir.BlockID) {
	br.pin(t.Cond)
	if t.Then.To == next && t.Else.To != next {
		br.condJump(t.Cond, true, br.edgeLabel(t.Else))
		br.edgeWork(t.Then)
		return
	}
	br.condJump(t.Cond, false, br.edgeLabel(t.Then))
	br.jumpEdge(t.Else, next)
}

// edgeLabel is where a conditional jump goes for e: the block itself, or a stub
// that does the edge's work first.
func (br *branches) edgeLabel(e ir.Edge) label {
	if br.savesBefore(e.To) == 0 && len(br.edgeMoves(e)) == 0 {
		return br.blockLab[e.To]
	}
	stub := br.a.newLabel()
	br.later(func() {
		br.a.bind(stub)
		br.jumpEdge(e, ir.NoBlock)
	})
	return stub
}

func (br *branches) edgeMoves(e ir.Edge) []pmove {
	var mv []pmove
	for k, p := range br.an.p.Blocks[e.To].Params {
		d := br.al.loc[p]
		if d.kind == locNone {
			continue
		}
		v := e.Args[k]
		if s := br.al.loc[v]; !br.an.remat(v) && s == d {
			continue
		}
		wide := uint8(8)
		if br.an.p.Classes[p] == ir.F32 {
			wide = 4
		}
		mv = append(mv, pmove{v, d, br.an.p.Classes[p] != ir.I64, wide})
	}
	return mv
}

// edgeWork saves what the target expects to be saved and sets its parameters,
// all at once: no source is overwritten before it is read.
func (br *branches) edgeWork(e ir.Edge) {
	br.beginEdge(e.To)
	moves := br.edgeMoves(e)
	for _, m := range moves {
		br.pin(m.v)
		if m.dst.kind == locReg {
			it := item(m.dst.r)
			if m.xmm {
				it += itemXMM
			}
			br.busy.add(it)
		}
	}
	br.parallel(moves)
	br.edgeTo = ir.NoBlock
}

// exit leaves the hit and restores everything saved here. The cold section has at most one copy of each restore
// sequence.
func (br *branches) exit() {
	s := br.plan.out[br.cur]
	if br.a.sec == secCold {
		if l, ok := br.exits[s]; ok {
			br.a.jmp(l)
			return
		}
		br.exits[s] = br.a.newLabel()
		br.a.bind(br.exits[s])
	}
	br.restoreItems(s)
	br.a.jmp(br.endLab)
}
