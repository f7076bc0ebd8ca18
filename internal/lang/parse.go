package lang

import (
	"fmt"
	"strconv"
	"strings"
)

// These limits prevent malicious or broken input from exhausting the stack, here and in code that walks the
// tree.
const (
	maxSource = 64 << 10 // bytes of an expression
	maxHeight = 500      // of the tree
	// maxNesting limits the recursion of the parser. An expression within maxHeight, printed with all its
	// parentheses, does not exceed it.
	maxNesting = 4 * maxHeight
)

// parsePart parses a piece of a text as one expression of at least precedence prec.
func parsePart(t Text, prec int) (Expr, error) {
	if n := t.Span.Hi - t.Span.Lo; n > maxSource {
		return nil, t.At(t.Span, fmt.Sprintf("the expression has %d bytes, more than the %d allowed", n, maxSource), "")
	}
	l := &lexer{source: t.Source, src: t.Whole, pos: t.Span.Lo, end: t.Span.Hi}
	p := &parser{source: t.Source, src: t.Whole, toks: l.tokens()}
	if p.tok().kind == tokEOF {
		return nil, p.errorAt(p.tok().span, "", "an expression is missing here")
	}
	x, err := p.expr(prec)
	if err != nil {
		return nil, err
	}
	if p.tok().kind != tokEOF {
		return nil, p.unexpectedAfter()
	}
	return x, nil
}

type parser struct {
	source  string
	src     string
	toks    []token
	i       int
	nesting int // of expressions, see maxNesting
	inTypes int // nesting of types, see maxTypeNesting
	// inParams counts open parameter lists, in which names can follow types.
	inParams int
	parens   map[int]reading // possible meanings of parentheses, by token
}

func (p *parser) tok() token { return p.toks[p.i] }

// ahead returns the token n places ahead, or the last token.
func (p *parser) ahead(n int) token { return p.toks[max(0, min(p.i+n, len(p.toks)-1))] }

// advance returns the current token and moves to the next.
func (p *parser) advance() token {
	t := p.toks[p.i]
	if p.i < len(p.toks)-1 {
		p.i++
	}
	return t
}

func (t token) is(op string) bool  { return t.kind == tokOp && t.text == op }
func (t token) word(w string) bool { return t.kind == tokIdent && t.text == w }
func (t token) oneOf(ops string) bool { // ops: separated by blanks
	return t.kind == tokOp && strings.Contains(" "+ops+" ", " "+t.text+" ")
}

// accept advances when the current token is the operator.
func (p *parser) accept(op string) bool {
	if p.tok().is(op) {
		p.advance()
		return true
	}
	return false
}

// closing consumes the bracket that closes open.
func (p *parser) closing(op string, open token) error {
	if p.accept(op) {
		return nil
	}
	if t := p.tok(); t.kind != tokEOF && !t.oneOf(") ] }") {
		return p.unexpectedAfter()
	}
	return p.closingType(op, open)
}

// closingType is closing after a type, where only the bracket can follow.
func (p *parser) closingType(op string, open token) error {
	switch t := p.tok(); {
	case t.is(op):
		p.advance()
		return nil
	case t.kind == tokError:
		return t.err
	case t.kind == tokEOF:
		return p.errorAt(open.span, "", "this %q is not closed", open.text)
	default:
		return p.errorAt(t.span, "", "%q is missing before %s", op, p.describe(t))
	}
}

func (p *parser) errorAt(s Span, hint, format string, args ...any) error {
	return At(p.source, p.src, s, fmt.Sprintf(format, args...), hint)
}

// describe returns the text for a token in a message.
func (p *parser) describe(t token) string {
	return strconv.Quote(p.src[t.span.Lo:t.span.Hi])
}

// enter counts one level of recursion; leave must follow when it succeeds.
func (p *parser) enter() error {
	if p.nesting++; p.nesting > maxNesting {
		return p.errorAt(p.tok().span, "", "the expression is nested more than %d levels deep here", maxNesting)
	}
	return nil
}

func (p *parser) leave() { p.nesting-- }

// node makes the common part of an expression with these operands, with the text from lo to the last token
// read. (The operands' spans are not sufficient, because they do not include parentheses.)
func (p *parser) node(lo int, operands ...Expr) (node, error) {
	n := nodeOf(Span{lo, p.ahead(-1).span.Hi}, operands...)
	return n, p.checkHeight(n)
}

func (p *parser) checkHeight(n node) error {
	if d := n.tooHigh(); d != nil {
		return p.errorAt(d.Span, "", "%s", d.Msg)
	}
	return nil
}

// nodeOf is the common part of an expression with these operands.
func nodeOf(s Span, operands ...Expr) node {
	n := node{span: s}
	for _, x := range operands {
		if x != nil {
			n.depth = max(n.depth, x.height()+1)
			n.open = n.open || x.isOpen()
		}
	}
	return n
}

// tooHigh returns a diagnostic without text if the tree has too many levels.
func (n node) tooHigh() *Diagnostic {
	if n.depth <= maxHeight {
		return nil
	}
	return &Diagnostic{Span: n.span, Msg: tooHighMsg}
}

var tooHighMsg = fmt.Sprintf("the expression has more than %d nested operations", maxHeight)

// unexpectedOperand is the error for a token where an operand should start.
func (p *parser) unexpectedOperand() error {
	t := p.tok()
	switch {
	case t.kind == tokError:
		return t.err
	case t.is(">") && p.ahead(-1).is("="):
		return p.errorAt(t.span, `did you mean ">="?`, "an operand is missing before %s", p.describe(t))
	case t.is("<") && p.ahead(-1).is("="):
		return p.errorAt(t.span, `did you mean "<="?`, "an operand is missing before %s", p.describe(t))
	}
	if t.kind == tokEOF {
		return p.errorAt(t.span, "", "an operand is missing at the end")
	}
	return p.errorAt(t.span, "", "an operand is missing before %s", p.describe(t))
}

// unexpectedAfter is the error for a token after a complete operand that does
// not continue the expression.
func (p *parser) unexpectedAfter() error {
	t, prev := p.tok(), p.ahead(-1)
	hint := ""
	switch {
	case t.kind == tokError:
		return t.err
	case t.is(")") || t.is("]") || t.is("}"):
		return p.errorAt(t.span, "", "unmatched %s", p.describe(t))
	case t.is(":"):
		return p.errorAt(t.span, `write "a ? b : c" to choose, "'file.c'::x" for a variable of a file`, "%s without a %q before it", p.describe(t), "?")
	case t.kind == tokOp:
		return p.errorAt(t.span, "", "%s is not allowed here", p.describe(t))
	case t.word("and") || t.word("or"):
		hint = `use "&&" and "||"`
	case prev.word("not"):
		hint = `use "!"`
	case prev.kind == tokIdent && t.kind == tokIdent && baseWords[t.text] && p.ahead(-2).is("("):
		return p.errorAt(t.span, "", "%q cannot be added to the type %q", t.text, prev.text)
	case prev.kind == tokIdent && t.kind == tokIdent && p.i == 1:
		hint = "a declaration is not an expression"
	}
	return p.errorAt(t.span, hint, "an operator is missing before %s", p.describe(t))
}
