package lang

import (
	"fmt"
	"strings"
)

// postfix parses a primary expression and what follows it: [i] .m ->m (args) ++ --.
func (p *parser) postfix() (Expr, error) {
	lo := p.tok().span.Lo
	x, err := p.primary()
	for err == nil {
		t := p.tok()
		switch {
		case t.is("["):
			x, err = p.index(lo, x)
		case t.is("("):
			x, err = p.call(lo, x)
		case t.oneOf(". ->"):
			x, err = p.member(lo, x)
		case t.oneOf("++ --"):
			p.advance()
			var n node
			n, err = p.node(lo, x)
			x = &Assign{node: n, Op: t.text, X: x}
		default:
			return x, nil
		}
	}
	return nil, err
}

func (p *parser) index(lo int, x Expr) (Expr, error) {
	open := p.advance()
	i, err := p.expr(precComma)
	if err != nil {
		return nil, err
	}
	if err = p.closing("]", open); err != nil {
		return nil, err
	}
	n, err := p.node(lo, x, i)
	return &Index{node: n, X: x, I: i}, err
}

func (p *parser) call(lo int, fn Expr) (Expr, error) {
	open := p.advance()
	var args []Expr
	for !p.tok().is(")") || len(args) > 0 {
		arg, err := p.expr(precAssign)
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
		if !p.accept(",") {
			break
		}
	}
	if err := p.closing(")", open); err != nil {
		return nil, err
	}
	n, err := p.node(lo, append([]Expr{fn}, args...)...)
	return &Call{node: n, Fn: fn, Args: args}, err
}

func (p *parser) member(lo int, x Expr) (Expr, error) {
	dot := p.advance()
	name := p.tok()
	if name.kind == tokError {
		return nil, name.err
	}
	if name.kind != tokIdent {
		return nil, p.errorAt(name.span, "", "the name of a member must follow %q", dot.text)
	}
	text, span := name.text, name.span
	if path, count := p.path(0); count > 1 { // p->Base::m
		text, span.Hi = path, p.ahead(count-1).span.Hi
		p.i += count
	} else {
		p.advance()
	}
	n, err := p.node(lo, x)
	return &Member{node: n, X: x, Name: text, NamePos: span, Arrow: dot.text == "->"}, err
}

func (p *parser) primary() (Expr, error) {
	t := p.tok()
	switch {
	case t.kind == tokLit:
		p.advance()
		return t.lit, nil
	case t.kind == tokReg:
		p.advance()
		return &Reg{node: node{span: t.span}, Name: t.text}, nil
	case t.kind == tokScope || t.is("::"):
		return p.name()
	case t.kind == tokIdent && castWords[t.text] && p.ahead(1).is("<"):
		return p.namedCast()
	case t.kind == tokIdent:
		if err := p.notExpression(); err != nil {
			return nil, err
		}
		return p.name()
	case t.is("("):
		p.advance()
		x, err := p.expr(precComma)
		if err != nil {
			return nil, err
		}
		return x, p.closing(")", t)
	}
	return nil, p.unexpectedOperand()
}

// notExpression refuses words that cannot start an expression.
func (p *parser) notExpression() error {
	t := p.tok()
	if p.typeStarts(0) {
		name, count := p.typePath(0)
		if count == 0 {
			name, count = t.text, 1
			if p.isTag(0) && p.ahead(1).kind == tokIdent {
				name, count = name+" "+p.ahead(1).text, 2
			}
		}
		hint := fmt.Sprintf("a cast is written (%s)x, the size of the type sizeof(%s)", name, name)
		return p.errorAt(Span{t.span.Lo, p.ahead(count - 1).span.Hi}, hint, "%q is a type, and a value is needed here", name)
	}
	if r, ok := refusedWords[t.text]; ok && p.ahead(1).is(r.before) {
		return p.errorAt(t.span, r.hint, "%q is not supported", t.text)
	}
	return nil
}

// refusedWords are operators of C and C++ that jalon has not, when the token
// before follows (otherwise they are names: new and typeof are fine in C).
var refusedWords = map[string]struct{ before, hint string }{
	"_Alignof": {"(", ""}, "__alignof__": {"(", ""}, "alignof": {"(", ""},
	"__typeof__": {"(", ""}, "typeof": {"(", ""}, "decltype": {"(", ""}, "_Generic": {"(", ""},
	"dynamic_cast": {"<", "static_cast<T>(x) and (T)x convert without looking at the object"},
}

// name parses x, f::x, ns::f::x, ::x and 'file.c'::x.
func (p *parser) name() (Expr, error) {
	first := p.tok()
	var parts []string
	switch first.kind {
	case tokScope:
		parts = append(parts, first.text)
		p.advance()
	case tokIdent:
		part := p.nameWithArgs()
		if !p.tok().is("::") {
			return &Ident{node: node{span: first.span}, Name: first.text}, nil
		}
		parts = append(parts, part)
	}
	hi := 0
	for p.accept("::") {
		t := p.tok()
		if t.kind == tokError {
			return nil, t.err
		}
		// 'a.c'::f::x: only the first part may be quoted, as in GDB.
		if t.kind != tokIdent {
			return nil, p.errorAt(t.span, "", `a name must follow "::"`)
		}
		hi = t.span.Hi
		parts = append(parts, p.nameWithArgs(parts...))
	}
	last := len(parts) - 1
	x := &Scoped{node: node{span: Span{first.span.Lo, hi}}, Scope: strings.Join(parts[:last], "::"), Name: parts[last]}
	if last > 0 && first.is("::") {
		x.Scope = "::" + x.Scope
	}
	if last > 0 && p.typeNamed(x.Scope+"::"+x.Name) {
		return nil, p.errorAt(x.span, "", "%q is a type, and a value is needed here", x.Scope+"::"+x.Name)
	}
	return x, nil
}

// nameWithArgs reads one name of a path, with template arguments where it is a class
// with them and "::" follows.
func (p *parser) nameWithArgs(before ...string) string {
	name := p.advance().text
	if args, n := p.templateArgs(0); n > 0 && p.ahead(n).is("::") {
		whole := strings.Join(append(before, name+args), "::")
		if first := p.ahead(-2); len(before) == 0 && first.is("::") {
			whole = "::" + whole
		}
		if p.typeNamed(whole) {
			p.i += n
			return name + args
		}
	}
	return name
}
