package plan

import (
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/types"
)

// The walk goes through a probe in the order of execution, collects what its expressions read, and follows the
// values of variables.

// block walks a block. ends: a jump ends it.
func (w *planner) block(b *script.Block) (ends bool) {
	w.vars.push()
	depth := w.parts.depth()
	defer func() {
		w.parts.endTo(depth, b)
		w.vars.pop()
	}()
	for _, s := range b.Stmts {
		w.parts.guard(s)
		if w.stmt(s) {
			return true
		}
	}
	if b.Value == nil {
		return false
	}
	w.parts.guard(b.Value)
	return !w.atSite(b.Value) && w.statement(b.Value)
}

func (w *planner) stmt(s script.Stmt) (ends bool) {
	if w.atSite(s) {
		return false
	}
	switch s := s.(type) {
	case *script.ExprStmt:
		return w.statement(s.X)
	case *script.Let:
		w.executes(s.Value)
		var k known
		if s.Value != nil {
			w.expr(s.Value)
			k = w.copied(s.Value, w.typeOf(s.Var))
		}
		declareVariable(w, s.Var.Name, w.typeOf(s.Var), k, s)
	case *script.Assign:
		w.assign(s)
	case *script.Discard:
		w.executes(s.X)
		w.expr(s.X)
	case *script.While:
		if w.parts != nil && w.parts.walkable(s) {
			most := maxWhile
			if len(w.loops) > 0 {
				most = maxInner
			}
			w.parts.byPass(s, s.Cond, s.Body, most, func(int) {})
			return false
		}
		w.loop(s.Body, func() { w.executes(s.Cond); w.expr(s.Cond) })
	case *script.Unroll:
		if k := w.p.Consts[s.Count]; k != nil && k.Int <= maxTurns && (w.several(s.Body) || w.touches(s.Body)) {
			w.unrolled(s, int(k.Int), s.Body, func(int) {})
		} else {
			w.loop(s.Body, func() {})
		}
	case *script.For:
		w.forLoop(s)
	case *script.Jump:
		if s.Value != nil {
			w.executes(s.Value)
			w.expr(s.Value)
		}
		switch {
		case s.Word == "return":
			w.returns(s)
		case w.parts != nil:
			w.parts.jumpsTo(s.Word, s)
		}
		return true
	}
	return false
}

// statement walks an expression of which blocks can end the probe or loop.
func (w *planner) statement(x script.Expr) (ends bool) {
	switch x := x.(type) {
	case *script.Block:
		return w.block(x)
	case *script.If:
		return w.branches(x)
	}
	w.executes(x)
	w.expr(x)
	return endsScript(w, x)
}

func (w *planner) branches(x *script.If) (ends bool) {
	if k := w.p.Consts[x.Cond]; k != nil || w.typeOf(x.Then) == types.NoneT && x.Else != nil { // one part is never reached
		return w.decided(x)
	}
	w.expr(x.Cond)
	cond, ok := w.truth(x.Cond)
	if ok && w.parts != nil {
		return w.parts.branchParts(x, cond)
	}
	not := ""
	switch {
	case !ok:
		if cond = ""; w.at != nil {
			w.at.undecided = x.Cond
		}
	case w.at != nil && !w.certain(x.Cond): // it has one value for all statements
		cond = "(" + w.keep(cond, "", x.Cond) + " != 0)"
		fallthrough
	default:
		not = "!" + cond
	}
	before := w.vars.clone()
	w.under(cond, func() { ends = w.block(x.Then) })
	after := w.vars
	w.vars = before
	other := false
	if x.Else != nil {
		w.under(not, func() { other = w.statement(x.Else) })
	}
	switch {
	case ends && other:
		return true
	case ends:
		return false // what follows is reached by the other path
	case other:
		w.vars = after
		return false
	}
	after.merge(w.vars, cond)
	w.vars = after
	return false
}

// decided walks the part of an if that is taken. The checker gave no types to the other one.
func (w *planner) decided(x *script.If) bool {
	k := w.p.Consts[x.Cond]
	if k == nil || k.Int != 0 || k.Bool || k.Str != "" {
		return w.block(x.Then)
	}
	if x.Else != nil {
		return w.statement(x.Else)
	}
	return false
}

// copied is what is known of a variable of type to that has the value of x.
func (w *planner) copied(x script.Expr, to *types.Type) known {
	if c := w.converted(x, to); c != "" {
		return known{c: c}
	}
	if t := w.typeOf(x); t.Is(types.Struct, types.Array, types.String) && types.Same(t, to) {
		if p, ok := w.placeOf(x); ok {
			return known{at: p}
		}
	}
	return known{}
}

