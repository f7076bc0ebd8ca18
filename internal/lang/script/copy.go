package script

// Copier copies trees, and replaces parts of the copy.
type Copier struct {
	// Expr returns what takes the place of an expression, or nil to copy it.
	Expr func(Expr) Expr
	// Var and Map return what takes the place of a variable's or map's name. They may be nil.
	Var, Map func(name string, at Node) string
	// Type returns what takes the place of a type, or nil to copy it. It may be nil.
	Type func(*Type) *TypeOf
	// Nodes counts the nodes that are copied.
	Nodes int
}

// Copy copies an expression.
func (c *Copier) Copy(x Expr) Expr {
	if absent(x) {
		return nil
	}
	c.Nodes++
	if c.Expr != nil {
		if y := c.Expr(x); y != nil {
			return y
		}
	}
	switch x := x.(type) {
	case *Var:
		n := *x
		if c.Var != nil {
			n.Name = c.Var(x.Name, x)
		}
		return &n
	case *Map:
		return c.mapOf(x)
	case *Element:
		n := *x
		n.Map, n.Key = c.mapOf(x.Map), c.Copy(x.Key)
		return &n
	case *Call:
		n := *x
		n.Args = c.list(x.Args)
		return &n
	case *TypeOf:
		return c.typeOf(x)
	case *Sizeof:
		n := *x
		n.Of = c.typeOf(x.Of)
		return &n
	case *Offsetof:
		n := *x
		n.Of = c.typeOf(x.Of)
		return &n
	case *Typeinfo:
		n := *x
		n.Of = c.typeOf(x.Of)
		return &n
	case *If:
		n := *x
		n.Cond, n.Then, n.Else = c.Copy(x.Cond), c.Block(x.Then), c.Copy(x.Else)
		return &n
	case *Block:
		return c.Block(x)
	case *Tuple:
		n := *x
		n.Elems = c.list(x.Elems)
		return &n
	case *Record:
		n := *x
		n.Values = c.list(x.Values)
		return &n
	case *Cast:
		n := *x
		n.Type, n.X = c.typeOf(x.Type), c.Copy(x.X)
		return &n
	}
	return c.operation(x)
}

func (c *Copier) operation(x Expr) Expr {
	switch x := x.(type) {
	case *Comptime:
		n := *x
		n.X = c.Copy(x.X)
		return &n
	case *Unary:
		n := *x
		n.X = c.Copy(x.X)
		return &n
	case *Step:
		n := *x
		n.X = c.Copy(x.X)
		return &n
	case *Addr:
		n := *x
		n.X = c.Copy(x.X)
		return &n
	case *Binary:
		n := *x
		n.X, n.Y = c.Copy(x.X), c.Copy(x.Y)
		return &n
	case *Cond:
		n := *x
		n.C, n.T, n.F = c.Copy(x.C), c.Copy(x.T), c.Copy(x.F)
		return &n
	case *Field:
		n := *x
		n.X = c.Copy(x.X)
		return &n
	case *TupleField:
		n := *x
		n.X = c.Copy(x.X)
		return &n
	case *Index:
		n := *x
		n.X, n.I = c.Copy(x.X), c.Copy(x.I)
		return &n
	}
	return c.leaf(x)
}

// leaf copies expressions without parts, so that each node of a tree is in it once.
func (c *Copier) leaf(x Expr) Expr {
	switch x := x.(type) {
	case *Ident:
		return clone(x)
	case *Int:
		return clone(x)
	case *Float:
		return clone(x)
	case *Bool:
		return clone(x)
	case *String:
		return clone(x)
	case *Positional:
		return clone(x)
	case *PositionalCount:
		return clone(x)
	}
	return x
}

func clone[T any](x *T) *T {
	n := *x
	return &n
}

func (c *Copier) mapOf(x *Map) *Map {
	n := *x
	if c.Map != nil {
		n.Name = c.Map(x.Name, x)
	}
	return &n
}

func (c *Copier) list(xs []Expr) []Expr {
	out := make([]Expr, len(xs))
	for i, x := range xs {
		out[i] = c.Copy(x)
	}
	return out
}

func (c *Copier) typeOf(x *TypeOf) *TypeOf {
	if x == nil {
		return nil
	}
	if x.Type != nil && c.Type != nil {
		if t := c.Type(x.Type); t != nil {
			return t
		}
	}
	n := *x
	n.X = c.Copy(x.X)
	return &n
}

// Block copies a block.
func (c *Copier) Block(b *Block) *Block {
	if b == nil {
		return nil
	}
	n := *b
	n.Stmts = make([]Stmt, len(b.Stmts))
	for i, s := range b.Stmts {
		n.Stmts[i] = c.stmt(s)
	}
	n.Value = c.Copy(b.Value)
	return &n
}

func (c *Copier) stmt(s Stmt) Stmt {
	c.Nodes++
	switch s := s.(type) {
	case *ExprStmt:
		n := *s
		n.X = c.Copy(s.X)
		return &n
	case *Let:
		n := *s
		n.Var, n.Type, n.Value = c.variable(s.Var), c.typeOf(s.Type), c.Copy(s.Value)
		return &n
	case *Assign:
		n := *s
		n.Target, n.Value = c.Copy(s.Target), c.Copy(s.Value)
		return &n
	case *Discard:
		n := *s
		n.X = c.Copy(s.X)
		return &n
	case *While:
		n := *s
		n.Cond, n.Body = c.Copy(s.Cond), c.Block(s.Body)
		return &n
	case *Unroll:
		n := *s
		n.Count, n.Body = c.Copy(s.Count), c.Block(s.Body)
		return &n
	case *For:
		n := *s
		n.Var, n.From, n.To, n.Body = c.variable(s.Var), c.Copy(s.From), c.Copy(s.To), c.Block(s.Body)
		if s.Map != nil {
			n.Map = c.mapOf(s.Map)
		}
		return &n
	case *Jump:
		n := *s
		n.Value = c.Copy(s.Value)
		return &n
	}
	return s
}

func (c *Copier) variable(v *Var) *Var {
	n := *v
	if c.Var != nil {
		n.Name = c.Var(v.Name, v)
	}
	return &n
}

// Wrap makes a block whose value is x, at the position of at.
func Wrap(at Node, x Expr) *Block {
	return &Block{exprNode: exprNode{node{span: at.Span(), file: at.File(), height: x.levels() + 1}}, Value: x}
}

// At makes the common part of an expression at the position of another: for literals that take its place.
func (i *Int) At(n Node) *Int {
	i.exprNode = exprNode{node{span: n.Span(), file: n.File()}}
	return i
}

// Expanded is the probe with another predicate and body: those without macros.
func (p *Probe) Expanded(pred Expr, body *Block) *Probe {
	q := *p
	q.Predicate, q.Body = pred, body
	return &q
}
