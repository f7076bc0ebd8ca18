package lang

// Decide returns x with its ambiguities resolved by the names that are types: casts or parentheses, sizeof of a
// type or an object. It does not change x, because names may have another meaning at another place. The
// diagnostic, or nil, has no text.
func Decide(x Expr, isType func(name string) bool) (Expr, *Diagnostic) {
	d := &decider{types: isType, known: map[string]bool{}}
	x = d.expr(x)
	if d.bad == nil && x.height() > maxHeight {
		d.fail(x.Span(), tooHighMsg)
	}
	return x, d.bad
}

// OtherFrame reports whether the arguments of a call are expressions of another frame, where names have other meanings.
func OtherFrame(x *Call) bool {
	id, ok := x.Fn.(*Ident)
	return ok && id.Name == "@up"
}

type decider struct {
	types func(string) bool
	known map[string]bool // results of types, which may search debug information
	bad   *Diagnostic     // the first
}

func (d *decider) isType(ty *TypeName) bool {
	is, ok := d.known[ty.Name]
	if !ok {
		is = d.types(ty.Name)
		d.known[ty.Name] = is
	}
	return is
}

func (d *decider) fail(s Span, msg string) {
	if d.bad == nil {
		d.bad = &Diagnostic{Span: s, Msg: msg}
	}
}

// expr resolves the ambiguities in x.
func (d *decider) expr(x Expr) Expr {
	if x == nil || !x.isOpen() {
		return x
	}
	switch x := x.(type) {
	case *Open:
		return d.row(x)
	case *Call:
		if OtherFrame(x) {
			return x // its names are decided there
		}
	case *Maybe: // not at the beginning of an operand: an object
		return d.expr(x.X)
	case *Sizeof:
		if x.Type != nil {
			if d.isType(x.Type) {
				return &Sizeof{node: nodeOf(x.span), Type: x.Type}
			}
			y := d.expr(x.X)
			return &Sizeof{node: nodeOf(x.span, y), X: y}
		}
	}
	return withOperands(x, x.Span(), d.expr)
}

// row decides the operands of a sequence from left to right. A cast takes an operator and an operand from the
// sequence as its own operand.
func (d *decider) row(o *Open) Expr {
	r := &rowReader{d: d, row: o.row}
	var row []operand
	for r.at < len(r.row) {
		next := r.row[r.at]
		r.at++
		r.end = next.outer.Hi
		next.mid = d.expr(next.mid)
		next.x = r.operand(next.x)
		next.outer.Hi = r.end
		row = append(row, next)
	}
	x, _, bad := group(row)
	if bad != nil {
		d.fail(bad.Span, bad.Msg)
	}
	return x
}

type rowReader struct {
	d   *decider
	row []operand
	at  int // the next operand
	end int // end of the current operand's text
}

// operand decides one operand of the sequence, or a part of an operand.
func (r *rowReader) operand(x Expr) Expr {
	m := maybeIn(x)
	if m == nil {
		return r.d.expr(x)
	}
	if x == Expr(m) {
		return r.parenthesis(m)
	}
	if _, suffix := inner(x); !suffix {
		y := withOperands(x, x.Span(), r.operand)
		return withOperands(y, Span{x.Span().Lo, r.end}, func(z Expr) Expr { return z })
	}
	if called(x, m) && r.d.isType(m.Type) {
		y := r.operand(r.withoutCall(x, m))
		return &Cast{node: nodeOf(Span{m.span.Lo, r.end}, y), Type: m.Type, X: y}
	}
	return r.d.expr(x)
}

// parenthesis decides (a) before an operator.
func (r *rowReader) parenthesis(m *Maybe) Expr {
	if r.at == len(r.row) || !r.row[r.at].op.oneOf("+ - * &") || !r.d.isType(m.Type) {
		return r.d.expr(m.X)
	}
	next := r.row[r.at]
	r.at++
	r.end = next.outer.Hi
	y := r.operand(next.x)
	u := &Unary{node: nodeOf(Span{next.op.span.Lo, r.end}, y), Op: next.op.text, X: y}
	return &Cast{node: nodeOf(Span{m.span.Lo, r.end}, u), Type: m.Type, X: u}
}

// called reports whether the operand x begins with a call of m.
func called(x Expr, m *Maybe) bool {
	for x != nil {
		if c, ok := x.(*Call); ok && c.Fn == Expr(m) {
			return true
		}
		x, _ = inner(x)
	}
	return false
}

// withoutCall returns the operand of a cast (m): x, with the arguments of the call of m as an expression in
// parentheses.
func (r *rowReader) withoutCall(x Expr, m *Maybe) Expr {
	c, ok := x.(*Call)
	if !ok || c.Fn != Expr(m) {
		in, _ := inner(x)
		operand := r.withoutCall(in, m)
		return withOperands(x, Span{operand.Span().Lo, x.Span().Hi}, func(y Expr) Expr {
			if y == in {
				return operand
			}
			return y
		})
	}
	if len(c.Args) == 0 {
		r.d.fail(Span{c.span.Hi - 1, c.span.Hi}, `an operand is missing before ")"`)
		return m.X
	}
	y := c.Args[0]
	for _, z := range c.Args[1:] {
		s := Span{y.Span().Lo, z.Span().Hi}
		y = &Binary{node: nodeOf(s, y, z), Op: ",", OpPos: Span{y.Span().Hi, z.Span().Lo}, X: y, Y: z}
	}
	return y
}

// withOperands returns a copy of x at s, with f applied to its operands.
func withOperands(x Expr, s Span, f func(Expr) Expr) Expr {
	of := func(y Expr) Expr {
		if y == nil {
			return nil
		}
		return f(y)
	}
	switch x := x.(type) {
	case *Unary:
		y := of(x.X)
		return &Unary{nodeOf(s, y), x.Op, y}
	case *Binary:
		y, z := of(x.X), of(x.Y)
		return &Binary{nodeOf(s, y, z), x.Op, x.OpPos, y, z}
	case *Cond:
		a, b, c := of(x.C), of(x.T), of(x.F)
		return &Cond{nodeOf(s, a, b, c), a, b, c}
	case *Cast:
		y := of(x.X)
		return &Cast{nodeOf(s, y), x.Op, x.Type, y, x.Bare}
	case *Sizeof:
		y := of(x.X)
		return &Sizeof{nodeOf(s, y), y, x.Type}
	case *Index:
		y, z := of(x.X), of(x.I)
		return &Index{nodeOf(s, y, z), y, z}
	case *Member:
		y := of(x.X)
		return &Member{nodeOf(s, y), y, x.Name, x.NamePos, x.Arrow}
	case *Repeat:
		y, z := of(x.X), of(x.N)
		return &Repeat{nodeOf(s, y, z), y, z}
	case *Assign:
		y, z := of(x.X), of(x.Y)
		return &Assign{nodeOf(s, y, z), x.Op, y, z}
	case *Call:
		fn, args := of(x.Fn), make([]Expr, len(x.Args))
		all := []Expr{fn}
		for i, a := range x.Args {
			args[i] = of(a)
			all = append(all, args[i])
		}
		return &Call{nodeOf(s, all...), fn, args}
	}
	return x // no operands, or an Open or Maybe, which are never changed as a whole
}
