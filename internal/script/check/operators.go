package check

import (
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/types"
)

func (c *operators) unary(x *script.Unary) *types.Type {
	t := c.expr(x.X)
	if k := c.lit(x); k != nil {
		return k.Type()
	}
	switch {
	case t.Kind == types.None:
		return t
	case x.Op == "!" && (t.Is(types.Bool, types.Int, types.Pointer, types.Float) || t.Castable()):
		return types.BoolT
	case x.Op == "*":
		return c.deref(x, t)
	case t.Floating() && x.Op != "~":
		return types.FloatT
	case !t.Is(types.Int) && !t.Castable(), x.Op == "!", t.Floating():
		c.fail(x, "the operator %s cannot be used on a value of type %s", x.Op, t)
		return types.NoneT
	case x.Op == "-":
		return types.Int64
	}
	return types.IntOf(8, t.Signed)
}

func (c *operators) deref(x *script.Unary, t *types.Type) *types.Type {
	switch {
	case t.Kind == types.Pointer && t.Pointee().Kind == types.Void:
		c.failHint(x, "cast it to a pointer to what is there", "what a %s points to has no type", t)
		return types.NoneT
	case t.Kind == types.Pointer:
		return t.Pointee().In(t.Space).WithCtx(t.Ctx)
	case t.Kind == types.Int:
		return types.Uint64.In(t.Space)
	case t.Kind == types.Struct && t.Ctx: // *args, as in older scripts
		return t
	}
	c.fail(x, "a value of type %s is not a pointer", t)
	return types.NoneT
}

func (c *operators) binary(x *script.Binary) *types.Type {
	ts, ok := c.known(x.X, x.Y)
	if k := c.lit(x); k != nil {
		return k.Type()
	}
	if !ok {
		return types.NoneT
	}
	return c.binaryType(x, x.Op, x.X, x.Y, ts[0], ts[1])
}

// binaryType is the type of x op y.
func (c *operators) binaryType(at script.Node, op string, x, y script.Expr, a, b *types.Type) *types.Type {
	logical := op == "&&" || op == "||"
	switch {
	case logical && c.truthy(x, a) && c.truthy(y, b):
		return types.BoolT
	case a.Kind == types.Pointer || b.Kind == types.Pointer:
		return c.pointers(at, op, a, b)
	case a.Floating() && arithmetic(b) || b.Floating() && arithmetic(a):
		return c.floats(at, op, a, b)
	case integral(a) && integral(b):
		return c.integers(at, op, x, y, a, b)
	case (op == "==" || op == "!=") && c.comparable(at, a, b):
		return types.BoolT
	}
	c.fail(at, "the operator %s cannot be used on values of types %s and %s", op, a, b)
	return types.NoneT
}

// truthy reports whether an operand can be a condition.
func (c *operators) truthy(x script.Expr, t *types.Type) bool {
	return arithmetic(t) || t.Kind == types.Pointer || c.lit(x) != nil
}

func integral(t *types.Type) bool   { return t.Number().Is(types.Int, types.Bool) }
func arithmetic(t *types.Type) bool { return t.Floating() || integral(t) }

func (c *operators) pointers(at script.Node, op string, a, b *types.Type) *types.Type {
	p, other := a, b
	if a.Kind != types.Pointer {
		p, other = b, a
	}
	switch {
	case other.Kind == types.Pointer && script.Compares(op):
		if !types.Same(a.Pointee(), b.Pointee()) && a.Pointee().Kind != types.Void && b.Pointee().Kind != types.Void {
			c.warn(at, "pointers to different types are compared: %s and %s", a, b)
		}
		return types.BoolT
	case other.Kind == types.Pointer || !other.Is(types.Int, types.Bool):
	case script.Compares(op):
		return types.BoolT
	case op == "+", op == "-" && a.Kind == types.Pointer:
		return p
	}
	c.fail(at, "the operator %s cannot be used on values of types %s and %s", op, a, b)
	return types.NoneT
}

func (c *operators) floats(at script.Node, op string, a, b *types.Type) *types.Type {
	switch op {
	case "+", "-", "*", "/":
		return types.FloatT
	case "==", "!=", "<", "<=", ">", ">=":
		return types.BoolT
	}
	c.fail(at, "the operator %s cannot be used on values of types %s and %s", op, a, b)
	return types.NoneT
}

func (c *operators) integers(at script.Node, op string, x, y script.Expr, a, b *types.Type) *types.Type {
	if script.Compares(op) {
		return types.BoolT
	}
	if a.Kind == types.Bool && b.Kind == types.Bool {
		return types.BoolT
	}
	signed := func(t, other *types.Type) bool {
		if t.Flexible && !other.Flexible {
			return other.Signed
		}
		return t.Signed
	}
	sa, sb := signed(a, b), signed(b, a)
	space := a.Space
	if space == types.Unknown {
		space = b.Space
	}
	var t *types.Type
	switch op {
	case "<<", ">>":
		t = types.IntOf(8, a.Signed)
	case "-":
		t = types.Int64
	case "/", "%":
		if (sa || sb) && !(types.Same(a, b) && sa == sb) && !(c.lit(y) != nil && !c.lit(y).Neg) {
			c.warn(at, "the operator %s on signed values is an unsigned operation in the kernel; cast to unsigned", op)
		}
		fallthrough
	default:
		t = types.IntOf(8, sa || sb)
	}
	return t.In(space)
}

