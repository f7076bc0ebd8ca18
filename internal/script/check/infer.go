package check

import (
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/types"
)

// infer types the script again and again until no type of a variable or map changes, and once more to report
// what is wrong. Types only grow, so this ends.
func (c *checker) infer(p *Program) {
	c.final = false
	settled := false
	for pass := 0; pass < maxPasses; pass++ {
		c.pass(p)
		if c.changed {
			continue
		}
		if settled = true; !c.defaults() {
			break
		}
		settled = false
	}
	c.final = true
	if !settled {
		c.fail(p.Script, "the types of the script depend on each other over more than %d assignments", maxPasses)
		return
	}
	c.pass(p)
	c.unused()
}

// defaults gives maps that are only read or incremented a type, and reports whether there are any.
func (c *checker) defaults() bool {
	changed := false
	for _, m := range c.order {
		if m.Value.Kind == types.None && (m.Scalar || m.keyed) && !m.refused {
			m.Value, changed = types.Int8, true
		}
	}
	return changed
}

// unused warns of declared maps without use.
func (c *checker) unused() {
	for _, m := range c.order {
		if m.Decl != nil && !m.Scalar && !m.keyed {
			c.warn(m.Decl, "the map %s is not used", m.Name)
		}
		if m.Decl != nil && m.Value.Kind != types.None {
			perCPU := m.Decl.Kind == "percpuhash" || m.Decl.Kind == "percpulruhash"
			if perCPU != m.Value.Aggregated() {
				c.fail(m.Decl, "a %s cannot hold values of type %s", m.Decl.Kind, m.Value)
			}
		}
	}
}

// pass types everything once.
func (c *checker) pass(p *Program) {
	c.changed = false
	clear(c.types)
	clear(c.consts)
	for _, f := range p.Functions {
		c.function(f)
	}
	for _, pr := range p.Probes {
		c.places, c.fn, c.probe = pr.Places, nil, pr
		pr.Vars = nil
		c.scopes = nil
		c.push()
		if pr.Pred != nil {
			c.condition(pr.Pred)
		}
		c.block(pr.Body)
		c.pop()
	}
}

func (c *checker) function(f *script.Function) {
	c.places, c.fn, c.probe = nil, f, &Probe{}
	c.scopes = nil
	c.push()
	for _, param := range f.Params { // their types may name other parameters
		v := c.declare(param.Var.Name, param.Var)
		v.declared, v.set = true, true
	}
	for _, param := range f.Params {
		if t := c.typeRef(param.Type); !types.Same(t, c.vars[param.Var].Type) {
			c.vars[param.Var].Type, c.changed = t, true
		}
	}
	c.block(f.Body)
	if t := c.typeRef(f.Result); !t.Is(types.None, types.Void) && !returns(f.Body) {
		c.fail(f, "the function %s can end without a return, but returns %s", f.Name, t)
	}
	c.pop()
}

// returns reports whether a block always ends with a return.
func returns(b *script.Block) bool {
	for _, s := range b.Stmts {
		switch s := s.(type) {
		case *script.Jump:
			return s.Word == "return"
		case *script.ExprStmt:
			if x, ok := s.X.(*script.If); ok && x.Else != nil && returns(x.Then) && returnsElse(x.Else) {
				return true
			}
			if x, ok := s.X.(*script.Block); ok && returns(x) {
				return true
			}
		}
	}
	return false
}

func returnsElse(x script.Expr) bool {
	switch x := x.(type) {
	case *script.Block:
		return returns(x)
	case *script.If:
		return x.Else != nil && returns(x.Then) && returnsElse(x.Else)
	}
	return false
}

// place is the first place of the probe; nil in a function.
func (c *checker) place() *script.Place {
	if len(c.places) == 0 {
		return nil
	}
	return c.places[0]
}

func (c *checker) push() { c.scopes = append(c.scopes, map[string]*Variable{}) }

// pop leaves a scope and warns of variables that have no value.
func (c *checker) pop() {
	top := c.scopes[len(c.scopes)-1]
	c.scopes = c.scopes[:len(c.scopes)-1]
	for _, v := range top {
		if !v.set {
			c.warn(v.at, "the variable %s is never assigned", v.Name)
		}
	}
}

func (c *checker) lookup(name string) *Variable {
	for i := len(c.scopes) - 1; i >= 0; i-- {
		if v := c.scopes[i][name]; v != nil {
			return v
		}
	}
	return nil
}

// declare makes a variable in the innermost scope. In later passes it is the same variable.
func (c *checker) declare(name string, at script.Node) *Variable {
	v := c.vars[at]
	if v == nil {
		v = &Variable{Name: name, Type: types.NoneT, at: at}
		c.vars[at] = v
	}
	v.set = false
	c.scopes[len(c.scopes)-1][name] = v
	c.probe.Vars = append(c.probe.Vars, v)
	return v
}

// grow makes a type hold values of another type too; it reports whether that is possible.
func (c *checker) grow(t **types.Type, add *types.Type) bool {
	p := types.Promote(*t, add)
	if p == nil {
		return false
	}
	if p.Space == types.Unknown {
		p = p.In((*t).Space)
	}
	if !types.Same(p, *t) || p.Flexible != (*t).Flexible || p.Space != (*t).Space {
		*t, c.changed = p, true
	}
	return true
}

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
// are one integer can, if the variable is an integer or has no type yet.
func (c *statements) storable(cur, t *types.Type) bool {
	switch {
	case t.Kind == types.Void:
		return false
	case t.Aggregated() && !t.Castable():
		return false
	case t.Castable():
		return cur.Is(types.Int, types.None)
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
	case types.Fits(t, to), to.Kind == types.Int && t.Castable(), to.Kind == types.Float && t.Kind == types.Int:
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
	case t.Aggregated() && !(t.Castable() && m.Value.Kind == types.Int):
		m.refused = true
		hint := ""
		if t.Castable() {
			hint = "write a cast, such as (int64), for its value now"
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
	if !t.Is(types.Int, types.Bool, types.Pointer, types.None) && !t.Castable() {
		c.fail(x, "a value of type %s is not a condition", t)
	}
}
