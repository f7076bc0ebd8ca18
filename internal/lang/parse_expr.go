package lang

// Precedences of binary operators (C17 6.5), loosest first. GDB's @ stands
// between the shifts and the sums: arr[0]@n+1 has n+1 elements.
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

// expr parses an expression of operators that bind at least as tightly as least.
func (p *parser) expr(least int) (Expr, error) {
	lo := p.tok().span.Lo
	x, err := p.unary()
	for err == nil {
		op := p.tok()
		prec := 0
		if op.kind == tokOp {
			prec = binaryPrec[op.text]
		}
		if prec == 0 || prec < least {
			return x, nil
		}
		p.advance()
		switch prec {
		case precCond:
			x, err = p.cond(lo, x, op)
		case precAssign:
			x, err = p.assign(lo, x, op)
		default:
			x, err = p.binary(lo, x, op, prec)
		}
	}
	return nil, err
}

// binary parses the right operand of a left-associative operator.
func (p *parser) binary(lo int, x Expr, op token, prec int) (Expr, error) {
	y, err := p.expr(prec + 1)
	if err != nil {
		return nil, err
	}
	n, err := p.node(lo, x, y)
	if err != nil {
		return nil, err
	}
	if prec == precRepeat {
		return &Repeat{node: n, X: x, N: y}, nil
	}
	return &Binary{node: n, Op: op.text, OpPos: op.span, X: x, Y: y}, nil
}

// cond parses what follows the "?" of c ? t : f; it associates to the right.
func (p *parser) cond(lo int, c Expr, question token) (Expr, error) {
	if p.tok().is(":") {
		return nil, p.errorAt(p.tok().span, `GNU's "a ?: b" is written "a ? a : b"`, "an operand is missing before \":\"")
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
	f, err := p.expr(precCond)
	if err != nil {
		return nil, err
	}
	n, err := p.node(lo, c, t, f)
	if err != nil {
		return nil, err
	}
	return &Cond{node: n, C: c, T: t, F: f}, nil
}

// assign parses the right side of an assignment; it associates to the right.
func (p *parser) assign(lo int, x Expr, op token) (Expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	y, err := p.expr(precAssign)
	if err != nil {
		return nil, err
	}
	n, err := p.node(lo, x, y)
	if err != nil {
		return nil, err
	}
	return &Assign{node: n, Op: op.text, X: x, Y: y}, nil
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
	case t.is("(") && p.typeStarts(1):
		return p.cast()
	case t.is("{") && p.typeStarts(1):
		return p.objectAt()
	}
	return p.postfix()
}

// cast parses (type)x.
func (p *parser) cast() (Expr, error) {
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
	return &Cast{node: n, Type: ty, X: x}, err
}

// castWords are C++'s casts. None of them looks at the object.
var castWords = map[string]bool{"static_cast": true, "reinterpret_cast": true, "const_cast": true}

// namedCast parses static_cast<type>(x) and the like.
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

// sizeof parses sizeof x and sizeof(type).
func (p *parser) sizeof() (Expr, error) {
	word := p.advance()
	if open := p.tok(); open.is("(") && p.typeStarts(1) {
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
	if p.typeStarts(0) {
		return nil, p.errorAt(p.tok().span, "write sizeof("+p.tok().text+")", "the type after sizeof needs parentheses")
	}
	x, err := p.unary()
	if err != nil {
		return nil, err
	}
	n, err := p.node(word.span.Lo, x)
	return &Sizeof{node: n, X: x}, err
}
