package lang

// Replace returns x with the parts replaced for which f returns another expression; for the others f returns nil, and their
// operands are asked about. x has no ambiguities: see Decide.
func Replace(x Expr, f func(Expr) Expr) Expr {
	if x == nil {
		return nil
	}
	if y := f(x); y != nil {
		return y
	}
	return withOperands(x, x.Span(), func(y Expr) Expr { return Replace(y, f) })
}

// NameFor returns a name with the span of x, to replace it. The name need not be one that can be written.
func NameFor(x Expr, name string) *Ident { return &Ident{node: nodeOf(x.Span()), Name: name} }

// ElementFor returns what x, which is p[i], *p or p->name, is of the array y instead of p: y[i], y[0] or y[0].name. i is nil but for p[i].
func ElementFor(x, y, i Expr) Expr {
	if i == nil {
		i = &IntLit{node: nodeOf(x.Span())}
	}
	e := &Index{node: nodeOf(x.Span(), y, i), X: y, I: i}
	if m, ok := x.(*Member); ok {
		return MemberOf(m, e)
	}
	return e
}

// MemberOf returns m as the member of the object y.
func MemberOf(m *Member, y Expr) *Member {
	return &Member{node: nodeOf(m.span, y), X: y, Name: m.Name, NamePos: m.NamePos}
}
