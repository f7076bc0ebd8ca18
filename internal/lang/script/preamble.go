package script

import (
	"strings"

	"github.com/jalon-trace/jalon/internal/lang"
)

// Preamble is the C text at the start of a script, in order: directives of the preprocessor and definitions.
type Preamble struct{ C []CPart }

// CPart is a Directive or a Definition.
type CPart interface {
	Node
	cpart()
}

type (
	// Directive is a line that begins with #: Word is include, define, ifdef, ...; Text is the rest, with
	// continued lines joined and comments removed. TextPos is where the rest begins.
	Directive struct {
		node
		Word, Text string
	}
	// Definition is a struct, union or enum with its members.
	Definition struct {
		node
		*CRecord
	}
)

func (*Directive) cpart()  {}
func (*Definition) cpart() {}

// CRecord is a struct, union or enum of C. Name is "" for an anonymous one. Without a body (Defined is false)
// it is a reference to the type of that name.
type CRecord struct {
	Tag, Name string
	Defined   bool
	Members   []*CMember     // of a struct or union
	Values    []*CEnumerator // of an enum
	Packed    bool
	Aligned   Expr // nil if it has no attribute aligned
}

// CMember is a member of a struct or union. Name is "" for an anonymous struct or union, or an unnamed bit-field.
type CMember struct {
	node
	Name    string
	Type    *CType
	Bits    Expr // of a bit-field
	Aligned Expr
}

// CEnumerator is a constant of an enum; Value is nil if it is the previous one plus 1.
type CEnumerator struct {
	node
	Name  string
	Value Expr
}

// CType is a type in C's syntax: Name (a base type, normalised, or a typedef) or Record, and derivations,
// innermost first.
type CType struct {
	Name   string
	Record *CRecord
	Derive []CDerive
}

// CDerive is a step to a pointer, a function, or (neither) an array of Count elements; nil for [].
type CDerive struct {
	Pointer, Func bool
	Count         Expr
}

// preambleAhead reports whether C text follows.
func (p *cParser) preambleAhead() bool {
	p.layout()
	return p.peek(0) == '#' && p.peek(1) != '!' || isTag(p.word()) && p.definitionAhead()
}

// definitionAhead reports whether words and brackets, then "{", follow: struct S {, but not struct:probe {.
func (p *cParser) definitionAhead() bool {
	for i := p.pos; i < len(p.src); {
		i = p.afterLayout(i)
		switch c := p.at(i); {
		case c == '{':
			return true
		case isWordStart(c):
			i = p.wordEnd(i)
		case c == '(':
			if i = p.balanced(i, '(', ')'); i < 0 {
				return false
			}
		default:
			return false
		}
	}
	return false
}

func (p *cParser) preamble(pre *Preamble) {
	p.layout()
	lo := p.pos
	if p.peek(0) == '#' {
		pre.C = append(pre.C, p.directive())
		return
	}
	r := p.cRecord()
	p.accept(';')
	if p.bad {
		p.resume()
		return
	}
	pre.C = append(pre.C, &Definition{p.node(lo), r})
}

// directive consumes a line of the preprocessor.
func (p *cParser) directive() *Directive {
	lo := p.pos
	p.take(1)
	var b strings.Builder
	for p.pos < len(p.src) && p.src[p.pos] != '\n' {
		rest := p.src[p.pos:]
		switch {
		case strings.HasPrefix(rest, "\\\n"):
			b.WriteByte(' ')
			p.take(2)
		case strings.HasPrefix(rest, "\\\r\n"):
			b.WriteByte(' ')
			p.take(3)
		case rest[0] == '"':
			n := min(p.afterString(p.pos), len(p.src)) - p.pos
			if strings.HasSuffix(rest[:n], "\n") {
				n--
			}
			b.WriteString(rest[:n])
			p.take(max(n, 1))
		case strings.HasPrefix(rest, "//"), strings.HasPrefix(rest, "/*"):
			b.WriteByte(' ')
			p.take(p.commentLen(rest))
		default:
			b.WriteByte(rest[0])
			p.take(1)
		}
	}
	text := strings.TrimSpace(b.String())
	n := 0
	for n < len(text) && isWord(text[n]) {
		n++
	}
	d := &Directive{Word: text[:n], Text: strings.TrimSpace(text[n:])}
	if d.Word == "define" { // NAME(x) is not NAME (x)
		d.Text = strings.TrimLeft(text[n:], " \t")
	}
	d.node = p.node(lo)
	return d
}

// commentLen is the length of the comment at the start of s, without the end of the line of a // comment.
func (p *cParser) commentLen(s string) int {
	if s[1] == '/' {
		if n := strings.IndexByte(s, '\n'); n >= 0 {
			return n
		}
		return len(s)
	}
	if n := strings.Index(s[2:], "*/"); n >= 0 {
		return n + 4
	}
	p.report(lang.Span{Lo: p.pos, Hi: p.pos + 2}, "", "unterminated comment")
	return len(s)
}

