package script

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/lang"
)

// These limits prevent hostile scripts from exhausting memory or the stack, here and in code that walks the tree.
const (
	maxSource  = 16 << 20 // bytes of a file
	maxHeight  = 1000     // of the tree
	maxNesting = 500      // of expressions and blocks, for the recursion of the parser
)

// The parts of the parser by topic. They see each other through the parser, because expressions have blocks and
// types, and C declarations have expressions.
type (
	statementParser struct{ *parser }
	exprParser      struct{ *parser }
	literalParser   struct{ *parser }
	typeParser      struct{ *parser }
	cParser         struct{ *parser }
)

type parser struct {
	scanner
	statementParser
	exprParser
	literalParser
	typeParser
	cParser
	nesting int
}

func newParser(name, text string) *parser {
	p := &parser{scanner: scanner{file: &File{Name: name, Text: text}, src: text}}
	p.statementParser, p.exprParser, p.literalParser = statementParser{p}, exprParser{p}, literalParser{p}
	p.typeParser, p.cParser = typeParser{p}, cParser{p}
	return p
}

// Parse parses a script. The error is lang.Diagnostics (or a single diagnostic) with the mistakes found; the
// script then has the parts that could be parsed.
func Parse(name, text string) (*Script, error) {
	p := newParser(name, text)
	if len(text) > maxSource {
		p.src = ""
		p.errorAt(lang.Span{}, "", "the script has %d bytes, more than the %d allowed", len(text), maxSource)
		return &Script{node: node{file: p.file}}, p.errs.Err()
	}
	s := p.script()
	return s, p.errs.Err()
}

// ParseExpr parses a text that is a single expression.
func ParseExpr(name, text string) (Expr, error) {
	p := newParser(name, text)
	if len(text) > maxSource {
		p.src = ""
		p.errorAt(lang.Span{}, "", "the expression has %d bytes, more than the %d allowed", len(text), maxSource)
		return nil, p.errs.Err()
	}
	x := p.expression()
	if p.layout(); !p.bad && p.pos < len(p.src) {
		p.unexpected("an operator is missing %s", p.found())
	}
	return x, p.errs.Err()
}

// since is the text from lo to the end of the last token.
func (p *parser) since(lo int) lang.Span { return lang.Span{Lo: lo, Hi: max(lo, p.hi)} }

// node makes the common part of a node that starts at lo and ends at the last token.
func (p *parser) node(lo int, parts ...Node) node {
	n := node{span: p.since(lo), file: p.file}
	for _, part := range parts {
		if part != nil {
			n.height = max(n.height, part.levels()+1)
		}
	}
	if n.height > maxHeight {
		p.errorAt(n.span, "", "the script has more than %d nested operations here", maxHeight)
	}
	return n
}

func (p *parser) expr(lo int, parts ...Node) exprNode { return exprNode{p.node(lo, parts...)} }
func (p *parser) stmt(lo int, parts ...Node) stmtNode { return stmtNode{p.node(lo, parts...)} }
func (p *parser) item(lo int, parts ...Node) itemNode { return itemNode{p.node(lo, parts...)} }

// nodes are the elements of a list as parts of a node.
func nodes[T Node](list []T) []Node {
	out := make([]Node, len(list))
	for i, n := range list {
		out[i] = n
	}
	return out
}

// enter counts one level of recursion; leave must follow.
func (p *parser) enter() {
	if p.nesting++; p.nesting > maxNesting {
		p.errorAt(p.next(), "", "the script is nested more than %d levels deep here", maxNesting)
	}
}

func (p *parser) leave() { p.nesting-- }

