package script

import (
	"strings"

	"github.com/jalon-trace/jalon/internal/lang"
)

// levels are the binary operators by precedence, the weakest first.
var levels = [][]string{
	{"||"}, {"&&"}, {"|"}, {"^"}, {"&"}, {"==", "!="}, {"<=", ">=", "<", ">"}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"},
}

// precedence of each operator, from 1.
var precedence = func() map[string]int {
	m := map[string]int{}
	for i, ops := range levels {
		for _, op := range ops {
			m[op] = i + 1
		}
	}
	return m
}()

// expression parses an expression, ?: included. After an error it returns some expression or nil.
func (p *exprParser) expression() Expr {
	p.enter()
	defer p.leave()
	p.layout()
	lo := p.pos
	c := p.binary(1)
	p.layout()
	if p.peek(0) != '?' || p.bad {
		return c
	}
	p.take(1)
	if p.accept(':') {
		f := p.expression()
		return &Cond{p.expr(lo, c, f), c, nil, f}
	}
	t := p.expression()
	p.expect(':')
	f := p.expression()
	return &Cond{p.expr(lo, c, t, f), c, t, f}
}

// operator returns the binary operator at the next token, and its precedence; 0 if there is none. An operator
// before "=" is an assignment, and a "/" before "{" ends a predicate.
func (p *exprParser) operator() (string, int) {
	p.layout()
	c, next := p.peek(0), p.peek(1)
	two := string([]byte{c, next})
	switch n := precedence[two]; {
	case n > 0 && (two != "<<" && two != ">>" || p.peek(2) != '='):
		return two, n
	case n > 0, two == "++", two == "--", two == "->":
		return "", 0
	}
	one := string([]byte{c})
	if strings.IndexByte("+-*/%&|^", c) >= 0 && next == '=' {
		return "", 0
	}
	if c == '/' && p.at(p.afterLayout(p.pos+1)) == '{' {
		return "", 0
	}
	return one, precedence[one]
}

// binary parses operands joined by operators of at least the precedence min.
func (p *exprParser) binary(min int) Expr {
	p.layout()
	lo := p.pos
	x := p.unary()
	for !p.bad {
		op, prec := p.operator()
		if prec < min || prec == 0 {
			break
		}
		at := p.pos
		p.take(len(op))
		y := p.binary(prec + 1)
		x = &Binary{p.expr(lo, x, y), op, lang.Span{Lo: at, Hi: at + len(op)}, x, y}
	}
	return x
}

func (p *exprParser) unary() Expr {
	p.enter()
	defer p.leave()
	p.layout()
	lo := p.pos
	c, next := p.peek(0), p.peek(1)
	switch {
	case c == '+' && next == '+', c == '-' && next == '-':
		p.take(2)
		x := p.unary()
		p.steppable(x, lo)
		return &Step{p.expr(lo, x), string([]byte{c, c}), true, x}
	case c == '&':
		return p.address()
	case c == '*', c == '~', c == '-', c == '+', c == '!' && next != '=':
		p.take(1)
		x := p.unary()
		return &Unary{p.expr(lo, x), string([]byte{c}), x}
	}
	x := p.primary()
	if isBlock(x) && c != '(' {
		return x
	}
	return p.postfix(lo, x)
}

// steppable reports operands that ++ and -- cannot change.
func (p *exprParser) steppable(x Expr, lo int) {
	switch x.(type) {
	case *Var, *Map, *Element:
		return
	}
	if !p.bad {
		p.report(p.since(lo), "", "++ and -- change a variable or a map's value, nothing else")
	}
}

func (p *exprParser) address() Expr {
	lo := p.pos
	p.take(1)
	p.layout()
	at := p.pos
	switch p.peek(0) {
	case '$':
		name := p.sigil(false)
		v := &Var{p.expr(at), name}
		return &Addr{p.expr(lo, v), v}
	case '@':
		name := p.sigil(true)
		m := &Map{p.expr(at), name}
		return &Addr{p.expr(lo, m), m}
	}
	x := p.unary()
	p.report(p.since(lo), "", "only a variable or a map has an address (&)")
	return &Addr{p.expr(lo, x), x}
}

// postfix parses .field, ->field, .0, [index], ++ and -- after x.
func (p *exprParser) postfix(lo int, x Expr) Expr {
	for !p.bad {
		p.layout()
		c, next := p.peek(0), p.peek(1)
		switch {
		case c == '.' && next != '.', c == '-' && next == '>':
			p.take(1)
			if c == '-' {
				p.take(1)
			}
			x = p.member(lo, x)
		case c == '[':
			p.take(1)
			i := p.expression()
			p.expect(']')
			x = &Index{p.expr(lo, x, i), x, i}
		case c == '+' && next == '+', c == '-' && next == '-':
			p.steppable(x, lo)
			p.take(2)
			x = &Step{p.expr(lo, x), string([]byte{c, c}), false, x}
		default:
			return x
		}
	}
	return x
}

// member parses the name or number after a dot.
func (p *exprParser) member(lo int, x Expr) Expr {
	p.layout()
	at := p.pos
	if isDigit(p.peek(0)) {
		n := 0
		for isDigit(p.peek(0)) {
			n = min(n*10+int(p.peek(0)-'0'), 1<<20)
			p.take(1)
		}
		return &TupleField{p.expr(lo, x), x, n}
	}
	name := p.name("the name of a field")
	return &Field{p.expr(lo, x), x, name, p.since(at)}
}
