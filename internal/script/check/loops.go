package check

import (
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/types"
)

func (c *statements) unroll(s *script.Unroll) {
	c.expr(s.Count)
	k := c.lit(s.Count)
	switch {
	case k == nil || k.Kind != types.Int:
		c.fail(s.Count, "the count of unroll must be a literal")
	case k.Neg || k.Int < 1 || k.Int > 100:
		c.fail(s.Count, "the count of unroll must be from 1 to 100, not %s", k.big())
	}
	c.body(s.Body)
}

func (c *statements) loop(s *script.For) {
	if v := c.lookup(s.Var.Name); v != nil && v.at != script.Node(s.Var) {
		c.fail(s.Var, "the variable %s is already declared; a variable cannot hide another", s.Var.Name)
		return
	}
	t := types.NoneT
	if s.Map != nil {
		t = c.mapPairs(s)
	} else {
		from, to := c.expr(s.From), c.expr(s.To)
		for _, e := range []struct {
			x script.Expr
			t *types.Type
		}{{s.From, from}, {s.To, to}} {
			if !e.t.Is(types.Int, types.None) {
				c.fail(e.x, "the limits of a loop are integers, not %s", e.t)
			}
		}
		if from.Kind == types.Int && to.Kind == types.Int {
			t = types.Promote(from, to)
		}
	}
	c.push()
	v := c.declare(s.Var.Name, s.Var)
	v.set = true
	if t.Kind != types.None && !types.Same(v.Type, t) {
		v.Type, c.changed = t, true
	}
	c.types[s.Var] = v.Type
	c.body(s.Body)
	c.pop()
}

// mapPairs is the type of the variable of a loop over a map.
func (c *statements) mapPairs(s *script.For) *types.Type {
	m := c.mapOf(s.Map.Name, s.Map)
	c.types[s.Map] = m.Value
	switch {
	case m.Scalar && !m.keyed:
		c.fail(s.Map, "%s has no keys, so there is nothing to iterate over", m.Name)
		return types.NoneT
	case m.Key.Kind == types.None || m.Value.Kind == types.None:
		if c.final {
			c.fail(s.Map, "the map %s is never assigned", m.Name)
		}
		return types.NoneT
	case m.Value.Aggregated() && !m.Value.Castable():
		c.fail(s.Map, "a loop over values of type %s is not possible", m.Value)
		return types.NoneT
	}
	return types.TupleOf([]*types.Type{m.Key, m.Value})
}

func (c *statements) jump(s *script.Jump) {
	if s.Word != "return" {
		if c.loops == 0 {
			c.fail(s, "%s outside of a loop", s.Word)
		}
		return
	}
	t := types.VoidT
	if s.Value != nil {
		t = c.expr(s.Value)
	}
	switch {
	case t.Kind == types.None:
	case c.fn == nil && s.Value != nil && !t.Is(types.Int):
		c.fail(s, "a probe returns an integer, not %s", t)
	case c.fn != nil:
		want := c.typeRef(c.fn.Result)
		if want.Kind == types.Void && t.Kind == types.Void || want.Kind == types.None {
			return
		}
		if s.Value == nil || t.Kind == types.Void {
			c.fail(s, "the function %s returns %s", c.fn.Name, want)
			return
		}
		c.convert("the result of "+c.fn.Name, want, s.Value, t, s)
	}
}

// condition types a condition.
func (c *statements) condition(x script.Expr) {
	t := c.expr(x)
	if c.lit(x) != nil {
		return // a literal, strings too
	}
	if !t.Is(types.Int, types.Float, types.Bool, types.Pointer, types.None) && !t.Castable() {
		c.fail(x, "a value of type %s is not a condition", t)
	}
}
