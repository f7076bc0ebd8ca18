package script

func (p *parser) config() *Config {
	p.layout()
	lo := p.pos
	p.acceptWord("config")
	c := &Config{}
	p.expect('=')
	p.expect('{')
	for !p.bad && !p.accept('}') {
		p.layout()
		at := p.pos
		set := &Setting{Key: p.name("the name of a setting")}
		p.expect('=')
		set.Value = p.setting()
		set.node = p.node(at)
		c.Settings = append(c.Settings, set)
		if !p.accept(';') && !p.accept('}') {
			p.unexpected("expected \";\" %s", p.found())
		} else if p.src[p.hi-1] == '}' {
			break
		}
	}
	c.node = p.node(lo)
	return c
}

// setting parses the value of a setting.
func (p *parser) setting() Expr {
	p.layout()
	lo := p.pos
	switch w := p.word(); {
	case p.peek(0) == '"':
		v := p.quoted()
		return &String{p.expr(lo), v, false}
	case w == "true" || w == "false":
		p.take(len(w))
		return &Bool{p.expr(lo), w == "true"}
	case isDigit(p.peek(0)):
		v, text := p.integer()
		return &Int{p.expr(lo), v, text}
	default:
		v := p.name("a string, a number, true, false or a word")
		return &String{p.expr(lo), v, true}
	}
}

func (p *parser) importFile() *Import {
	p.layout()
	lo := p.pos
	p.acceptWord("import")
	path := p.quoted()
	p.expect(';')
	return &Import{p.stmt(lo), path}
}

func (p *parser) macro() *Macro {
	lo := p.pos
	p.acceptWord("macro")
	m := &Macro{Name: p.name("the name of the macro")}
	p.expect('(')
	p.list(func() { m.Args = append(m.Args, p.macroArg()) })
	m.Body = p.block()
	if m.Body == nil {
		return nil
	}
	m.itemNode = p.item(lo, m.Body)
	return m
}

func (p *parser) macroArg() Expr {
	p.layout()
	lo := p.pos
	switch p.peek(0) {
	case '$':
		v := p.sigil(false)
		return &Var{p.expr(lo), v}
	case '@':
		v := p.sigil(true)
		return &Map{p.expr(lo), v}
	}
	name := p.name("an argument ($var, @map or a name)")
	if isBuiltin(name) {
		p.report(p.since(lo), "", "the builtin %q cannot be the argument of a macro", name)
	}
	return &Ident{p.expr(lo), name}
}

func (p *parser) function() *Function {
	lo := p.pos
	p.acceptWord("fn")
	f := &Function{Name: p.name("the name of the function")}
	p.expect('(')
	p.list(func() { f.Params = append(f.Params, p.param()) })
	p.expect(':')
	f.Result = p.typeOnly()
	f.Body = p.statements()
	if f.Body == nil {
		return nil
	}
	f.itemNode = p.item(lo, f.Body)
	return f
}

func (p *parser) param() *Param {
	p.layout()
	lo := p.pos
	v := p.variable("a parameter ($name : type)")
	p.expect(':')
	t := p.typeOnly()
	return &Param{p.node(lo, t), v, t}
}

// variable parses $name.
func (p *parser) variable(what string) *Var {
	p.layout()
	lo := p.pos
	if p.peek(0) != '$' {
		p.unexpected("expected %s %s", what, p.found())
		return &Var{p.expr(lo), "$"}
	}
	name := p.sigil(false)
	return &Var{p.expr(lo), name}
}

func (p *parser) mapDecl() *MapDecl {
	lo := p.pos
	p.acceptWord("let")
	p.layout()
	if p.peek(0) != '@' {
		p.errorAt(p.next(), "for example: let @a = hash(100);", "outside of blocks, let declares maps")
		return nil
	}
	d := &MapDecl{Name: p.sigil(true)}
	p.expect('=')
	d.Kind = p.name("the kind of the map")
	p.expect('(')
	d.Max, _ = p.integer()
	p.expect(')')
	p.accept(';')
	d.itemNode = p.item(lo)
	return d
}

func (p *parser) probe() *Probe {
	p.layout()
	lo := p.pos
	pr := &Probe{}
	for !p.bad {
		pr.Points = append(pr.Points, p.point())
		if !p.accept(',') {
			break
		}
		p.layout()
		if c := p.peek(0); c == '{' || c == '/' {
			break // a comma after the last one
		}
	}
	p.layout()
	if p.peek(0) == '/' {
		p.take(1)
		pr.Predicate = p.expression()
		if !p.accept('/') {
			p.unexpected(`expected "/" at the end of the predicate %s`, p.found())
		}
	}
	pr.Body = p.statements()
	if pr.Body == nil || p.bad {
		return nil
	}
	pr.itemNode = p.item(lo, pr.Body)
	return pr
}

// point consumes the text of an attach point: up to "{", a comma, a blank, or a "/" before the first ":". (After
// it, slashes belong to paths.)
func (p *parser) point() *Point {
	p.layout()
	lo := p.pos
	seen := false
	for {
		c := p.peek(0)
		if c == 0 || c == '{' || c == ',' || isBlank(c) {
			break
		}
		if c == '/' && !seen && p.pos > lo {
			break
		}
		seen = seen || c == ':'
		if c == '"' {
			p.take(p.afterString(p.pos) - p.pos)
			continue
		}
		p.take(1)
	}
	if p.pos == lo {
		p.unexpected("expected an attach point %s", p.found())
	}
	return &Point{p.node(lo), p.src[lo:p.pos]}
}