// cRecord parses struct, union or enum with its name and body.
func (p *cParser) cRecord() *CRecord {
	p.enter()
	defer p.leave()
	r := &CRecord{Tag: p.name("struct, union or enum")}
	p.attributes(&r.Packed, &r.Aligned)
	if w := p.word(); w != "" {
		p.take(len(w))
		r.Name = w
	}
	p.attributes(&r.Packed, &r.Aligned)
	p.layout()
	if p.peek(0) != '{' {
		if r.Name == "" {
			p.unexpected(`expected the name of the %s or "{" %s`, r.Tag, p.found())
		}
		return r
	}
	open := p.pos
	p.take(1)
	r.Defined = true
	for !p.accept('}') {
		if p.bad || p.pos >= len(p.src) {
			p.errorAt(lang.Span{Lo: open, Hi: open + 1}, "", `this "{" is not closed`)
			return r
		}
		if r.Tag == "enum" {
			r.Values = append(r.Values, p.cEnumerator())
		} else {
			r.Members = append(r.Members, p.cMembers()...)
		}
	}
	p.attributes(&r.Packed, &r.Aligned)
	return r
}

func (p *cParser) cEnumerator() *CEnumerator {
	p.layout()
	lo := p.pos
	e := &CEnumerator{Name: p.name("the name of an enumerator")}
	if p.accept('=') {
		e.Value = p.expression()
	}
	e.node = p.node(lo)
	if p.layout(); p.peek(0) != '}' {
		p.expect(',')
	}
	return e
}

// cMembers parses one declaration of members.
func (p *cParser) cMembers() []*CMember {
	p.layout()
	lo := p.pos
	base := p.cBase()
	var out []*CMember
	if p.accept(';') {
		return append(out, &CMember{node: p.node(lo), Type: base})
	}
	for !p.bad {
		m := &CMember{}
		var derive []CDerive
		m.Name, derive = p.declarator()
		m.Type = &CType{Name: base.Name, Record: base.Record, Derive: derive}
		if p.accept(':') {
			m.Bits = p.binary(1)
		}
		var packed bool
		p.attributes(&packed, &m.Aligned)
		m.node = p.node(lo)
		out = append(out, m)
		if !p.accept(',') {
			if p.layout(); p.peek(0) != '}' { // bpftrace permits a last member without ";"
				p.expect(';')
			}
			break
		}
	}
	return out
}

var qualifiers = map[string]bool{
	"const": true, "volatile": true, "restrict": true, "__const": true, "__volatile__": true, "__restrict": true,
	"static": true, "inline": true, "_Atomic": true,
}

var cWords = map[string]bool{
	"void": true, "char": true, "short": true, "int": true, "long": true, "signed": true, "unsigned": true,
	"float": true, "double": true, "_Bool": true, "bool": true, "__int128": true,
}

// cBase parses the specifiers of a declaration.
func (p *cParser) cBase() *CType {
	var words []string
	for {
		p.attributes(new(bool), new(Expr))
		w := p.word()
		switch {
		case qualifiers[w]:
			p.take(len(w))
		case cWords[w]:
			p.take(len(w))
			words = append(words, w)
		case isTag(w) && len(words) == 0:
			r := p.cRecord()
			for q := p.word(); qualifiers[q]; q = p.word() {
				p.take(len(q))
			}
			return &CType{Record: r}
		case w != "" && len(words) == 0:
			p.take(len(w))
			for q := p.word(); qualifiers[q]; q = p.word() {
				p.take(len(q))
			}
			return &CType{Name: w}
		case len(words) == 0:
			p.unexpected("expected a type %s", p.found())
			return &CType{Name: "int"}
		default:
			sortWords(words)
			return &CType{Name: strings.Join(words, " ")}
		}
	}
}

// declarator parses pointers, a name, bounds and parameters.
func (p *cParser) declarator() (name string, derive []CDerive) {
	p.enter()
	defer p.leave()
	for {
		if p.accept('*') {
			derive = append(derive, CDerive{Pointer: true})
		} else if w := p.word(); qualifiers[w] {
			p.take(len(w))
		} else {
			break
		}
	}
	var nested []CDerive
	p.attributes(new(bool), new(Expr))
	p.layout()
	switch c := p.peek(0); {
	case c == '(':
		p.take(1)
		name, nested = p.declarator()
		p.expect(')')
	case c == ':':
	default:
		name = p.name("the name of a member")
	}
	var suffixes []CDerive
	for !p.bad {
		if p.accept('[') {
			var n Expr
			if !p.accept(']') {
				n = p.expression()
				p.expect(']')
			}
			suffixes = append(suffixes, CDerive{Count: n})
			continue
		}
		if p.layout(); p.peek(0) != '(' {
			break
		}
		end := p.balanced(p.pos, '(', ')')
		if end < 0 {
			p.errorAt(lang.Span{Lo: p.pos, Hi: p.pos + 1}, "", `this "(" is not closed`)
			break
		}
		p.take(end - p.pos)
		suffixes = append(suffixes, CDerive{Func: true})
	}
	for i := len(suffixes) - 1; i >= 0; i-- {
		derive = append(derive, suffixes[i])
	}
	return name, append(derive, nested...)
}

// attributes parses __attribute__((...)): packed and aligned(n) are kept.
func (p *cParser) attributes(packed *bool, aligned *Expr) {
	for p.acceptWord("__attribute__") {
		p.expect('(')
		p.expect('(')
		for !p.bad && !p.accept(')') {
			w := p.name("an attribute")
			p.layout()
			switch strings.Trim(w, "_") {
			case "packed":
				*packed = true
			case "aligned":
				if p.accept('(') {
					*aligned = p.expression()
					p.expect(')')
				}
			default:
				if p.peek(0) == '(' {
					if end := p.balanced(p.pos, '(', ')'); end > 0 {
						p.take(end - p.pos)
					}
				}
			}
			p.accept(',')
		}
		p.expect(')')
	}
}
