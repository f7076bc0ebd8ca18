package amd64

import "github.com/jalon-trace/jalon/internal/ir"

// condJump jumps to other when cond is false (nextIsTrue) or when it is true.
func (g *gen) condJump(cond ir.Value, nextIsTrue bool, other label) {
	in := g.an.instr(cond)
	if in == nil || !g.an.folded[cond] {
		if k, ok := g.an.constant(cond); ok {
			if (k != 0) != nextIsTrue {
				g.a.jmp(other)
			}
			return
		}
		g.compareOpds(8, g.regm(cond, 8), immOpd(0))
		g.jumpIf(ccNE, nextIsTrue, other)
		return
	}
	switch {
	case in.Op == ir.And:
		g.test(in)
		g.jumpIf(ccNE, nextIsTrue, other)
	case in.Op == ir.FEq || in.Op == ir.FNe:
		g.compareFloat(in)
		// Unordered sets P and Z: equal is Z and not P.
		if (in.Op == ir.FEq) == nextIsTrue {
			g.a.jcc(ccP, other)
			g.a.jcc(ccNE, other)
			return
		}
		skip := g.a.newLabel()
		g.a.jcc(ccP, skip)
		g.a.jcc(ccE, other)
		g.a.bind(skip)
	case in.Op >= ir.FEq && in.Op <= ir.FLe:
		g.jumpIf(g.compareFloat(in), nextIsTrue, other)
	default:
		g.jumpIf(g.compare(in), nextIsTrue, other)
	}
}

func (g *gen) jumpIf(c cc, nextIsTrue bool, to label) {
	if nextIsTrue {
		c = c.not()
	}
	g.a.jcc(c, to)
}

func (g *gen) emitTerm(t *ir.Term, next ir.BlockID) {
	switch t.Kind {
	case ir.Exit:
		g.exit()
	case ir.Jump:
		g.jumpEdge(t.Then, next)
	case ir.Branch:
		g.branch(t, next)
	default:
		panic("BUG: amd64: unknown terminator")
	}
}

// jumpEdge emits the work of an edge and the jump, unless the target is next.
func (g *gen) jumpEdge(e ir.Edge, next ir.BlockID) {
	g.edgeWork(e)
	if e.To != next {
		g.a.jmp(g.blockLab[e.To])
	}
}

func (g *gen) branch(t *ir.Term, next ir.BlockID) {
	g.pin(t.Cond)
	if t.Then.To == next && t.Else.To != next {
		g.condJump(t.Cond, true, g.edgeLabel(t.Else))
		g.edgeWork(t.Then)
		return
	}
	g.condJump(t.Cond, false, g.edgeLabel(t.Then))
	g.jumpEdge(t.Else, next)
}

// edgeLabel is where a conditional jump goes for e: the block itself, or a stub
// that does the edge's work first.
func (g *gen) edgeLabel(e ir.Edge) label {
	if g.savesBefore(e.To) == 0 && len(g.edgeMoves(e)) == 0 {
		return g.blockLab[e.To]
	}
	stub := g.a.newLabel()
	g.later(func() {
		g.a.bind(stub)
		g.jumpEdge(e, ir.NoBlock)
	})
	return stub
}

func (g *gen) edgeMoves(e ir.Edge) []pmove {
	var mv []pmove
	for k, p := range g.an.p.Blocks[e.To].Params {
		d := g.al.loc[p]
		if d.kind == locNone {
			continue
		}
		v := e.Args[k]
		if s := g.al.loc[v]; !g.an.remat(v) && s == d {
			continue
		}
		wide := uint8(8)
		if g.an.p.Classes[p] == ir.F32 {
			wide = 4
		}
		mv = append(mv, pmove{v, d, g.an.p.Classes[p] != ir.I64, wide})
	}
	return mv
}

// edgeWork saves what the target expects to be saved and sets its parameters,
// all at once: no source is overwritten before it is read.
func (g *gen) edgeWork(e ir.Edge) {
	g.beginEdge(e.To)
	moves := g.edgeMoves(e)
	for _, m := range moves {
		g.pin(m.v)
		if m.dst.kind == locReg {
			it := item(m.dst.r)
			if m.xmm {
				it += itemXMM
			}
			g.busy.add(it)
		}
	}
	g.parallel(moves)
	g.edgeTo = ir.NoBlock
}

// beginEdge starts the work of an edge: its saves. Parameters count as
// destroyed by the edge.
func (g *gen) beginEdge(to ir.BlockID) {
	g.edgeTo = to
	g.busy = g.reserved
	g.saveItems(g.savesBefore(to), g.plan.out[g.cur], true)
}

// exit leaves the hit and restores everything saved here. The cold section has at most one copy of each restore
// sequence.
func (g *gen) exit() {
	s := g.plan.out[g.cur]
	if g.a.sec == secCold {
		if l, ok := g.exits[s]; ok {
			g.a.jmp(l)
			return
		}
		g.exits[s] = g.a.newLabel()
		g.a.bind(g.exits[s])
	}
	g.restoreItems(s)
	g.a.jmp(g.endLab)
}

// faultEdge returns the label of a stub that goes to block to with the address m
// as its parameter.
func (g *gen) faultEdge(to ir.BlockID, m mem) label {
	stub := g.a.newLabel()
	g.later(func() {
		g.a.bind(stub)
		busy := g.busy
		grows := g.savesBefore(to).has(itemFrame)
		g.beginEdge(to)
		g.busy |= busy
		if grows && m.base == RSP {
			m.disp += g.plan.frame
		}
		param := g.an.p.Blocks[to].Params[0]
		switch d := g.al.loc[param]; d.kind {
		case locReg:
			g.leaMove(d.r, m)
		case locSpill:
			s := g.scratch()
			g.lea(8, s, m)
			g.mr(iMOV, 8, rmMem(g.spillSlot(d.slot)), s)
		}
		g.edgeTo = ir.NoBlock
		g.a.jmp(g.blockLab[to])
	})
	return stub
}
