package ebpf

import (
	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/ir"
)

// branches ends blocks.
type branches struct {
	*planner
	*emitter
	*stubs
	*operands
	*comparisons
}

// term ends the block; next is the block whose code follows.
func (br *branches) term(t *ir.Term, next ir.BlockID) {
	if t.Kind == ir.Exit {
		br.exit()
		return
	}
	es := br.an.edges(t)
	if len(es) == 1 {
		br.follow(es[0], next)
		return
	}
	then, els := es[0], es[1]
	if x, k, w, negated, ok := br.an.bitTest(t.Cond); ok {
		if negated {
			then, els = els, then
		}
		br.jumpIfImm(asm.JSet, w, br.reg(x, scratch), k, br.edgeLabel(then))
		br.follow(els, next)
		return
	}
	invert := then.To == next && els.To != next && !t.Unlikely
	if invert {
		then, els = els, then
	}
	br.branch(t.Cond, invert, br.edgeLabel(then))
	br.follow(els, next)
}

// exit leaves the program with its result.
func (br *branches) exit() {
	switch {
	case br.result != ir.None:
		br.load(asm.R0, br.result)
	case br.an.slotResult:
		br.emit(asm.LoadMem(asm.R0, asm.R10, br.area(areaResult), asm.DWord))
	default:
		br.movImm(asm.R0, int64(br.c.Return))
	}
	br.emit(asm.Return())
}

// follow goes along an edge.
func (br *branches) follow(e *ir.Edge, next ir.BlockID) {
	br.moves(br.edgeMoves(e))
	if e.To != next {
		br.jump(br.blocks[e.To])
	}
}

// edgeLabel is where a jump along e leads: to the block, or to the moves before it.
func (br *branches) edgeLabel(e *ir.Edge) label {
	if len(br.edgeMoves(e)) == 0 {
		return br.blocks[e.To]
	}
	l := br.newLabel()
	br.rare(func() {
		br.bind(l)
		br.follow(e, ir.NoBlock)
	})
	return l
}

// edgeMoves are the parameters that need a move.
func (br *branches) edgeMoves(e *ir.Edge) []move {
	var ms []move
	for k, v := range e.Args {
		to := br.al.loc[br.p.Blocks[e.To].Params[k]]
		if to.kind == locNone {
			continue
		}
		m := move{to: to, from: br.at(v)}
		if n, ok := br.number(v); ok {
			m.number = n
		}
		if m.from != m.to {
			ms = append(ms, m)
		}
	}
	return ms
}

// branch jumps when v is not zero, or, with invert, when it is.
func (br *branches) branch(v ir.Value, invert bool, to label) {
	if br.an.fused[v] {
		br.compareJump(br.an.def[v], invert, to)
		return
	}
	op := asm.JNE
	if invert {
		op = asm.JEq
	}
	br.jumpIfImm(op, 8, br.reg(v, scratch), 0, to)
}
