package interp

import (
	"fmt"
	"sort"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/plan"
	"github.com/jalon-trace/jalon/internal/script/types"
)

// block executes a block and returns its value.
func (m *Machine) block(b *script.Block) (flow, val) {
	m.push()
	defer m.pop()
	for _, s := range b.Stmts {
		if f, v := m.stmt(s); f != next {
			return f, v
		}
	}
	if b.Value != nil && !m.doneAtSite(b.Value) {
		return m.statement(b.Value)
	}
	return next, val{}
}

// doneAtSite reports whether a statement of the probe was executed at the site.
func (m *Machine) doneAtSite(n script.Node) bool { return m.hit != nil && m.hit.Site.Done[n] }

func (m *Machine) stmt(s script.Stmt) (flow, val) {
	m.step()
	if m.doneAtSite(s) {
		return next, val{}
	}
	switch s := s.(type) {
	case *script.ExprStmt:
		return m.statement(s.X)
	case *script.Let:
		m.let(s)
	case *script.Assign:
		m.assign(s)
	case *script.Discard:
		m.expr(s.X)
	case *script.While:
		pass, done := passes(m, s)
		defer done()
		most := 0
		if m.hit != nil {
			most = m.hit.Site.Loops[plan.Loop{S: s, Turn: m.turn}]
		}
		for n := 0; ; n++ {
			pass()
			if !m.truth(s.Cond) {
				break
			}
			if most > 0 && n == most {
				m.warn(s, longLoop, most)
				return returning, val{}
			}
			if !reached(m, s.Body) {
				m.warn(s, notReached)
				return returning, val{}
			}
			if m.step(); n == maxPasses {
				abandon(s.File().At(s.Span(), fmt.Sprintf("the loop has not ended after %d passes", maxPasses), "other probes wait meanwhile"))
			}
			if f, v := m.block(s.Body); f == returning {
				return f, v
			} else if f == breaking {
				break
			}
		}
	case *script.Unroll:
		pass, done := passes(m, s)
		defer done()
		for range m.p.Consts[s.Count].Int {
			pass()
			if !reached(m, s.Body) {
				m.warn(s, notReached)
				return returning, val{}
			}
			if f, v := m.block(s.Body); f == returning {
				return f, v
			} else if f == breaking {
				break
			}
		}
	case *script.For:
		return m.loop(s)
	case *script.Jump:
		return m.jump(s)
	}
	return next, val{}
}

// statement executes an expression of which blocks can end the probe or loop.
func (m *Machine) statement(x script.Expr) (flow, val) {
	switch x := x.(type) {
	case *script.Block:
		f, v := m.block(x)
		return f, v
	case *script.If:
		b := m.branch(x)
		if b == nil {
			return next, val{}
		}
		f, v := m.statement(b)
		if f == next {
			v = convert(v, m.typeOf(b), m.typeOf(x))
		}
		return f, v
	}
	return next, m.expr(x)
}

// branch is the part of an if that is taken, or nil.
func (m *Machine) branch(x *script.If) script.Expr {
	if m.truth(x.Cond) {
		return x.Then
	}
	return x.Else
}

func (m *Machine) jump(s *script.Jump) (flow, val) {
	switch s.Word {
	case "break":
		return breaking, val{}
	case "continue":
		return continuing, val{}
	}
	if s.Value == nil {
		return returning, val{}
	}
	return returning, m.expr(s.Value)
}

func (m *Machine) let(s *script.Let) {
	t := m.typeOf(s.Var)
	v := blank(t)
	if s.Value != nil {
		v = convert(m.expr(s.Value), m.typeOf(s.Value), t)
	}
	m.vars[len(m.vars)-1][s.Var.Name] = &slot{v: v, t: t}
}

func (m *Machine) assign(s *script.Assign) {
	switch target := s.Target.(type) {
	case *script.Var:
		v, t := m.assigned(s)
		m.set(target.Name, v, t, m.typeOf(target))
	case *script.Map:
		m.store(s, m.maps[target.Name], val{})
	case *script.Element:
		t := m.maps[target.Map.Name]
		m.store(s, t, m.key(t, target.Key))
	}
}