func (p *parser) script() *Script {
	s := &Script{}
	p.shebang(s)
	for p.preambleAhead() {
		p.preamble(&s.Preamble)
	}
	for !p.bad {
		switch p.word() {
		case "config":
			if c := p.config(); s.Config != nil {
				p.report(c.span, "put all settings into one block", "there is more than one config block")
			} else {
				s.Config = c
			}
			p.resume()
			continue
		case "import":
			if im := p.importFile(); im != nil {
				s.Imports = append(s.Imports, im)
			}
			p.resume()
			continue
		}
		break
	}
	for p.layout(); p.pos < len(p.src); p.layout() {
		before := p.pos
		if it := p.part(s); it != nil {
			s.Items = append(s.Items, it)
		}
		if p.bad {
			p.resume()
		} else if p.pos == before {
			p.unexpected("unexpected input")
			p.resume()
		}
		if p.pos == before {
			p.take(1)
		}
	}
	s.node = p.node(0)
	return s
}

func (p *parser) shebang(s *Script) {
	p.layout()
	if p.peek(0) == '#' && p.peek(1) == '!' {
		line, _, _ := strings.Cut(p.src[p.pos:], "\n")
		s.Shebang = strings.TrimRight(line, "\r")
		p.take(len(line))
	}
}

// part parses a probe, macro, function or map declaration. Parts that belong before these are parsed and
// reported.
func (p *parser) part(s *Script) Item {
	lo := p.pos
	misplaced := func(what string) {
		p.report(p.since(lo), "", "%s must appear before probes, macros, functions and map declarations", what)
	}
	if p.preambleAhead() {
		p.preamble(&s.Preamble)
		misplaced("C definitions")
		return nil
	}
	switch p.word() {
	case "config":
		p.config()
		misplaced("the config block")
	case "import":
		p.importFile()
		misplaced("imports")
	case "macro":
		if m := p.macro(); m != nil {
			return m
		}
	case "fn":
		if f := p.function(); f != nil {
			return f
		}
	case "let":
		if d := p.mapDecl(); d != nil {
			return d
		}
	default:
		if pr := p.probe(); pr != nil {
			return pr
		}
	}
	return nil
}

// resume continues after an error: after the block that follows, or the next ";" outside of brackets.
func (p *parser) resume() {
	if !p.bad {
		return
	}
	p.bad = false
	p.pos = p.skip(p.pos, true)
	p.hi = p.pos
}

// skip returns the offset at which parsing resumes after an error at i: behind the next ";" or behind the block
// that begins after i. Before an unmatched "}" it stops, unless top (there it is skipped).
func (p *parser) skip(i int, top bool) int {
	for depth := 0; i < len(p.src); {
		if j := p.afterLayout(i); j > i {
			i = j
			continue
		}
		switch p.src[i] {
		case '"':
			i = p.afterString(i)
			continue
		case '{':
			depth++
		case '}':
			if depth--; depth < 0 && !top {
				return i
			}
			if depth <= 0 {
				return i + 1
			}
		case ';':
			if depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return len(p.src)
}

// afterString returns the offset behind the string literal at i, or behind its line if it is unterminated.
func (p *parser) afterString(i int) int {
	for i++; i < len(p.src); i++ {
		switch p.src[i] {
		case '\\':
			i++
		case '"', '\n':
			return i + 1
		}
	}
	return len(p.src)
}

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

// isBuiltin reports whether a word in parentheses is an expression, and never a type: (pid)*tid is a product.
func isBuiltin(name string) bool {
	for _, prefix := range []string{"arg", "sarg"} {
		if n, ok := strings.CutPrefix(name, prefix); ok && n != "" && strings.Trim(n, "0123456789") == "" {
			return true
		}
	}
	return slices.Contains(builtins, name)
}

var builtins = strings.Fields("args ctx kstack nsecs pid tid ustack __builtin_comm __builtin_cpid __builtin_cpu " +
	"__builtin_dw_ustack __builtin_elapsed __builtin_func __builtin_ncpus __builtin_probe __builtin_retval __builtin_usermode")

// describe is for messages: a short text of what a node is.
func describe(n Node) string {
	s := n.Span()
	text := n.File().Text[s.Lo:min(s.Hi, len(n.File().Text))]
	if len(text) > 40 {
		text = text[:40] + "..."
	}
	return fmt.Sprintf("%q", text)
}
