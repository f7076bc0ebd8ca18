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

// parts is a probe that is planned in parts, nil one that is not.
type parts struct {
	w       *planner
	open    []part // around the walk
	jumps   []jump
	guarded int      // how many of them the part is executed without
	base    int      // conditions that are not known around the body
	within  []string // the conditions of the parts around the walk

	taken map[string]string       // locals that have the values of items, by their C
	steps map[*script.Step]string // the value of x++ where it was executed last
}

// begin begins a part.
func (p *parts) begin(c string, at script.Node) {
	a := p.w.at
	p.part(Begin, c, at)
	p.open = append(p.open, part{p.w.vars.clone(), p.guarded, p.w.items, a.kept, p.taken})
	p.w.items, a.kept, p.taken = maps.Clone(p.w.items), maps.Clone(a.kept), maps.Clone(p.taken)
	p.within = append(p.within, c)
}

// end ends the innermost part. Variables that it may have set are read from their cells.
func (p *parts) end(at script.Node) {
	a := p.w.at
	last := p.open[len(p.open)-1]
	p.open = p.open[:len(p.open)-1]
	p.part(End, "", at)
	maps.DeleteFunc(last.kept, func(c string, k kept) bool { return a.kept[c] != k }) // the map has changed
	p.w.items, a.kept, p.taken, p.guarded = last.items, last.kept, last.taken, last.guarded
	p.within = p.within[:len(p.within)-1]
	for i, scope := range last.vars {
		for name, before := range scope {
			scope[name] = p.either(name, before, p.w.vars[i][name], at)
		}
		for name, after := range p.w.vars[i] {
			if _, has := scope[name]; !has {
				scope[name] = p.either(name, known{c: "0UL", cell: after.cell}, after, at)
			}
		}
	}
	p.w.vars = last.vars
}

// depth is how many parts are around the walk.
func (p *parts) depth() int {
	if p == nil {
		return 0
	}
	return len(p.open)
}

// endTo ends parts until depth are left.
func (p *parts) endTo(depth int, at script.Node) {
	for p.depth() > depth {
		p.end(at)
	}
}

// either is what is known of a variable behind a part.
func (p *parts) either(name string, before, after known, at script.Node) known {
	switch {
	case before == after:
		return before
	case strings.HasPrefix(name, "@") || after.cell == nil || before.cell != after.cell || before.c == "" || after.c == "":
		return known{}
	}
	return known{c: wide(localName(p.local(localName(after.cell.n), "", at)), after.cell.t), cell: after.cell}
}

// cell is the local of a variable.
type cell struct {
	n int
	t *types.Type
}

// setVariable assigns to a variable.
func setVariable(w *planner, name string, t *types.Type, k known, at script.Node) {
	if w.parts != nil && scalar(t) && k.c != "" {
		k = w.parts.inCell(w.vars.get(name).cell, t, k, at)
	}
	w.vars.set(name, k)
}

// declareVariable declares a variable.
func declareVariable(w *planner, name string, t *types.Type, k known, at script.Node) {
	if w.parts != nil && scalar(t) && k.c != "" {
		k = w.parts.inCell(nil, t, k, at)
	}
	w.vars.declare(name, k)
}

func (p *parts) inCell(c *cell, t *types.Type, k known, at script.Node) known {
	if c == nil {
		c = &cell{p.w.at.newLocal(), t}
	}
	k.c, k.cell = wide(localName(p.local(k.c, "", at)), t), c
	p.keepIn(c.n, k.c, at)
	return k
}

// local keeps a value as a new local. of is the map from which it is read, if it is.
func (p *parts) local(c, of string, at script.Node) int {
	n := p.w.at.newLocal()
	p.keepIn(n, c, at)
	p.w.at.locals[n] = dependencies(p.w.translator, c, of)
	return n
}

func (p *parts) keepIn(n int, c string, at script.Node) {
	up := Update{Do: Keep, Local: n, From: textOf(at), After: len(p.w.s.Collect)}
	up.Value = p.w.tree(c, up.From)
	p.w.at.list = append(p.w.at.list, up)
}

// newLocal is the number of a new local.
func (a *atSite) newLocal() int {
	a.locals = append(a.locals, nil)
	return len(a.locals) - 1
}

// part is an update that is no change of a map.
func (p *parts) part(do Do, c string, at script.Node) {
	up := Update{Do: do, From: textOf(at), After: len(p.w.s.Collect)}
	if c != "" {
		up.If = p.w.tree(c, up.From)
	}
	p.w.at.list = append(p.w.at.list, up)
}

// take keeps the value of the item that was added last, of which c is the C.
func (p *parts) take(c string, t *types.Type, at script.Node) {
	a := p.w.at
	n := a.newLocal()
	up := Update{Do: Taken, Local: n, From: textOf(at), After: len(p.w.s.Collect)}
	up.Value = p.w.tree(c, up.From)
	a.locals[n] = dependencies(p.w.translator, c, "")
	a.list = append(a.list, up)
	p.taken[c] = wide(localName(n), t)
	p.w.items[p.taken[c]] = p.w.items[c]
}

// guard begins a part for what follows jumps: it is executed if none of them was. It reports whether it did.
func (p *parts) guard(at script.Node) bool {
	if p == nil || len(p.jumps) == p.guarded {
		return false
	}
	var all []string
	for _, j := range p.jumps[p.guarded:] {
		all = append(all, "("+localName(j.local)+" == 0)")
	}
	p.begin("("+strings.Join(all, " && ")+")", at)
	p.guarded = len(p.jumps)
	return true
}