// key evaluates a key of a map.
func (m *Machine) key(t *table, x script.Expr) val {
	return convert(m.expr(x), m.typeOf(x), t.Key)
}

// assigned is the value that an assignment stores, and its type.
func (m *Machine) assigned(s *script.Assign) (val, *types.Type) {
	v, t := m.expr(s.Value), m.typeOf(s.Value)
	if s.Op == "" {
		return v, t
	}
	cur, ct := m.expr(s.Target), m.typeOf(s.Target)
	result := arithType(s.Op, ct, t)
	return m.arith(s, s.Op, cur, v, ct, t, result), result
}

// arithType is the type of a compound assignment's operation.
func arithType(op string, a, b *types.Type) *types.Type {
	switch {
	case a.Floating() || b.Floating():
		return types.FloatT
	case a.Kind == types.Pointer:
		return a
	case op == "<<" || op == ">>":
		return types.IntOf(8, a.Signed)
	}
	return types.IntOf(8, a.Signed || b.Signed || op == "-")
}

// store assigns to an element of a map, or updates it by a function.
func (m *Machine) store(s *script.Assign, t *table, key val) {
	if call := updater(s.Value); call != nil && s.Op == "" {
		m.aggregate(s.Value, call, t, key)
		return
	}
	v, from := m.assigned(s)
	if c := m.make(s, t, key); c != nil {
		c.v = convert(v, from, t.Value)
	}
}

// loop executes a for. The keys of a map are those that it has at the start; elements that are deleted by then
// are left out.
func (m *Machine) loop(s *script.For) (flow, val) {
	t := m.typeOf(s.Var)
	once := func(v val) (flow, val) {
		m.step()
		m.push()
		defer m.pop()
		m.vars[len(m.vars)-1][s.Var.Name] = &slot{v: v, t: t}
		return m.block(s.Body)
	}
	if s.Map == nil {
		from, to := m.limit(s.From, t), m.limit(s.To, t)
		pass, done := passes(m, s)
		defer done()
		for i := int64(from); i < int64(to); i++ {
			pass()
			if !reached(m, s.Body) {
				m.warn(s, notReached)
				return returning, val{}
			}
			if f, v := once(num(fit(uint64(i), t))); f == returning {
				return f, v
			} else if f == breaking {
				break
			}
		}
		return next, val{}
	}
	tb := m.maps[s.Map.Name]
	keys := make([]string, 0, len(tb.elems))
	for k := range tb.elems {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		c := tb.elems[k]
		if c == nil {
			continue
		}
		pair := val{list: []val{c.key, c.value(tb.Value)}}
		if f, v := once(pair); f == returning {
			return f, v
		} else if f == breaking {
			break
		}
	}
	return next, val{}
}

// passes counts the passes of a loop, if what they read has turns.
func passes(m *Machine, s script.Stmt) (pass, done func()) {
	outer, i := m.turn, 0
	if m.hit == nil || m.hit.Site.Loops[plan.Loop{S: s, Turn: outer}] == 0 {
		return func() {}, func() {}
	}
	return func() { m.turn = plan.Turn(outer, i); i++ }, func() { m.turn = outer }
}

// reached reports whether the site has executed a pass of a loop, if it is walked there.
func reached(m *Machine, body *script.Block) bool {
	if m.hit == nil {
		return true
	}
	f, ok := m.hit.Site.Fields[plan.Key{X: body, Turn: m.turn}]
	if !ok {
		return true
	}
	b, _, why := m.hit.Record.Field(f.Index)
	return why == "" && len(b) > 0 && b[0] != 0
}

func (m *Machine) limit(x script.Expr, t *types.Type) uint64 {
	return convert(m.expr(x), m.typeOf(x), types.IntOf(8, t.Signed)).n
}
