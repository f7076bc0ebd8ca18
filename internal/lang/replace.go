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

// MemberOf returns m as the member of the object y.
func MemberOf(m *Member, y Expr) *Member {
	return &Member{node: nodeOf(m.span, y), X: y, Name: m.Name, NamePos: m.NamePos}
}