// comparable reports whether == can compare two types that are not numbers.
func (c *operators) comparable(at script.Node, a, b *types.Type) bool {
	switch {
	case a.Kind == types.Array && b.Kind == types.Array:
		return a.Elem.Kind == types.Int && types.Same(a.Elem, b.Elem) && a.Count == b.Count
	case a.Aggregated() || b.Aggregated() || a.Is(types.Struct, types.Void):
		return false
	}
	return types.Compatible(a, b)
}

// step types ++ and --.
func (c *operators) step(x *script.Step) *types.Type {
	result := func(t *types.Type) *types.Type { return types.IntOf(8, t.Signed || x.Op == "--") }
	if v, ok := x.X.(*script.Var); ok {
		t := c.expr(v)
		vr := c.lookup(v.Name)
		switch {
		case t.Kind == types.None:
			return t
		case t.Kind == types.Pointer:
			return t
		case t.Kind != types.Int:
			c.fail(x, "the operator %s cannot be used on a value of type %s", x.Op, t)
			return types.NoneT
		case !vr.declared:
			c.grow(&vr.Type, result(t))
			return result(t)
		}
		return t
	}
	var m *Map
	switch e := x.X.(type) {
	case *script.Map:
		m = c.scalar(e)
	case *script.Element:
		m = c.element(e)
	default:
		c.fail(x, "the operator %s changes a variable or a map's value", x.Op)
		return types.NoneT
	}
	switch t := m.Value; {
	case t.Is(types.None, types.Pointer):
		return t
	case t.Kind != types.Int:
		c.fail(x, "the operator %s cannot be used on a value of type %s", x.Op, t)
		return types.NoneT
	default:
		c.grow(&m.Value, result(t))
		return result(t)
	}
}

func (c *operators) address(x *script.Addr) *types.Type {
	var t *types.Type
	switch y := x.X.(type) {
	case *script.Var:
		v := c.lookup(y.Name)
		if v == nil {
			c.fail(y, "the variable %s is not defined", y.Name)
			return types.NoneT
		}
		v.set = true
		t = v.Type
	case *script.Map:
		t = c.mapOf(y.Name, y).Value
	}
	if t == nil || t.Kind == types.None {
		c.fail(x, "this is never assigned, so its type is not known")
		return types.NoneT
	}
	return types.PointerTo(t, types.Kernel)
}

func (c *operators) cond(x *script.Cond) *types.Type {
	c.condition(x.C)
	if k := c.lit(x); k != nil {
		return k.Type()
	}
	branches := []script.Expr{x.T, x.F}
	if x.T == nil {
		branches[0] = x.C
	}
	return c.either(x, branches)
}

// either is the type of one of two expressions.
func (c *operators) either(x script.Expr, branches []script.Expr) *types.Type {
	a, b := c.expr(branches[0]), c.expr(branches[1])
	switch {
	case a.Kind == types.None:
		return b
	case b.Kind == types.None:
		return a
	case a.Kind == types.Void || b.Kind == types.Void:
		return types.VoidT
	}
	t := types.NoneT
	for _, branch := range []*types.Type{a, b} {
		p := types.Promote(t, branch)
		if p == nil {
			c.fail(x, "the two values have different types: %s and %s", a, b)
			return types.NoneT
		}
		t = p
	}
	return t
}

// ifElse types an if. Of if comptime, only the part that is taken is typed.
func (c *operators) ifElse(x *script.If) *types.Type {
	if ct, ok := x.Cond.(*script.Comptime); ok {
		t := c.expr(ct)
		switch k := c.lit(ct); {
		case k == nil || t.Kind == types.None:
			return types.NoneT
		case k.truth():
			return c.expr(x.Then)
		case x.Else != nil:
			return c.expr(x.Else)
		}
		return types.VoidT
	}
	c.condition(x.Cond)
	if x.Else == nil {
		c.expr(x.Then)
		return types.VoidT
	}
	return c.either(x, []script.Expr{x.Then, x.Else})
}

func (c *operators) tuple(x *script.Tuple) *types.Type {
	ts, ok := c.known(x.Elems...)
	c.parts(x.Elems, ts, "tuple")
	if !ok {
		return types.NoneT
	}
	return c.small(x, types.TupleOf(ts))
}

// maxValue bounds the size of a tuple or record. Types have at most as many parts.
const maxValue = 64 << 10

// small reports a tuple or record that is too large.
func (c *operators) small(at script.Node, t *types.Type) *types.Type {
	if t.Size > maxValue {
		c.fail(at, "the value has %d bytes, more than the %d that a tuple or record can have", t.Size, maxValue)
		return types.NoneT
	}
	return t
}

// parts reports elements that cannot be in a tuple or record.
func (c *operators) parts(xs []script.Expr, ts []*types.Type, what string) {
	for i, t := range ts {
		if t.ManyValued() || t.Kind == types.Stats || t.Kind == types.Void {
			c.fail(xs[i], "a value of type %s cannot be in a %s", t, what)
		}
	}
}

func (c *operators) record(x *script.Record) *types.Type {
	ts, ok := c.known(x.Values...)
	c.parts(x.Values, ts, "record")
	if !ok {
		return types.NoneT
	}
	fields := make([]types.Field, len(ts))
	for i, t := range ts {
		fields[i] = types.Field{Name: x.Names[i], Type: t}
	}
	return c.small(x, types.RecordOf(fields))
}
