package lang

// reading is what a parenthesis at the start of an operand may mean.
type reading struct {
	is     kindOfParens
	ty     *TypeName // its content as a type; nil if it is not a type
	object bool      // its content can be an expression
	end    int       // the token after it
}

type kindOfParens uint8

const (
	anOperand kindOfParens = iota // (x), or an error that the parser will report
	aCast                         // (type) before its operand
	undecided                     // one of the two: types decide
)

// reading determines what the parenthesis at the current token may be, by syntax only: its content as a
// type, as an expression, and what follows it.
func (p *parser) reading() reading {
	if p.surelyType(1) {
		return reading{is: aCast}
	}
	if r, known := p.parens[p.i]; known {
		return r
	}
	if p.parens == nil {
		p.parens = map[int]reading{}
	}
	start, nesting, inTypes := p.i, p.nesting, p.inTypes
	r := reading{end: -1}
	if p.typeStarts(1) {
		p.advance()
		if ty, err := p.typeName(); err == nil && p.tok().is(")") {
			end := p.i
			p.i = start + 1
			_, err := p.expr(precComma)
			r.ty, r.object, r.end = ty, err == nil && p.i == end, end+1
			p.i = end + 1
			r.is = p.readingBefore(r.object)
		}
	}
	p.i, p.nesting, p.inTypes = start, nesting, inTypes
	p.parens[start] = r
	return r
}

// readingBefore decides by the token after a parenthesis with a possible type.
func (p *parser) readingBefore(object bool) kindOfParens {
	t := p.tok()
	switch {
	case !object, t.kind == tokIdent, t.kind == tokLit, t.kind == tokReg, t.kind == tokScope, t.oneOf("! ~ ::"):
		return aCast // an operand follows
	case t.oneOf("++ --"):
		if n := p.ahead(1); n.kind == tokIdent || n.kind == tokLit {
			return aCast
		}
	case t.oneOf("+ - * &"):
		return undecided
	case t.is("("): // a call, or consecutive casts
		if p.enter() != nil {
			return anOperand // too deep: the parser reports it
		}
		defer p.leave()
		if p.reading().is == aCast {
			return aCast
		}
		return undecided
	}
	return anOperand
}

// maybe parses an operand that begins with an undecided parenthesis.
func (p *parser) maybe(r reading) (Expr, error) {
	open := p.advance()
	x, err := p.expr(precComma)
	if err != nil {
		return nil, err
	}
	if err := p.closing(")", open); err != nil {
		return nil, err
	}
	m := newMaybe(Span{open.span.Lo, p.ahead(-1).span.Hi}, x, r.ty)
	if p.tok().is("(") {
		return p.suffixed(open.span.Lo, m)
	}
	return m, nil
}

func newMaybe(s Span, x Expr, ty *TypeName) *Maybe {
	return &Maybe{node: node{span: s, depth: x.height(), open: true}, X: x, Type: ty}
}

// open makes the node for a sequence that cannot be grouped yet. Its height is that of its highest operand;
// Decide counts again.
func (p *parser) open(row []operand) (Expr, error) {
	n := node{span: Span{row[0].outer.Lo, p.ahead(-1).span.Hi}, open: true}
	for _, o := range row {
		n.depth = max(n.depth, o.x.height())
		if o.mid != nil {
			n.depth = max(n.depth, o.mid.height())
		}
	}
	return &Open{node: n, row: row}, p.checkHeight(n)
}

// inner returns the operand at the beginning or end of x's text: after prefix operators and casts, or before
// suffixes. A Maybe there can affect more than x. suffix means that the following text belongs to x in any
// case.
func inner(x Expr) (y Expr, suffix bool) {
	switch x := x.(type) {
	case *Unary:
		return x.X, false
	case *Cast:
		if x.Op == "" {
			return x.X, false
		}
	case *Sizeof:
		if x.Type == nil {
			return x.X, false
		}
	case *Assign:
		if x.Y == nil {
			return x.X, x.X.Span().Lo <= x.Span().Lo
		}
	case *Index:
		return x.X, true
	case *Member:
		return x.X, true
	case *Call:
		return x.Fn, true
	}
	return nil, false
}

// maybeIn returns the Maybe at the beginning of an operand, after its prefix operators; nil if there is none.
func maybeIn(x Expr) *Maybe {
	for x != nil && x.isOpen() {
		if m, ok := x.(*Maybe); ok {
			return m
		}
		x, _ = inner(x)
	}
	return nil
}

// endsInMaybe reports whether x consists only of parentheses that may all be types: (a), (a)(b), (a)(b)(c).
func endsInMaybe(x Expr) bool {
	if c, ok := x.(*Call); ok && len(c.Args) == 1 {
		x = c.Args[0]
	}
	_, ok := x.(*Maybe)
	return ok
}
