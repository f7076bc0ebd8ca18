package check

import (
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/types"
)

func (c *statements) assign(s *script.Assign) {
	switch target := s.Target.(type) {
	case *script.Var:
		c.assignVar(s, target)
	case *script.Map:
		m := c.scalar(target)
		c.assignMap(s, m, target)
	case *script.Element:
		m := c.element(target)
		c.assignMap(s, m, target)
	}
}

// value is the type of what is assigned: for @x += 1 that of @x + 1.
func (c *statements) value(s *script.Assign, cur *types.Type) *types.Type {
	t := c.expr(s.Value)
	if s.Op == "" {
		return t
	}
	if cur.Kind == types.None || t.Kind == types.None {
		return types.NoneT
	}
	return c.binaryType(s, s.Op, s.Target, s.Value, cur, t)
}

func (c *statements) assignVar(s *script.Assign, target *script.Var) {
	v := c.lookup(target.Name)
	if s.Op != "" {
		c.expr(target)
	}
	cur := types.NoneT
	if v != nil {
		cur = v.Type
	}
	t := c.value(s, cur)
	if v == nil {
		if s.Op != "" {
			return
		}
		v = c.declare(target.Name, target)
	}
	c.store(v, target, s.Value, t, s)
	c.types[target] = v.Type
}

func (c *statements) assignMap(s *script.Assign, m *Map, target script.Expr) {
	if c.typing > 0 {
		c.fail(s, "a map cannot be assigned in sizeof, offsetof, typeof or typeinfo")
	}
	if call, ok := s.Value.(*script.Call); ok && s.Op == "" && mapFunc(call.Name) != nil && len(c.macros[call.Name]) == 0 {
		c.aggregate(s, m, call)
		c.types[target] = m.Value
		return
	}
	if call := tail(s.Value); call != nil && s.Op == "" {
		c.tail = call
		defer func() { c.tail = nil }()
	}
	t := c.value(s, m.Value)
	c.types[target] = m.Value
	if c.tail != nil && t.Aggregated() {
		if m.Value.Kind == types.None {
			m.Value, c.changed = t, true
		} else if m.Value.Kind != t.Kind || !c.grow(&m.Value, t) {
			c.fail(s, "%s has the type %s and cannot be updated by %s()", m.Name, m.Value, c.tail.Name)
		}
		return
	}
	switch {
	case t.Kind == types.None:
		return
	case t.Aggregated() && !(t.Castable() && m.Value.Is(types.Int, types.Float)):
		m.refused = true
		hint := ""
		if t.Castable() {
			hint = "write a cast, such as (" + t.Number().String() + "), for its value now"
		}
		c.failHint(s, hint, "a value of type %s cannot be copied from one map to another", t)
		return
	case t.Kind == types.Void:
		c.fail(s, "this has no value that could be assigned to %s", m.Name)
		return
	case m.Value.Aggregated():
		c.fail(s, "%s has the type %s and cannot hold a value of type %s", m.Name, m.Value, t)
		return
	}
	if !c.grow(&m.Value, t) {
		c.fail(s, "%s has the type %s and cannot hold a value of type %s", m.Name, m.Value, t)
	}
	if s.Op == "" {
		c.literalFits(m.Name, m.Value, s.Value, s)
	}
	c.types[target] = m.Value
}

// tail is the call of count() or the like that is the value of a block.
func tail(x script.Expr) *script.Call {
	for {
		b, ok := x.(*script.Block)
		if !ok || b.Value == nil {
			return nil
		}
		if call, ok := b.Value.(*script.Call); ok && mapFunc(call.Name) != nil {
			return call
		}
		x = b.Value
	}
}

// aggregate types @m = count() and the like.
func (c *statements) aggregate(s *script.Assign, m *Map, call *script.Call) {
	t := c.mapCall(call)
	m.updated = true
	c.types[call] = types.VoidT
	if t.Kind == types.None {
		return
	}
	if len(call.Args) > 0 {
		if arg := c.types[call.Args[0]]; arg != nil && arg.Kind == types.Int {
			if m.agg == nil {
				m.agg = arg
			} else if p := types.Promote(m.agg, arg); p != nil {
				m.agg = p
			}
		}
	}
	if m.Value.Kind == types.None {
		m.Value, c.changed = t, true
		return
	}
	if m.Value.Kind != t.Kind || !c.grow(&m.Value, t) {
		c.fail(s, "%s has the type %s and cannot be updated by %s()", m.Name, m.Value, call.Name)
	}
}
