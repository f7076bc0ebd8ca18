package lang

import "strings"

// Value is what an assignment assigns: Y of X = Y, X op Y of X op= Y, X + 1 of ++X.
func (x *Assign) Value() Expr {
	op, y := strings.TrimSuffix(x.Op, "="), x.Y
	switch {
	case op == "":
		return y
	case y == nil:
		op, y = op[:1], &IntLit{node: nodeOf(x.span), Value: 1, Decimal: true}
	}
	return &Binary{node: nodeOf(x.span, x.X, y), Op: op, OpPos: x.span, X: x.X, Y: y}
}

// Postfix reports x++ and x--, whose value is that of x before.
func (x *Assign) Postfix() bool { return x.Y == nil && x.X.Span().Lo == x.span.Lo }
