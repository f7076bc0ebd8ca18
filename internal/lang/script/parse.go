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
