package lang

import (
	"fmt"
	"strings"
)

// postfix parses a primary expression and its suffixes: [i] .m ->m (args) ++ --.
func (p *parser) postfix() (Expr, error) {
	lo := p.tok().span.Lo
	x, err := p.primary()
	if err != nil {
		return nil, err
	}
	return p.suffixed(lo, x)
}

// suffixed parses the suffixes of the primary expression x, which begins at lo.
func (p *parser) suffixed(lo int, x Expr) (Expr, error) {
	var err error
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
	ty := (*TypeName)(nil)
	if endsInMaybe(fn) { // (a)(b): b may be a type, too
		ty = p.reading().ty
	}
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
	if ty != nil && len(args) == 1 {
		args[0] = newMaybe(Span{open.span.Lo, p.ahead(-1).span.Hi}, args[0], ty)
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
	case t.is("@") && p.ahead(1).kind == tokIdent && p.ahead(2).is("("):
		// A function of jalon's on values of another moment: @entry(x).
		p.advance()
		name := p.advance()
		return &Ident{node: node{span: Span{t.span.Lo, name.span.Hi}}, Name: "@" + name.text}, nil
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
	if p.surelyType(0) {
		name, count := t.text, 1
		if p.isTag(0) && p.ahead(1).kind == tokIdent {
			name, count = name+" "+p.ahead(1).text, 2
		}
		return p.errorAt(Span{t.span.Lo, p.ahead(count - 1).span.Hi}, TypeHint(name), "%q is a type; expected a value", name)
	}
	if r, ok := refusedWords[t.text]; ok && p.ahead(1).is(r.before) {
		return p.errorAt(t.span, r.hint, "%q is not supported", t.text)
	}
	return nil
}

// TypeHint is a hint on the use of a type name in an expression.
func TypeHint(name string) string {
	return fmt.Sprintf("write (%s)x for a cast, sizeof(%s) for the size", name, name)
}

// refusedWords are operators of C and C++ that jalon does not support. Each is an operator only if the given
// token follows; otherwise it is a name (new and typeof are valid names in C).
var refusedWords = map[string]struct{ before, hint string }{
	"_Alignof": {"(", ""}, "__alignof__": {"(", ""}, "alignof": {"(", ""},
	"__typeof__": {"(", ""}, "typeof": {"(", ""}, "decltype": {"(", ""}, "_Generic": {"(", ""},
	"dynamic_cast": {"<", "static_cast<T>(x) and (T)x convert without a run-time check"},
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
		parts = append(parts, p.nameWithArgs())
	}
	last := len(parts) - 1
	x := &Scoped{node: node{span: Span{first.span.Lo, hi}}, Scope: strings.Join(parts[:last], "::"), Name: parts[last]}
	x.File = first.kind == tokScope && strings.ContainsAny(first.text, "./")
	if last > 0 && first.is("::") {
		x.Scope = "::" + x.Scope
	}
	return x, nil
}

// nameWithArgs reads one name of a path, with template arguments if "::" follows them. a<b>::c is always a
// path, although it could also be two comparisons.
func (p *parser) nameWithArgs() string {
	name := p.advance().text
	if args, n := p.templateArgs(0); n > 0 && p.ahead(n).is("::") {
		p.i += n
		return name + args
	}
	return name
}
