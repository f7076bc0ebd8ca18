package script

import "reflect"

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
		return c.variable(x)
	case *Map:
		return c.mapOf(x)
	case *TypeOf:
		return c.typeOf(x)
	}
	return c.node(x).(Expr)
}

// node copies a node with its parts.
func (c *Copier) node(n Node) Node {
	from := reflect.ValueOf(n).Elem()
	to := reflect.New(from.Type())
	to.Elem().Set(from)
	for _, i := range partsOf(from.Type()) {
		c.part(to.Elem().FieldByIndex(i).Addr().Interface())
	}
	return to.Interface().(Node)
}

// part puts a copy in place of a part, to whose field p points.
func (c *Copier) part(p any) {
	switch p := p.(type) {
	case *Expr:
		*p = c.Copy(*p)
	case *[]Expr:
		list := make([]Expr, len(*p))
		for i, x := range *p {
			list[i] = c.Copy(x)
		}
		*p = list
	case *[]Stmt:
		list := make([]Stmt, len(*p))
		for i, s := range *p {
			c.Nodes++
			list[i] = c.node(s).(Stmt)
		}
		*p = list
	case **Block:
		*p = c.Block(*p)
	case **TypeOf:
		*p = c.typeOf(*p)
	case **Var:
		*p = c.variable(*p)
	case **Map:
		*p = c.mapOf(*p)
	}
}

// Block copies a block.
func (c *Copier) Block(b *Block) *Block {
	if b == nil {
		return nil
	}
	return c.node(b).(*Block)
}

func (c *Copier) variable(v *Var) *Var {
	n := *v
	if c.Var != nil {
		n.Name = c.Var(v.Name, v)
	}
	return &n
}

func (c *Copier) mapOf(m *Map) *Map {
	if m == nil {
		return nil
	}
	n := *m
	if c.Map != nil {
		n.Name = c.Map(m.Name, m)
	}
	return &n
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
	return c.node(x).(*TypeOf)
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
