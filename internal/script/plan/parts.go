package plan

import (
	"fmt"
	"maps"
	"strings"

	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/types"
)

// A probe with a loop whose passes change the addresses that it reads, or end at what it has read, is planned in parts: what an if, a pass
// and a jump decide is executed, or not, at the site as in jalon.
//
//	while ($p != 0) { print($p->name); if ($p->last) { break; } $p = $p->next; }
//
// Each pass is a part inside the part of the one before it, so a site leaves the loop where it ends. Each value of a variable is a local of
// its own, which is not changed, and a copy in the local of the variable, its cell. Behind a part the cell has the variable's value,
// whether the part was executed or not.

// maxWhile bounds the passes of a while that the site executes, maxInner those of one in another loop. The hit of a loop with more is
// executed by jalon up to there.
const (
	maxWhile = 32
	maxInner = 8
)

// part is a part of the probe that the site executes if a condition holds, and what was known where it begins.
type part struct {
	vars    scopes
	guarded int
	items   map[string]int
	kept    map[string]kept
	taken   map[string]string
}

// jump is a jump that may have been executed where the walk is: it ends what follows until its loop, or pass, is over.
type jump struct {
	word  string
	local int
}

// walked is a loop around the walk.
type walked struct {
	open  bool // its passes are not walked one by one
	conds int  // that are not known around it
}

// inParts reports whether the probe is planned in parts.
func (w *translator) inParts() bool { return w.at != nil && w.at.parts }

// begin begins a part.
func (w *planner) begin(c string, at script.Node) {
	a := w.at
	w.part(Begin, c, at)
	w.open = append(w.open, part{w.vars.clone(), w.guarded, w.items, a.kept, a.taken})
	w.items, a.kept, a.taken = maps.Clone(w.items), maps.Clone(a.kept), maps.Clone(a.taken)
	a.within = append(a.within, c)
}

// end ends the innermost part. Variables that it may have set are read from their cells.
func (w *planner) end(at script.Node) {
	a := w.at
	p := w.open[len(w.open)-1]
	w.open = w.open[:len(w.open)-1]
	w.part(End, "", at)
	maps.DeleteFunc(p.kept, func(c string, k kept) bool { return a.kept[c] != k }) // the map has changed
	w.items, a.kept, a.taken, w.guarded = p.items, p.kept, p.taken, p.guarded
	a.within = a.within[:len(a.within)-1]
	for i, scope := range p.vars {
		for name, before := range scope {
			scope[name] = w.either(name, before, w.vars[i][name], at)
		}
		for name, after := range w.vars[i] {
			if _, has := scope[name]; !has {
				scope[name] = w.either(name, known{c: "0UL", cell: after.cell}, after, at)
			}
		}
	}
	w.vars = p.vars
}

// either is what is known of a variable behind a part.
func (w *planner) either(name string, before, after known, at script.Node) known {
	switch {
	case before == after:
		return before
	case strings.HasPrefix(name, "@") || after.cell == nil || before.cell != after.cell || before.c == "" || after.c == "":
		return known{}
	}
	return known{c: wide(localName(w.local(localName(after.cell.n), "", at)), after.cell.t), cell: after.cell}
}

// cell is the local of a variable.
type cell struct {
	n int
	t *types.Type
}

// set assigns to a variable.
func (w *planner) set(name string, t *types.Type, k known, at script.Node) {
	if w.inParts() && scalar(t) && k.c != "" {
		k = w.inCell(w.vars.get(name).cell, t, k, at)
	}
	w.vars.set(name, k)
}

// declare declares a variable.
func (w *planner) declare(name string, t *types.Type, k known, at script.Node) {
	if w.inParts() && scalar(t) && k.c != "" {
		k = w.inCell(nil, t, k, at)
	}
	w.vars.declare(name, k)
}

func (w *planner) inCell(c *cell, t *types.Type, k known, at script.Node) known {
	if c == nil {
		c = &cell{w.at.newLocal(), t}
	}
	k.c, k.cell = wide(localName(w.local(k.c, "", at)), t), c
	w.keepIn(c.n, k.c, at)
	return k
}

// local keeps a value as a new local. of is the map from which it is read, if it is.
func (w *planner) local(c, of string, at script.Node) int {
	n := w.at.newLocal()
	w.keepIn(n, c, at)
	w.at.locals[n] = w.dependencies(c, of)
	return n
}

func (w *planner) keepIn(n int, c string, at script.Node) {
	up := Update{Do: Keep, Local: n, From: textOf(at), After: len(w.s.Collect)}
	up.Value = w.tree(c, up.From)
	w.at.list = append(w.at.list, up)
}

// newLocal is the number of a new local.
func (a *atSite) newLocal() int {
	a.locals = append(a.locals, nil)
	return len(a.locals) - 1
}

// part is an update that is no change of a map.
func (w *planner) part(do Do, c string, at script.Node) {
	up := Update{Do: do, From: textOf(at), After: len(w.s.Collect)}
	if c != "" {
		up.If = w.tree(c, up.From)
	}
	w.at.list = append(w.at.list, up)
}

// take keeps the value of the item that was added last, of which c is the C.
func (w *planner) take(c string, t *types.Type, at script.Node) {
	a := w.at
	n := a.newLocal()
	up := Update{Do: Taken, Local: n, From: textOf(at), After: len(w.s.Collect)}
	up.Value = w.tree(c, up.From)
	a.locals[n] = w.dependencies(c, "")
	a.list = append(a.list, up)
	a.taken[c] = wide(localName(n), t)
	w.items[a.taken[c]] = w.items[c]
}

