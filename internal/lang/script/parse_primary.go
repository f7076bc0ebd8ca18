package script

import (
	"math"
	"strconv"
	"strings"
)

// primary parses an operand without operators.
func (p *exprParser) primary() Expr {
	p.layout()
	lo := p.pos
	switch c := p.peek(0); {
	case c == '(':
		return p.parens()
	case c == '{':
		if b := p.block(); b != nil {
			return b
		}
		return nil
	case isWordStart(c):
		return p.worded()
	case c == '@':
		return p.mapped()
	case c == '$' && p.peek(1) == '#':
		p.take(2)
		return &PositionalCount{p.expr(lo)}
	case c == '$' && isDigit(p.peek(1)):
		return p.positional()
	case c == '$':
		name := p.sigil(false)
		return &Var{p.expr(lo), name}
	case isDigit(c):
		return p.number()
	case c == '"':
		v := p.quoted()
		return &String{p.expr(lo), v, false}
	case c == '\'':
		p.errorAt(p.next(), "write the number, such as 65 for 'A'", "there are no character literals")
		return nil
	}
	p.unexpected("expected an expression %s", p.found())
	return nil
}

// worded parses what begins with a word: if, sizeof and the like, a call, a bare word.
func (p *exprParser) worded() Expr {
	lo := p.pos
	w := p.word()
	if w == "typeof" {
		return p.typeOf()
	}
	p.take(len(w))
	switch w {
	case "true", "false":
		return &Bool{p.expr(lo), w == "true"}
	case "if":
		return p.ifElse(lo)
	case "sizeof":
		t := p.operand(")")
		p.expect(')')
		return &Sizeof{p.expr(lo, t), t}
	case "typeinfo":
		t := p.operand(")")
		p.expect(')')
		return &Typeinfo{p.expr(lo, t), t}
	case "offsetof":
		return p.offsetOf(lo)
	case "comptime":
		x := p.unary()
		return &Comptime{p.expr(lo, x), x}
	}
	if keywords[w] {
		p.errorAt(p.since(lo), "", "the keyword %q cannot be part of an expression", w)
		return nil
	}
	name := p.since(lo)
	p.layout()
	if p.peek(0) == '(' {
		args := p.args()
		return &Call{p.expr(lo, nodes(args)...), w, name, args}
	}
	return &Ident{p.expr(lo), w}
}

// keywords cannot be names.
var keywords = map[string]bool{
	"break": true, "continue": true, "else": true, "for": true, "import": true, "let": true, "return": true,
	"unroll": true, "while": true,
}

func (p *exprParser) operand(ends string) *TypeOf {
	p.expect('(')
	return p.typeOrExpr(ends)
}

func (p *exprParser) offsetOf(lo int) Expr {
	t := p.operand(",")
	p.expect(',')
	fields := []string{p.name("the name of a field")}
	for p.accept('.') {
		fields = append(fields, p.name("the name of a field"))
	}
	p.expect(')')
	return &Offsetof{p.expr(lo, t), t, fields}
}

func (p *exprParser) ifElse(lo int) Expr {
	p.enter()
	defer p.leave()
	x := &If{Cond: p.condition()}
	if x.Then = p.block(); x.Then == nil {
		return nil
	}
	parts := []Node{x.Cond, x.Then}
	if p.acceptWord("else") {
		p.layout()
		at := p.pos
		switch {
		case p.acceptWord("if"):
			x.Else = p.ifElse(at)
		case p.peek(0) == '{':
			if b := p.block(); b != nil {
				x.Else = b
			}
		default:
			p.unexpected(`expected "{" or "if" after "else" %s`, p.found())
		}
		if x.Else == nil {
			return nil
		}
		parts = append(parts, x.Else)
	}
	x.exprNode = p.expr(lo, parts...)
	return x
}

// args parses the arguments of a call with their parentheses.
func (p *exprParser) args() []Expr {
	p.expect('(')
	var args []Expr
	p.list(func() { args = append(args, p.arg()) })
	return args
}

// arg parses an argument: an expression, or a type such as struct S or uint8*.
func (p *exprParser) arg() Expr {
	p.layout()
	lo := p.pos
	if end, _, certain := p.afterType(lo); end >= 0 && certain && (p.at(end) == ',' || p.at(end) == ')') {
		t := p.typeName()
		return &TypeOf{p.expr(lo), t, nil, false}
	}
	return p.expression()
}

