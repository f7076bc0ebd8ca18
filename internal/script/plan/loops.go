package plan

import (
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/check"
	"github.com/jalon-trace/jalon/internal/script/types"
)

// maxTurns bounds the passes of loops that are planned one by one.
const maxTurns = 64

// several reports whether a body reads something, so that each of its passes needs fields of its own.
func (w *planner) several(body script.Node) bool {
	found := false
	script.Walk(body, func(n script.Node) bool {
		x, ok := n.(script.Expr)
		found = found || ok && w.reads(x)
		return !found
	})
	return found
}

// Turn is the number of pass i of a loop in the pass turn of the loop around it.
func Turn(turn, i int) int { return turn*(maxTurns+1) + i + 1 }

// unrolled walks each pass of a loop.
func (w *planner) unrolled(s script.Stmt, n int, body *script.Block, set func(i int)) {
	if w.parts != nil {
		w.parts.byPass(s, nil, body, n, set)
		return
	}
	outer := w.turn
	defer func() { w.turn = outer }()
	if w.turns += n; w.turns > maxPasses || outer > 1<<40 || jumps(body) {
		w.turns -= n
		w.turn = outer
		w.loop(body, func() {})
		return
	}
	w.s.Loops[Loop{s, outer}] = n
	for i := range n {
		w.turn = Turn(outer, i)
		w.vars.push()
		set(i)
		w.block(body)
		w.vars.pop()
	}
}

// maxPasses bounds the passes of all loops of a probe.
const maxPasses = 256

// jumps reports whether a body can leave a pass before its end.
func jumps(body *script.Block) bool {
	found := false
	script.Walk(body, func(n script.Node) bool {
		_, ok := n.(*script.Jump)
		found = found || ok
		return !found
	})
	return found
}

// bound is a limit of a loop, nil if it is not known. The values of macros are in blocks.
func (w *planner) bound(x script.Expr) *check.Const {
	for w.p.Consts[x] == nil {
		switch y := x.(type) {
		case *script.Cast:
			if t := w.typeOf(y); t.Kind != types.Int || t.Size != 8 {
				return nil
			}
			x = y.X
		case *script.Block:
			if len(y.Stmts) > 0 || y.Value == nil {
				return nil
			}
			x = y.Value
		default:
			return nil
		}
	}
	return w.p.Consts[x]
}

func (w *planner) forLoop(s *script.For) {
	open := func() {
		w.unknown(s.Body)
		before := w.vars.clone()
		w.vars.push()
		w.vars.declare(s.Var.Name, known{})
		w.loops = append(w.loops, &walked{open: true})
		w.under("", func() { w.block(s.Body) })
		w.loops = w.loops[:len(w.loops)-1]
		w.vars = before
	}
	if s.Map != nil {
		w.drop(s.Map)
		open()
		return
	}
	w.expr(s.From)
	w.expr(s.To)
	from, to := w.bound(s.From), w.bound(s.To)
	if from != nil && to != nil && int64(to.Int)-int64(from.Int) <= maxTurns && int64(to.Int) > int64(from.Int) && (w.several(s.Body) || w.touches(s.Body)) {
		w.unrolled(s, int(to.Int-from.Int), s.Body, func(i int) {
			w.vars.declare(s.Var.Name, known{c: number(from.Int+uint64(i), w.typeOf(s.Var))})
		})
		return
	}
	open()
}