func (w *planner) assign(s *script.Assign) {
	w.executes(s.Value)
	w.expr(s.Value)
	switch t := s.Target.(type) {
	case *script.Map:
		w.effects()
		assignElement(w, s, t, nil)
	case *script.Element:
		w.effects()
		w.expr(t.Key)
		assignElement(w, s, t.Map, t.Key)
	case *script.Var:
		to := w.typeOf(t)
		k := known{}
		if s.Op == "" {
			k = w.copied(s.Value, to)
		} else if a, ok := w.value(t); ok {
			if b, ok := w.value(s.Value); ok {
				if c, ok := w.arith(s.Op, a, b, w.typeOf(t), w.typeOf(s.Value), to); ok {
					k.c = fitted(c, to)
				}
			}
		}
		setVariable(w, t.Name, to, k, s)
	}
}

// loop walks the body of a loop whose passes are not known in advance: nothing is known of variables that it sets.
func (w *planner) loop(body *script.Block, head func()) {
	w.unknown(body)
	before := w.vars.clone()
	w.loops = append(w.loops, &walked{open: true})
	w.under("", func() {
		head()
		w.block(body)
	})
	w.loops = w.loops[:len(w.loops)-1]
	w.vars = before
}

// unknown forgets the variables that a part of the script sets, and the elements of maps.
func (w *planner) unknown(n script.Node) {
	script.Walk(n, func(n script.Node) bool {
		switch n := n.(type) {
		case *script.Map:
			w.vars.forget(n.Name)
		case *script.Assign:
			if v, ok := n.Target.(*script.Var); ok {
				w.vars.forget(v.Name)
			}
		case *script.Step:
			if v, ok := n.X.(*script.Var); ok {
				w.vars.forget(v.Name)
			}
		case *script.Call:
			if n.Name == "find" && len(n.Args) == 3 {
				if v, ok := n.Args[2].(*script.Var); ok {
					w.vars.forget(v.Name)
				}
			}
		case *script.Addr:
			if v, ok := n.X.(*script.Var); ok {
				w.vars.forget(v.Name)
			}
		}
		return true
	})
}

// expr collects what an expression reads.
func (w *planner) expr(x script.Expr) {
	if x == nil || w.p.Consts[x] != nil {
		return
	}
	if w.reads(x) {
		for _, s := range w.parts.stepsIn(x) {
			w.step(s.(*script.Step))
		}
		w.collect(x)
		return
	}
	switch x := x.(type) {
	case *script.Map:
		w.drop(x)
	case *script.Element:
		w.drop(x.Map)
		w.expr(x.Key)
	case *script.Addr:
		w.drop(x)
		w.unknown(x)
	case *script.Block, *script.If:
		w.statement(x)
	case *script.Binary:
		w.expr(x.X)
		if x.Op != "&&" && x.Op != "||" {
			w.expr(x.Y)
			return
		}
		w.perhaps(x.Y)
	case *script.Cond:
		w.expr(x.C)
		w.perhaps(x.T)
		w.perhaps(x.F)
	case *script.Step:
		w.step(x)
	case *script.Call:
		w.call(x)
	case *script.Sizeof, *script.Offsetof, *script.Typeinfo, *script.TypeOf:
	default:
		for _, n := range script.Children(x) {
			if y, ok := n.(script.Expr); ok {
				w.expr(y)
			}
		}
	}
}

// perhaps walks an operand that is not always evaluated.
func (w *planner) perhaps(x script.Expr) {
	if x == nil {
		return
	}
	before := w.vars.clone()
	w.expr(x)
	w.vars.merge(before, "")
}

func (w *planner) step(x *script.Step) {
	switch v := x.X.(type) {
	case *script.Map:
		w.drop(v)
		w.vars.forget(v.Name)
	case *script.Element:
		w.drop(v.Map)
		w.vars.forget(v.Map.Name)
		w.expr(v.Key)
	case *script.Var:
		t, k := w.typeOf(v), known{}
		a, ok := w.value(v)
		if ok {
			if c, ok := w.arith(x.Op[:1], a, "1UL", t, types.Int64, t); ok {
				k.c = fitted(c, t)
			}
		}
		setVariable(w, v.Name, t, k, x)
		if w.parts == nil {
			return
		}
		if w.parts.steps[x] = a; x.Prefix {
			w.parts.steps[x] = w.vars.get(v.Name).c
		}
	}
}
