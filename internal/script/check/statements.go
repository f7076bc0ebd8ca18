package check

import (
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/types"
)

func (c *statements) block(b *script.Block) *types.Type {
	c.push()
	defer c.pop()
	dead, exited := false, false
	for _, s := range b.Stmts {
		if dead {
			c.unreached(s)
			break
		}
		if exited {
			c.unreached(s)
		}
		c.stmt(s)
		_, dead = s.(*script.Jump)
		exited = exits(s)
	}
	if b.Value != nil && (dead || exited) {
		c.unreached(b.Value)
	}
	t := types.NoneT
	if b.Value != nil && !dead {
		t = c.expr(b.Value)
	} else if b.Value == nil {
		t = types.VoidT
	}
	c.types[b] = t
	return t
}

func (c *statements) unreached(n script.Node) { c.warn(n, "this statement is never reached") }

// exits reports whether a statement is a call of exit().
func exits(s script.Stmt) bool {
	x, ok := s.(*script.ExprStmt)
	if !ok {
		return false
	}
	call, ok := x.X.(*script.Call)
	return ok && call.Name == "exit"
}

func (c *statements) stmt(s script.Stmt) {
	switch s := s.(type) {
	case *script.ExprStmt:
		c.statement(s)
	case *script.Let:
		c.let(s)
	case *script.Assign:
		c.assign(s)
	case *script.Discard:
		c.expr(s.X)
	case *script.Import:
	case *script.While:
		c.condition(s.Cond)
		c.body(s.Body)
	case *script.Unroll:
		c.unroll(s)
	case *script.For:
		c.loop(s)
	case *script.Jump:
		c.jump(s)
	}
}

func (c *statements) body(b *script.Block) {
	c.loops++
	c.block(b)
	c.loops--
}

// statement types an expression whose value is not used.
func (c *statements) statement(s *script.ExprStmt) {
	t := c.expr(s.X)
	switch s.X.(type) {
	case *script.Step, *script.If, *script.Block, *script.Cond:
		return
	case *script.Call:
		if t.Kind == types.Bool { // delete and the like
			return
		}
	}
	if !t.Is(types.None, types.Void) {
		c.warn(s, "the value of this expression is not used")
	}
}

func (c *statements) let(s *script.Let) {
	value := types.NoneT
	if s.Value != nil {
		value = c.expr(s.Value)
	}
	if v := c.lookup(s.Var.Name); v != nil && v.at != script.Node(s.Var) {
		c.fail(s.Var, "the variable %s is already declared; a variable cannot hide another", s.Var.Name)
		return
	}
	v := c.declare(s.Var.Name, s.Var)
	if s.Type != nil {
		t := c.typeRef(s.Type)
		if t.Aggregated() || t.Kind == types.Void {
			c.fail(s.Type, "a variable cannot have the type %s", t)
		}
		if t.Kind != types.None {
			v.declared = t.Size > 0
			if !types.Same(v.Type, t) && (v.declared || v.Type.Kind == types.None) {
				v.Type, c.changed = t, true
			}
		}
	}
	if s.Value != nil {
		c.store(v, s.Var, s.Value, value, s)
	}
	c.types[s.Var] = v.Type
}

// store assigns a value to a variable.
func (c *statements) store(v *Variable, at script.Expr, x script.Expr, t *types.Type, s script.Node) {
	v.set = true
	if t.Kind == types.None {
		return
	}
	if !c.storable(v.Type, t) {
		c.fail(s, "a value of type %s cannot be assigned to a variable", t)
		return
	}
	if !v.declared {
		if !c.grow(&v.Type, t) {
			c.fail(s, "%s has the type %s and cannot hold a value of type %s", v.Name, v.Type, t)
		}
		c.literalFits(v.Name, v.Type, x, s)
		return
	}
	c.convert(v.Name, v.Type, x, t, s)
}

// storable reports whether a value of type t can be assigned to a variable, or used as a key. Aggregations that
// are one number can, if the variable is a number or has no type yet.
func (c *statements) storable(cur, t *types.Type) bool {
	switch {
	case t.Kind == types.Void:
		return false
	case t.Aggregated() && !t.Castable():
		return false
	case t.Castable():
		return cur.Is(types.Int, types.Float, types.None)
	}
	return true
}

// convert checks that a value can be assigned to something of a fixed type.
func (c *statements) convert(name string, to *types.Type, x script.Expr, t *types.Type, s script.Node) {
	if k := c.lit(x); k != nil && k.Kind == types.Int && to.Kind == types.Int {
		if !holds(to, k) {
			c.failHint(s, "write a cast to cut it", "%s has the type %s, which does not hold %s", name, to, k.big())
		}
		return
	}
	switch {
	case types.Fits(t, to), to.Kind == types.Int && t.Castable() && !t.Float, to.Kind == types.Float && t.Number().Is(types.Int, types.Float):
	case cuttable(t, to):
		c.warn(s, "a value of type %s is cut to %s; write a cast if that is meant", t, to)
	case to.Kind == types.Pointer && t.Kind == types.Pointer && types.Compatible(to, t), to.Kind == types.Buffer && t.Kind == types.Buffer:
	default:
		c.fail(s, "%s has the type %s and cannot hold a value of type %s", name, to, t)
	}
}

// cuttable reports whether a value can be assigned if its integers are cut.
func cuttable(from, to *types.Type) bool {
	if from.Kind == types.Int && to.Kind == types.Int {
		return true
	}
	if !from.Is(types.Tuple, types.Record) || !types.Compatible(from, to) {
		return false
	}
	for i, f := range from.Fields {
		g := to.Fields[i]
		if from.Kind == types.Record {
			g, _ = to.Field(f.Name)
		}
		if !types.Fits(f.Type, g.Type) && !cuttable(f.Type, g.Type) {
			return false
		}
	}
	return true
}

// holds reports whether a type holds an integer constant.
func holds(t *types.Type, k *Const) bool {
	bits := uint(8 * t.Size)
	switch {
	case k.Neg:
		return t.Signed && int64(k.Int) >= -1<<(bits-1)
	case t.Signed:
		return k.Int < 1<<(bits-1)
	}
	return bits == 64 || k.Int < 1<<bits
}

// literalFits reports a literal that the type which was inferred does not hold.
func (c *statements) literalFits(name string, t *types.Type, x script.Expr, at script.Node) {
	if k := c.lit(x); k != nil && k.Kind == types.Int && t.Kind == types.Int && !holds(t, k) {
		c.failHint(at, "write a cast to cut it", "%s has the type %s, which does not hold %s", name, t, k.big())
	}
}