// jumpsTo notes a jump.
func (p *parts) jumpsTo(word string, s script.Node) {
	unknown := len(p.w.at.conds) - p.base
	if word != "return" {
		if len(p.w.loops) == 0 {
			return
		}
		l := p.w.loops[len(p.w.loops)-1]
		if l.open {
			return
		}
		unknown = len(p.w.at.conds) - l.conds
	}
	if unknown > 0 && word == "return" { // jalon decides
		p.w.at.left = append(p.w.at.left, "")
		return
	}
	if unknown > 0 {
		p.w.fail(s, "whether the loop ends here is not known at the site", "")
		return
	}
	p.jumped(word, s)
}

func (p *parts) jumped(word string, at script.Node) {
	p.jumps = append(p.jumps, jump{word, p.local("1UL", "", at)})
}

// arrived ends jumps: those of a word, behind the first n. It reports whether there are any.
func (p *parts) arrived(word string, n int) (found bool) {
	rest := p.jumps[:n:n]
	for _, j := range p.jumps[n:] {
		if j.word != word {
			rest = append(rest, j)
		}
	}
	found = len(rest) < len(p.jumps)
	p.jumps = rest
	return found
}

// byPass walks a loop pass by pass. cond is that of a while, else nil. n is how many passes it has at most.
func (p *parts) byPass(s script.Stmt, cond script.Expr, body *script.Block, n int, set func(i int)) {
	outer := p.w.turn
	if p.w.turns += n; p.w.turns > maxPasses || outer > 1<<40 {
		p.w.turns -= n
		p.w.loop(body, func() { p.w.expr(cond) })
		return
	}
	p.w.s.Loops[Loop{s, outer}] = n
	p.w.loops = append(p.w.loops, &walked{conds: len(p.w.at.conds)})
	if n > maxInner {
		p.keepMaps(body)
	}
	depth, jumps, ends := len(p.open), len(p.jumps), false
	for i := 0; i < n && !ends; i++ {
		if p.w.turn = Turn(outer, i); cond != nil {
			p.begin(p.whether(cond), s)
		}
		p.reach(body)
		p.w.vars.push()
		set(i)
		ends = p.w.block(body)
		p.w.vars.pop()
		ends = !p.arrived("continue", jumps) && ends
		p.guard(s)
	}
	if p.w.turn = Turn(outer, n); cond != nil && !ends { // jalon reports it
		p.w.effects()
		p.begin(p.whether(cond), s)
		p.jumped("return", s)
		p.end(s)
	}
	p.endTo(depth, s)
	p.arrived("break", jumps)
	p.w.loops, p.w.turn = p.w.loops[:len(p.w.loops)-1], outer
}

// keepMaps puts the maps of a loop with many passes into jalon, except those of pointers: the code that changes a map in each pass would be
// more than the kernel takes.
func (p *parts) keepMaps(body *script.Block) {
	script.Walk(body, func(n script.Node) bool {
		if m, ok := n.(*script.Map); ok {
			if k := p.w.at.maps[m.Name]; k != nil && k.Value.Kind != types.Pointer {
				p.w.at.drop(m.Name)
			}
		}
		return true
	})
}

// walkable reports whether the passes of a while have to be, and can be, walked one by one.
func (p *parts) walkable(s *script.While) bool {
	if !p.w.several(s.Body) && !p.w.several(s.Cond) && !p.w.touches(s.Body) {
		return false
	}
	p.w.executes(s.Cond)
	list, items, vars := len(p.w.at.list), len(p.w.s.Collect), p.w.vars.clone()
	p.begin("1UL", s)
	p.w.expr(s.Cond)
	_, ok := p.w.truth(s.Cond)
	p.end(s)
	p.w.at.list, p.w.s.Collect, p.w.vars = p.w.at.list[:list], p.w.s.Collect[:items], vars // it was a trial
	return ok
}

// stepsIn are the changes of variables in an expression of a probe that is planned in parts.
func (p *parts) stepsIn(x script.Node) (list []script.Expr) {
	if p == nil {
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
func (p *parts) branchParts(x *script.If, cond string) bool {
	c := localName(p.local("("+cond+" ? 1UL : 0UL)", "", x.Cond))
	p.begin("("+c+" != 0)", x)
	then, other := p.w.block(x.Then), false
	p.end(x)
	if x.Else != nil {
		p.begin("("+c+" == 0)", x)
		other = p.w.statement(x.Else)
		p.end(x)
	}
	return then && other
}

// isLocal reports whether C is a local.
func isLocal(c string) bool {
	return strings.HasPrefix(c, "(unsigned long)(@local(") || strings.HasPrefix(c, "(long)(@local(")
}

// whether is the condition of a while.
func (p *parts) whether(cond script.Expr) string {
	p.w.expr(cond)
	c, ok := p.w.truth(cond)
	if !ok {
		p.w.fail(cond, "whether the loop goes on is not known at the site", "")
		return "(0UL != 0)"
	}
	return c
}

// reach collects that a pass is reached.
func (p *parts) reach(body *script.Block) {
	from := textOf(body)
	x := p.w.tree("(unsigned char)1", from)
	i := len(p.w.s.Collect)
	p.w.s.Collect = append(p.w.s.Collect, lang.Collect{X: x, Text: fmt.Sprintf("pass#%d", i), Span: body.Span(), From: from})
	p.w.s.Fields[Key{body, p.w.turn}] = Field{Index: i, Type: types.IntOf(1, false)}
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