// guard begins a part for what follows jumps: it is executed if none of them was. It reports whether it did.
func (w *planner) guard(at script.Node) bool {
	if !w.inParts() || len(w.jumps) == w.guarded {
		return false
	}
	var all []string
	for _, j := range w.jumps[w.guarded:] {
		all = append(all, "("+localName(j.local)+" == 0)")
	}
	w.begin("("+strings.Join(all, " && ")+")", at)
	w.guarded = len(w.jumps)
	return true
}

// jumpsTo notes a jump.
func (w *planner) jumpsTo(s *script.Jump) {
	unknown := len(w.at.conds) - w.base
	if s.Word != "return" {
		if len(w.loops) == 0 {
			return
		}
		l := w.loops[len(w.loops)-1]
		if l.open {
			return
		}
		unknown = len(w.at.conds) - l.conds
	}
	if unknown > 0 && s.Word == "return" { // jalon decides
		w.at.left = append(w.at.left, "")
		return
	}
	if unknown > 0 {
		w.fail(s, "whether the loop ends here is not known at the site", "")
		return
	}
	w.jumped(s.Word, s)
}

func (w *planner) jumped(word string, at script.Node) {
	w.jumps = append(w.jumps, jump{word, w.local("1UL", "", at)})
}

// arrived ends jumps: those of a word, behind the first n. It reports whether there are any.
func (w *planner) arrived(word string, n int) (found bool) {
	rest := w.jumps[:n:n]
	for _, j := range w.jumps[n:] {
		if j.word != word {
			rest = append(rest, j)
		}
	}
	found = len(rest) < len(w.jumps)
	w.jumps = rest
	return found
}

// byPass walks a loop pass by pass. cond is that of a while, else nil. n is how many passes it has at most.
func (w *planner) byPass(s script.Stmt, cond script.Expr, body *script.Block, n int, set func(i int)) {
	outer := w.turn
	if w.turns += n; w.turns > maxPasses || outer > 1<<40 {
		w.turns -= n
		w.loop(body, func() { w.expr(cond) })
		return
	}
	w.s.Loops[Loop{s, outer}] = n
	w.loops = append(w.loops, &walked{conds: len(w.at.conds)})
	depth, jumps, ends := len(w.open), len(w.jumps), false
	for i := 0; i < n && !ends; i++ {
		if w.turn = Turn(outer, i); cond != nil {
			w.begin(w.whether(cond), s)
		}
		w.reach(body)
		w.vars.push()
		set(i)
		ends = w.block(body)
		w.vars.pop()
		ends = !w.arrived("continue", jumps) && ends
		w.guard(s)
	}
	if w.turn = Turn(outer, n); cond != nil && !ends { // jalon reports it
		w.effects()
		w.begin(w.whether(cond), s)
		w.jumped("return", s)
		w.end(s)
	}
	for len(w.open) > depth {
		w.end(s)
	}
	w.arrived("break", jumps)
	w.loops, w.turn = w.loops[:len(w.loops)-1], outer
}

// walkable reports whether the passes of a while have to be, and can be, walked one by one.
func (w *planner) walkable(s *script.While) bool {
	if !w.several(s.Body) && !w.several(s.Cond) && !w.touches(s.Body) {
		return false
	}
	w.executes(s.Cond)
	list, items, vars := len(w.at.list), len(w.s.Collect), w.vars.clone()
	w.begin("1UL", s)
	w.expr(s.Cond)
	_, ok := w.truth(s.Cond)
	w.end(s)
	w.at.list, w.s.Collect, w.vars = w.at.list[:list], w.s.Collect[:items], vars // it was a trial
	return ok
}

// stepsIn are the changes of variables in an expression of a probe that is planned in parts.
func (w *planner) stepsIn(x script.Node) (list []script.Expr) {
	if !w.inParts() {
		return nil
	}
	script.Walk(x, func(n script.Node) bool {
		if s, ok := n.(*script.Step); ok {
			if _, variable := s.X.(*script.Var); variable {
				list = append(list, s)
			}
		}
		return true
	})
	return list
}

// branchParts walks the parts of an if.
func (w *planner) branchParts(x *script.If, cond string) bool {
	c := localName(w.local("("+cond+" ? 1UL : 0UL)", "", x.Cond))
	w.begin("("+c+" != 0)", x)
	then, other := w.block(x.Then), false
	w.end(x)
	if x.Else != nil {
		w.begin("("+c+" == 0)", x)
		other = w.statement(x.Else)
		w.end(x)
	}
	return then && other
}

// isLocal reports whether C is a local.
func isLocal(c string) bool {
	return strings.HasPrefix(c, "(unsigned long)(@local(") || strings.HasPrefix(c, "(long)(@local(")
}

// whether is the condition of a while.
func (w *planner) whether(cond script.Expr) string {
	w.expr(cond)
	c, ok := w.truth(cond)
	if !ok {
		w.fail(cond, "whether the loop goes on is not known at the site", "")
		return "(0UL != 0)"
	}
	return c
}

// reach collects that a pass is reached.
func (w *planner) reach(body *script.Block) {
	from := textOf(body)
	x := w.tree("(unsigned char)1", from)
	i := len(w.s.Collect)
	w.s.Collect = append(w.s.Collect, lang.Collect{X: x, Text: fmt.Sprintf("pass#%d", i), Span: body.Span(), From: from})
	w.s.Fields[Key{body, w.turn}] = Field{Index: i, Type: types.IntOf(1, false)}
}

// loops reports whether a probe has loops.
func loops(body script.Node) bool {
	found := false
	script.Walk(body, func(n script.Node) bool {
		switch n.(type) {
		case *script.While, *script.For, *script.Unroll:
			found = true
		}
		return !found
	})
	return found
}
