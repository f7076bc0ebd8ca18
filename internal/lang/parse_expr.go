package lang

// Precedences of binary operators (C17 6.5), loosest first. GDB's @ is between shifts and sums: arr[0]@n+1 has
// n+1 elements.
const (
	precComma = iota + 1
	precAssign
	precCond
	precOrOr
	precAndAnd
	precOr
	precXor
	precAnd
	precEqual
	precRelation
	precShift
	precRepeat
	precSum
	precProduct
	precUnary
)

var binaryPrec = map[string]int{
	",": precComma,
	"=": precAssign, "+=": precAssign, "-=": precAssign, "*=": precAssign, "/=": precAssign, "%=": precAssign,
	"<<=": precAssign, ">>=": precAssign, "&=": precAssign, "^=": precAssign, "|=": precAssign,
	"?":  precCond,
	"||": precOrOr,
	"&&": precAndAnd,
	"|":  precOr,
	"^":  precXor,
	"&":  precAnd,
	"==": precEqual, "!=": precEqual,
	"<": precRelation, ">": precRelation, "<=": precRelation, ">=": precRelation,
	"<<": precShift, ">>": precShift,
	"@": precRepeat,
	"+": precSum, "-": precSum,
	"*": precProduct, "/": precProduct, "%": precProduct,
}

// operand is an operand in a sequence, with the operator before it.
type operand struct {
	x     Expr
	outer Span // including parentheses
	op    token
	mid   Expr // between "?" and ":"
}

// expr parses an expression of operators that bind at least as tightly as least. It first reads a sequence, and
// then groups it, or leaves it as an Open until types are known.
func (p *parser) expr(least int) (Expr, error) {
	var row []operand
	var next operand
	open := false
	for {
		lo := p.tok().span.Lo
		x, err := p.unary()
		if err != nil {
			return nil, err
		}
		next.x, next.outer = x, Span{lo, p.ahead(-1).span.Hi}
		open = open || maybeIn(x) != nil
		row = append(row, next)
		op := p.tok()
		if op.kind != tokOp || binaryPrec[op.text] < max(least, precComma) {
			break
		}
		p.advance()
		next = operand{op: op}
		if op.is("?") {
			if next.mid, err = p.middle(op); err != nil {
				return nil, err
			}
		}
	}
	if open {
		return p.open(row)
	}
	x, _, d := group(row)
	if d != nil {
		return nil, p.errorAt(d.Span, d.Hint, "%s", d.Msg)
	}
	return x, nil
}

