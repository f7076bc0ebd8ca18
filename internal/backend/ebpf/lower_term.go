package ebpf

import (
	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/ir"
)

// term ends the block; next is the block whose code follows.
func (g *gen) term(t *ir.Term, next ir.BlockID) {
	if t.Kind == ir.Exit {
		g.exit()
		return
	}
	es := g.an.edges(t)
	if len(es) == 1 {
		g.follow(es[0], next)
		return
	}
	then, els := es[0], es[1]
	if x, k, w, negated, ok := g.an.bitTest(t.Cond); ok {
		if negated {
			then, els = els, then
		}
		g.jumpIfImm(asm.JSet, w, g.reg(x, scratch), k, g.edgeLabel(then))
		g.follow(els, next)
		return
	}
	invert := then.To == next && els.To != next && !t.Unlikely
	if invert {
		then, els = els, then
	}
	g.branch(t.Cond, invert, g.edgeLabel(then))
	g.follow(els, next)
}

// exit leaves the program with its result.
func (g *gen) exit() {
	switch {
	case g.result != ir.None:
		g.load(asm.R0, g.result)
	case g.an.slotResult:
		g.emit(asm.LoadMem(asm.R0, asm.R10, g.area(areaResult), asm.DWord))
	default:
		g.movImm(asm.R0, int64(g.c.Return))
	}
	g.emit(asm.Return())
}

// follow goes along an edge.
func (g *gen) follow(e *ir.Edge, next ir.BlockID) {
	g.moves(g.edgeMoves(e))
	if e.To != next {
		g.jump(g.blocks[e.To])
	}
}

// edgeLabel is where a jump along e leads: to the block, or to the moves before it.
func (g *gen) edgeLabel(e *ir.Edge) label {
	if len(g.edgeMoves(e)) == 0 {
		return g.blocks[e.To]
	}
	l := g.newLabel()
	g.rare(func() {
		g.bind(l)
		g.follow(e, ir.NoBlock)
	})
	return l
}

// edgeMoves are the parameters that need a move.
func (g *gen) edgeMoves(e *ir.Edge) []move {
	var ms []move
	for k, v := range e.Args {
		to := g.al.loc[g.p.Blocks[e.To].Params[k]]
		if to.kind == locNone {
			continue
		}
		m := move{to: to, from: g.at(v)}
		if n, ok := g.number(v); ok {
			m.number = n
		}
		if m.from != m.to {
			ms = append(ms, m)
		}
	}
	return ms
}

// branch jumps when v is not zero, or, with invert, when it is.
func (g *gen) branch(v ir.Value, invert bool, to label) {
	if g.an.fused[v] {
		g.compareJump(g.an.def[v], invert, to)
		return
	}
	op := asm.JNE
	if invert {
		op = asm.JEq
	}
	g.jumpIfImm(op, 8, g.reg(v, scratch), 0, to)
}
