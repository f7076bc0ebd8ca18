package printk

import (
	"errors"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo/tracefs"
)

// statements parses the inside of gcc's ({ ... }), including the closing brace: declarations and expressions.
// The last expression is the value.
func (p *parser) statements() (node, error) {
	outer := len(p.locals)
	// Variables keep their slots; only the names go out of scope.
	defer func() {
		for i := outer; i < len(p.locals); i++ {
			p.locals[i] = ""
		}
	}()
	s := &statements{}
	for !p.accept("}") {
		if p.accept(";") {
			continue
		}
		var err error
		if p.startsDecl() {
			err = p.declaration(s)
		} else {
			var n node
			if n, err = p.comma(); err == nil {
				s.list = append(s.list, n)
			}
		}
		if err == nil {
			err = p.expect(";")
		}
		if err != nil {
			return nil, err
		}
	}
	if len(s.list) == 0 {
		return nil, errors.New("({ }) without a value")
	}
	return s, nil
}

// startsDecl reports whether a declaration begins here: with a word of a type, or with two names.
func (p *parser) startsDecl() bool {
	t := p.peek()
	if t.kind != tokIdent {
		return false
	}
	if typeWords[t.text] || deduced[t.text] {
		return true
	}
	next := p.toks[p.i+1]
	return next.kind == tokIdent || tracefs.NamedType(t.text) != nil && next.kind == tokPunct && next.text == "*"
}

// deduced are the words for the type of the initial value.
var deduced = map[string]bool{"__auto_type": true, "typeof": true, "__typeof__": true, "__typeof": true}

// declaration reads one variable of a statement expression.
func (p *parser) declaration(s *statements) error {
	var t *typeName
	var err error
	if deduced[p.peek().text] {
		err = p.skipTypeof()
	} else {
		t, err = p.typeSpec()
	}
	if err != nil {
		return err
	}
	name := p.peek()
	if name.kind != tokIdent {
		return errors.New("expected the name of a variable")
	}
	p.i++
	d := &declare{typ: t}
	for p.accept("[") {
		d.array = true
		for !p.is("]") && p.peek().kind != tokEnd {
			p.i++
		}
		if err := p.expect("]"); err != nil {
			return err
		}
	}
	if p.accept("=") {
		if d.init, err = p.initializer(); err != nil {
			return err
		}
	} else if t == nil {
		return errors.New("a variable without type and value")
	}
	// The locals' indices are the slots; the initial value may have declared some too.
	d.slot = len(p.locals)
	p.locals = append(p.locals, name.text)
	s.list = append(s.list, d)
	return nil
}

// skipTypeof skips typeof(...).
func (p *parser) skipTypeof() error {
	p.i++
	if !p.accept("(") {
		return nil
	}
	for depth := 1; depth > 0; p.i++ {
		switch {
		case p.peek().kind == tokEnd:
			return errors.New("\")\" expected")
		case p.is("("):
			depth++
		case p.is(")"):
			depth--
		}
	}
	for p.accept("*") {
	}
	return nil
}

// initializer is an expression or { EXPRESSION, ... }.
func (p *parser) initializer() (node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, errors.New("too many levels")
	}
	defer func() { p.depth-- }()
	if !p.accept("{") {
		return p.assign()
	}
	l := &braces{}
	for !p.accept("}") {
		n, err := p.initializer()
		if err != nil {
			return nil, err
		}
		l.list = append(l.list, n)
		if !p.accept(",") && !p.is("}") {
			return nil, errors.New("\"}\" expected")
		}
	}
	return l, nil
}

// call parses a call's arguments after the opening parenthesis. For a function of a dynamic array, the name is
// replaced by the offset of the array's word.
func (p *parser) call(name string) (node, error) {
	if h, ok := arrayHelpers[name]; ok {
		return p.arrayCall(name, h)
	}
	c := &call{name: name, fn: helpers[name]}
	for !p.accept(")") {
		n, err := p.initializer()
		if err != nil {
			return nil, err
		}
		c.args = append(c.args, n)
		if !p.accept(",") && !p.is(")") {
			return nil, errors.New("\")\" expected")
		}
	}
	return newCall(c)
}

// arrayCall is helper(FIELD [, EXPRESSION ...]).
func (p *parser) arrayCall(name string, h arrayHelper) (node, error) {
	word := p.peek()
	if word.kind != tokIdent {
		return nil, errors.New(name + "() without a field's name")
	}
	f := p.find(word.text)
	if f == nil {
		return nil, errors.New(name + "() of something other than a field: " + word.text)
	}
	p.i++
	elem, rel, ok := ctype.Dynamic(f.Type)
	if !ok {
		elem = ctype.UCharT
	}
	c := &arrayCall{fn: h, off: int(f.Offset), rel: rel, elem: elem}
	for p.accept(",") {
		n, err := p.assign()
		if err != nil {
			return nil, err
		}
		c.args = append(c.args, n)
	}
	return c, p.expect(")")
}