// mapped parses a map or an element of one.
func (p *exprParser) mapped() Expr {
	lo := p.pos
	name := p.sigil(true)
	m := &Map{p.expr(lo), name}
	p.layout()
	if p.peek(0) != '[' {
		return m
	}
	p.take(1)
	at := p.pos
	keys := []Expr{p.expression()}
	for p.accept(',') {
		keys = append(keys, p.expression())
	}
	key := keys[0]
	if len(keys) > 1 {
		key = &Tuple{p.expr(p.afterLayout(at), nodes(keys)...), keys}
	}
	p.expect(']')
	return &Element{p.expr(lo, m, key), m, key}
}

func (p *exprParser) positional() Expr {
	lo := p.pos
	p.take(p.wordEnd(lo+1) - lo)
	digits := p.src[lo+1 : p.pos]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 1 || n > math.MaxInt32 {
		p.report(p.since(lo), "the first parameter is $1", "there is no parameter $%s", digits)
		n = 1
	}
	return &Positional{p.expr(lo), int(n)}
}

// parens parses what begins with "(": an expression, a cast, a tuple or a record.
func (p *exprParser) parens() Expr {
	p.enter()
	defer p.leave()
	lo := p.pos
	p.take(1)
	switch {
	case p.accept(')'):
		return &Tuple{p.expr(lo), nil}
	case p.recordAhead():
		return p.record(lo)
	}
	if c := p.cast(lo); c != nil {
		return c
	}
	first := p.expression()
	if !p.accept(',') {
		p.expect(')')
		return first
	}
	elems := []Expr{first}
	for !p.bad && !p.accept(')') {
		elems = append(elems, p.expression())
		if !p.accept(',') {
			p.expect(')')
			break
		}
	}
	return &Tuple{p.expr(lo, nodes(elems)...), elems}
}

// recordAhead reports whether name = follows.
func (p *exprParser) recordAhead() bool {
	w := p.word()
	if w == "" || isBuiltin(w) {
		return false
	}
	i := p.afterLayout(p.pos + len(w))
	return p.at(i) == '=' && p.at(i+1) != '='
}

func (p *exprParser) record(lo int) Expr {
	r := &Record{}
	seen := map[string]bool{}
	for !p.bad {
		p.layout()
		at := p.pos
		name := p.name("the name of a field")
		if seen[name] {
			p.report(p.since(at), "", "the record has two fields %q", name)
		}
		seen[name] = true
		p.expect('=')
		r.Names = append(r.Names, name)
		r.Values = append(r.Values, p.expression())
		if !p.accept(',') {
			break
		}
	}
	p.expect(')')
	r.exprNode = p.expr(lo, nodes(r.Values)...)
	return r
}

// cast parses (type)operand after the "(" at lo, or returns nil. A word in parentheses is a type if an operand
// follows, except the builtins that are words of the grammar.
func (p *exprParser) cast(lo int) Expr {
	var t *TypeOf
	if p.word() == "typeof" {
		t = p.typeOf()
		if p.layout(); !p.bad && (p.peek(0) != ')' || !p.operandAt(p.pos+1)) {
			p.expect(')')
			return t
		}
	} else {
		end, _, _ := p.afterType(p.pos)
		if end < 0 || p.at(end) != ')' || !p.operandAt(end+1) || !p.suffixesAreNumbers(p.pos, end) {
			return nil
		}
		at := p.pos
		name := p.typeName()
		t = &TypeOf{p.expr(at), name, nil, false}
	}
	p.expect(')')
	x := p.unary()
	return &Cast{p.expr(lo, t, x), t, x}
}

// suffixesAreNumbers reports whether the brackets between lo and hi contain numbers only: (a[$i])... is no cast.
func (p *exprParser) suffixesAreNumbers(lo, hi int) bool {
	text := p.src[lo:hi]
	i := strings.IndexByte(text, '[')
	return i < 0 || strings.Trim(text[i:], "[]* \t\r\n0123456789xXabcdefABCDEF_") == ""
}

// operandAt reports whether an operand of a cast can begin at i.
func (p *exprParser) operandAt(i int) bool {
	c := p.at(p.afterLayout(i))
	return c != 0 && (isWord(c) || strings.IndexByte(`$@"(-!~*&`, c) >= 0)
}