// middle parses the "?", the ":" and the expression between them in c ? t : f.
func (p *parser) middle(question token) (Expr, error) {
	if p.tok().is(":") {
		return nil, p.errorAt(p.tok().span, `write "a ? a : b" for GNU's "a ?: b"`, "an operand is missing before \":\"")
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	t, err := p.expr(precComma)
	if err != nil {
		return nil, err
	}
	if !p.accept(":") {
		if p.tok().kind == tokEOF {
			return nil, p.errorAt(question.span, `the form is "a ? b : c"`, `this "?" has no ":"`)
		}
		return nil, p.unexpectedAfter()
	}
	return t, nil
}

// group makes the tree of a sequence by the precedences of its operators. The diagnostic has no text.
func group(row []operand) (Expr, Span, *Diagnostic) {
	g := &grouper{row: row[1:]}
	x, outer := g.tree(row[0].x, row[0].outer, precComma)
	return x, outer, g.bad
}

// grouper does precedence climbing on the rest of a sequence.
type grouper struct {
	row []operand
	bad *Diagnostic
}

// tree extends x by the following operands whose operators bind at least as tightly as least.
func (g *grouper) tree(x Expr, outer Span, least int) (Expr, Span) {
	for len(g.row) > 0 && g.bad == nil {
		next := g.row[0]
		prec := binaryPrec[next.op.text]
		if prec < least {
			break
		}
		g.row = g.row[1:]
		right := prec + 1
		if prec == precAssign || prec == precCond { // associate to the right
			right = prec
		}
		y, end := g.tree(next.x, next.outer, right)
		outer.Hi = end.Hi
		x = g.join(x, next, y, outer)
	}
	return x, outer
}

// join makes the node of an operator.
func (g *grouper) join(x Expr, by operand, y Expr, s Span) Expr {
	n := nodeOf(s, x, by.mid, y)
	if d := n.tooHigh(); d != nil && g.bad == nil {
		g.bad = d
	}
	switch prec := binaryPrec[by.op.text]; prec {
	case precCond:
		return &Cond{node: n, C: x, T: by.mid, F: y}
	case precAssign:
		return &Assign{node: n, Op: by.op.text, X: x, Y: y}
	case precRepeat:
		return &Repeat{node: n, X: x, N: y}
	}
	return &Binary{node: n, Op: by.op.text, OpPos: by.op.span, X: x, Y: y}
}

// unary parses prefix operators, casts and sizeof before a postfix expression.
func (p *parser) unary() (Expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	t := p.tok()
	switch {
	case t.oneOf("- + ! ~ * &"):
		p.advance()
		x, err := p.unary()
		if err != nil {
			return nil, err
		}
		n, err := p.node(t.span.Lo, x)
		return &Unary{node: n, Op: t.text, X: x}, err
	case t.oneOf("++ --"):
		p.advance()
		x, err := p.unary()
		if err != nil {
			return nil, err
		}
		n, err := p.node(t.span.Lo, x)
		return &Assign{node: n, Op: t.text, X: x}, err
	case t.is("&&"):
		return nil, p.errorAt(t.span, "", "an operand is missing before %q", "&&")
	case t.word("sizeof"):
		return p.sizeof()
	case t.is("("):
		switch r := p.reading(); r.is {
		case aCast:
			return p.cast()
		case undecided:
			return p.maybe(r)
		}
	case t.is("{") && p.typeStarts(1):
		return p.objectAt()
	}
	return p.postfix()
}

// cast parses (type)x.
func (p *parser) cast() (Expr, error) {
	bare := !p.surelyType(1)
	open := p.advance()
	ty, err := p.typeName()
	if err != nil {
		return nil, err
	}
	if err := p.closingType(")", open); err != nil {
		return nil, err
	}
	if p.tok().is("{") {
		return nil, p.errorAt(p.tok().span, "", "compound literals are not supported")
	}
	x, err := p.unary()
	if err != nil {
		return nil, err
	}
	n, err := p.node(open.span.Lo, x)
	return &Cast{node: n, Type: ty, X: x, Bare: bare && len(ty.Derive) == 0}, err
}

// castWords are C++'s casts. None of them reads the object at run time.
var castWords = map[string]bool{"static_cast": true, "reinterpret_cast": true, "const_cast": true}

// namedCast parses static_cast<type>(x) and the other C++ casts.
func (p *parser) namedCast() (Expr, error) {
	word := p.advance()
	open := p.advance()
	if !p.typeStarts(0) {
		if p.tok().kind == tokError {
			return nil, p.tok().err
		}
		return nil, p.errorAt(p.tok().span, "", "a type must follow %q", word.text+"<")
	}
	ty, err := p.typeName()
	if err != nil {
		return nil, err
	}
	if err := p.closingType(">", open); err != nil {
		return nil, err
	}
	paren := p.tok()
	if !paren.is("(") {
		return nil, p.errorAt(paren.span, "", "the operand of %s needs parentheses", word.text)
	}
	p.advance()
	x, err := p.expr(precComma)
	if err != nil {
		return nil, err
	}
	if err := p.closing(")", paren); err != nil {
		return nil, err
	}
	n, err := p.node(word.span.Lo, x)
	return &Cast{node: n, Op: word.text, Type: ty, X: x}, err
}

// objectAt parses GDB's {type}addr, which is *(type *)addr.
func (p *parser) objectAt() (Expr, error) {
	open := p.advance()
	ty, err := p.typeName()
	if err != nil {
		return nil, err
	}
	if err := p.closingType("}", open); err != nil {
		return nil, err
	}
	x, err := p.unary()
	if err != nil {
		return nil, err
	}
	ty.Derive = append(ty.Derive, Derivation{Pointer: true})
	inner, err := p.node(open.span.Lo, x)
	if err != nil {
		return nil, err
	}
	ptr := &Cast{node: inner, Type: ty, X: x}
	n, err := p.node(open.span.Lo, ptr)
	return &Unary{node: n, Op: "*", X: ptr}, err
}

// sizeof parses sizeof x and sizeof(type). A type in parentheses is the whole operand: sizeof (T)-1 is a
// difference.
func (p *parser) sizeof() (Expr, error) {
	word := p.advance()
	var ty *TypeName
	if open := p.tok(); open.is("(") {
		r := p.reading()
		ty = r.ty
		if p.surelyType(1) || ty != nil && !r.object {
			p.advance()
			ty, err := p.typeName()
			if err != nil {
				return nil, err
			}
			if err := p.closingType(")", open); err != nil {
				return nil, err
			}
			n, err := p.node(word.span.Lo)
			return &Sizeof{node: n, Type: ty}, err
		}
		x, err := p.postfix()
		if err != nil {
			return nil, err
		}
		if p.i != r.end {
			ty = nil // the operand continues after the parentheses
		}
		return p.sizeofNode(word, x, ty)
	}
	if p.surelyType(0) {
		return nil, p.errorAt(p.tok().span, "write sizeof("+p.tok().text+")", "the type after sizeof needs parentheses")
	}
	x, err := p.unary()
	if err != nil {
		return nil, err
	}
	return p.sizeofNode(word, x, nil)
}

func (p *parser) sizeofNode(word token, x Expr, ty *TypeName) (Expr, error) {
	n, err := p.node(word.span.Lo, x)
	n.open = n.open || ty != nil
	return &Sizeof{node: n, X: x, Type: ty}, err
}
