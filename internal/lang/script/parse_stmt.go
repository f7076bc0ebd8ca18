package script

import (
	"strings"

	"github.com/jalon-trace/jalon/internal/lang"
)

// statements parses a block whose value is not used: a last expression without ";" is a statement.
func (p *statementParser) statements() *Block {
	b := p.block()
	if b != nil {
		dropValue(b)
	}
	return b
}

// dropValue makes the value of a block, and of the blocks that are this value, a statement.
func dropValue(b *Block) {
	if b.Value == nil {
		return
	}
	x := b.Value
	b.Value = nil
	b.Stmts = append(b.Stmts, &ExprStmt{stmtNode{node{span: x.Span(), file: x.File(), height: x.levels() + 1}}, x})
	for {
		switch y := x.(type) {
		case *Block:
			dropValue(y)
		case *If:
			dropValue(y.Then)
			if y.Else != nil {
				x = y.Else
				continue
			}
		}
		return
	}
}

// block parses { statements; value }. After an error in a statement it goes on with the next.
func (p *statementParser) block() *Block {
	p.enter()
	defer p.leave()
	p.layout()
	lo := p.pos
	if !p.expect('{') {
		return nil
	}
	b := &Block{}
	for {
		p.layout()
		if !p.bad && p.pos >= len(p.src) {
			p.errorAt(lang.Span{Lo: lo, Hi: lo + 1}, "", `this "{" is not closed`)
			return nil
		}
		if p.accept('}') {
			break
		}
		before := p.pos
		p.statement(b)
		if p.bad {
			if p.nesting > maxNesting { // what is nested too deep is not parsed further
				return nil
			}
			p.bad = false
			p.pos = p.skip(max(before, p.pos), false)
			if p.pos == before {
				p.take(1)
			}
			p.hi = p.pos
		}
	}
	parts := nodes(b.Stmts)
	if b.Value != nil {
		parts = append(parts, b.Value)
	}
	b.exprNode = p.expr(lo, parts...)
	return b
}

// statement parses a statement and appends it to the block, or sets the block's value.
func (p *statementParser) statement(b *Block) {
	lo := p.pos
	var st Stmt
	switch w := p.word(); w {
	case "import":
		st = p.importFile()
	case "while":
		p.take(len(w))
		cond := p.condition()
		body := p.statements()
		st = finish(p, body, func() Stmt { return &While{p.stmt(lo, cond, body), cond, body} })
	case "unroll":
		p.take(len(w))
		count := p.condition()
		body := p.statements()
		st = finish(p, body, func() Stmt { return &Unroll{p.stmt(lo, count, body), count, body} })
	case "for":
		st = p.loop()
	case "break", "continue", "return":
		st = p.jump(w)
	case "let":
		st = p.let()
	default:
		p.simple(b)
		return
	}
	if st != nil && !p.bad {
		b.Stmts = append(b.Stmts, st)
	}
}

// finish makes a statement unless its body is missing.
func finish(p *statementParser, body *Block, make func() Stmt) Stmt {
	if p.bad || body == nil {
		return nil
	}
	return make()
}

// condition parses the condition of an if or a loop: in parentheses, or a unary expression. ("{" begins the
// block.)
func (p *statementParser) condition() Expr {
	if p.accept('(') {
		x := p.expression()
		p.expect(')')
		return x
	}
	return p.unary()
}

func (p *statementParser) loop() Stmt {
	p.layout()
	lo := p.pos
	p.acceptWord("for")
	parens := p.accept('(')
	f := &For{Var: p.variable("the variable of the loop")}
	p.expect(':')
	first := p.unary()
	p.layout()
	switch m, isMap := first.(*Map); {
	case p.peek(0) == '.' && p.peek(1) == '.':
		p.take(2)
		f.From, f.To = first, p.unary()
	case isMap:
		f.Map = m
	default:
		p.errorAt(p.since(lo), "for ($kv : @map) or for ($i : 0..10)", "expected a map or a range in the loop")
	}
	if parens {
		p.expect(')')
	}
	f.Body = p.statements()
	return finish(p, f.Body, func() Stmt { f.stmtNode = p.stmt(lo, first, f.Body); return f })
}

