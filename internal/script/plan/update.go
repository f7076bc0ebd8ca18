package plan

import (
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/types"
	"github.com/jalon-trace/jalon/internal/script/words"
)

func textOf(n script.Node) lang.Text {
	return lang.Text{Source: n.File().Name, Whole: n.File().Text, Span: n.Span()}
}

// change is the update that a statement is, and the map or element that it changes; nil if it changes none. The update is nil if
// the site cannot do it.
func (w *planner) change(s script.Node) (*Update, script.Expr) {
	switch s := s.(type) {
	case *script.Assign:
		if _, ok := s.Target.(*script.Var); ok {
			return nil, nil
		}
		return w.assigned(s), s.Target
	case *script.Discard:
		return w.changeBy(s.X)
	case *script.ExprStmt:
		return w.changeBy(s.X)
	case script.Expr:
		return w.changeBy(s)
	}
	return nil, nil
}

func (w *planner) changeBy(x script.Expr) (*Update, script.Expr) {
	switch x := x.(type) {
	case *script.Step:
		if _, ok := x.X.(*script.Var); ok {
			return nil, nil
		}
		up := w.element(x.X, Add)
		if up == nil || up.Map.Value.Kind != types.Int || up.Map.Value.Size != 8 {
			return nil, x.X
		}
		up.Value = w.tree(map[string]string{"++": "1L", "--": "(-1L)"}[x.Op], textOf(x))
		return up, x.X
	case *script.Call:
		if row := words.Find(x.Name); row == nil || row.Name != "delete" || len(x.Args) == 0 {
			return nil, nil
		}
		if m, ok := x.Args[0].(*script.Map); ok && len(x.Args) > 1 {
			return w.elementOf(m, x.Args[1], Delete), m
		}
		return w.element(x.Args[0], Delete), x.Args[0]
	}
	return nil, nil
}

// element is an update of an element of a map of numbers.
func (w *planner) element(x script.Expr, do Do) *Update {
	switch x := x.(type) {
	case *script.Map:
		return w.elementOf(x, nil, do)
	case *script.Element:
		return w.elementOf(x.Map, x.Key, do)
	}
	return nil
}

func (w *planner) elementOf(m *script.Map, key script.Expr, do Do) *Update {
	k := atThisSite(w.translator, m.Name)
	if k == nil {
		return nil
	}
	k.Deletes = k.Deletes || do == Delete
	return w.updateOf(k, m, key, do)
}

func (w *planner) updateOf(k *SiteMap, at, key script.Expr, do Do) *Update {
	parts, ok := w.key(k, key)
	if !ok {
		return nil
	}
	up := &Update{Do: do, Map: k}
	for _, c := range parts {
		up.Key = append(up.Key, w.tree(c, textOf(at)))
	}
	return up
}

// assigned is @m[key] = x, @m[key] += x, or @m[key] = f(x, ...).
func (w *planner) assigned(s *script.Assign) *Update {
	if call, ok := s.Value.(*script.Call); ok && words.FindMapFunc(call.Name) != nil {
		return w.aggregated(s, call)
	}
	up := w.element(s.Target, Set)
	if up == nil {
		return nil
	}
	c := w.converted(s.Value, up.Map.Value)
	switch {
	case c == "":
		return nil
	case s.Op == "":
	case s.Op == "+" || s.Op == "-":
		if up.Map.Value.Kind != types.Int || up.Map.Value.Size != 8 {
			return nil
		}
		up.Do = Add
		if s.Op == "-" {
			c = "(0UL - (unsigned long)(" + c + "))"
		}
	default:
		return nil
	}
	up.Value, up.c = w.tree(c, textOf(s)), c
	return up
}

// aggregated is @m[key] = f(x, ...).
func (w *planner) aggregated(s *script.Assign, call *script.Call) *Update {
	if s.Op != "" || call.Name == "tseries" {
		return nil
	}
	var m *script.Map
	var key script.Expr
	switch t := s.Target.(type) {
	case *script.Map:
		m = t
	case *script.Element:
		m, key = t.Map, t.Key
	}
	k := w.at.maps[m.Name]
	if k == nil || !k.Value.Aggregated() || !w.at.literal(k, call) {
		return nil
	}
	up := w.updateOf(k, m, key, Add)
	if up == nil || len(call.Args) == 0 {
		return up
	}
	c := w.converted(call.Args[0], types.IntOf(8, w.typeOf(call.Args[0]).Signed))
	if c == "" {
		return nil
	}
	up.Value = w.tree(c, textOf(s))
	return up
}

// literal reports whether all updates of a map have the literals of this one.
func (c *candidates) literal(k *SiteMap, call *script.Call) bool {
	lit := func(i int, other int64) int64 {
		if i < len(call.Args) && c.p.Consts[call.Args[i]] != nil {
			return int64(c.p.Consts[call.Args[i]].Int)
		}
		return other
	}
	now := SiteMap{Fn: call.Name, Step: 1}
	switch call.Name {
	case "hist":
		now.K = uint(lit(1, 0))
	case "lhist":
		now.Low, now.High, now.Step = lit(1, 0), lit(2, 0), lit(3, 0)
	}
	if !k.literals {
		k.literals, k.Fn, k.K, k.Low, k.High, k.Step = true, now.Fn, now.K, now.Low, now.High, now.Step
	}
	return k.Fn == now.Fn && k.K == now.K && k.Low == now.Low && k.High == now.High && k.Step == now.Step
}