func (p *statementParser) jump(w string) Stmt {
	lo := p.pos
	p.take(len(w))
	j := &Jump{Word: w}
	p.layout()
	if c := p.peek(0); w == "return" && c != ';' && c != '}' {
		j.Value = p.expression()
	}
	p.end()
	if j.Value != nil {
		j.stmtNode = p.stmt(lo, j.Value)
	} else {
		j.stmtNode = p.stmt(lo)
	}
	return j
}

// end consumes the ";" after a statement; before "}" it may be missing.
func (p *statementParser) end() {
	p.layout()
	if p.peek(0) != '}' {
		p.expect(';')
	}
}

func (p *statementParser) let() Stmt {
	lo := p.pos
	p.acceptWord("let")
	st := &Let{Var: p.variable("a variable after let")}
	parts := []Node{st.Var}
	if p.accept(':') {
		st.Type = p.typeOnly()
		parts = append(parts, st.Type)
	}
	if p.accept('=') {
		st.Value = p.expression()
		parts = append(parts, st.Value)
	}
	st.stmtNode = p.stmt(lo, parts...)
	p.end()
	return st
}

// compound are the operators that may precede "=".
var compound = strings.Fields("<< >> + - * / % & | ^")

// assignment consumes "=" or an operator with "=", and reports whether there is one.
func (p *statementParser) assignment() (op string, ok bool) {
	p.layout()
	if p.peek(0) == '=' && p.peek(1) != '=' {
		p.take(1)
		return "", true
	}
	for _, op := range compound {
		if !p.bad && strings.HasPrefix(p.src[p.pos:], op) && p.peek(len(op)) == '=' {
			p.take(len(op) + 1)
			return op, true
		}
	}
	return "", false
}

// simple parses an assignment, a discarded value, or an expression, which may be the block's value.
func (p *statementParser) simple(b *Block) {
	lo := p.pos
	if p.word() == "_" {
		if i := p.afterLayout(p.pos + 1); p.at(i) == '=' && p.at(i+1) != '=' {
			p.take(i + 1 - p.pos)
			x := p.expression()
			st := &Discard{p.stmt(lo, x), x}
			p.end()
			b.Stmts = append(b.Stmts, st)
			return
		}
	}
	var x Expr
	if p.word() == "if" || p.peek(0) == '{' {
		x = p.primary() // complete: what follows is the next statement
	} else {
		x = p.expression()
	}
	if op, ok := p.assignment(); ok {
		p.target(x)
		y := p.expression()
		st := &Assign{p.stmt(lo, x, y), x, op, y}
		p.end()
		if !p.bad {
			b.Stmts = append(b.Stmts, st)
		}
		return
	}
	p.layout()
	switch c := p.peek(0); {
	case p.bad:
	case c == ';':
		p.take(1)
		b.Stmts = append(b.Stmts, &ExprStmt{p.stmt(lo, x), x})
	case c == '}':
		b.Value = x
	case isBlock(x):
		b.Stmts = append(b.Stmts, &ExprStmt{p.stmt(lo, x), x})
	default:
		p.errorAt(lang.Span{Lo: p.hi, Hi: p.hi + 1}, "", `expected ";" %s`, p.found())
	}
}

func isBlock(x Expr) bool {
	switch x.(type) {
	case *If, *Block:
		return true
	}
	return false
}

// target reports targets that cannot be assigned to.
func (p *statementParser) target(x Expr) {
	switch x.(type) {
	case nil, *Var, *Map, *Element:
	case *TupleField, *Field:
		p.report(x.Span(), "make a new value and assign it", "tuples, records and structs cannot be changed")
	default:
		p.report(x.Span(), "only variables, maps and elements of maps can be assigned to", "%s is not something that can be assigned to", describe(x))
	}
}
