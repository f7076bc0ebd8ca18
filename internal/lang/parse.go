package lang

import (
	"fmt"
	"strconv"
	"strings"
)

// Limits that keep malicious or broken input from exhausting the stack here
// and in whoever walks the tree.
const (
	maxSource = 64 << 10 // bytes of an expression
	maxHeight = 500      // of the tree
	// maxNesting bounds the recursion of the parser. An expression within
	// maxHeight, printed with all its parentheses, stays within it.
	maxNesting = 4 * maxHeight
)

// ParseExpr parses a C expression as GDB users write it. isType says whether a
// name (possibly with "::") is a type of the program; nil means none is. The
// error is a *Diagnostic whose Source is "expression" (see Named).
func ParseExpr(src string, isType func(name string) bool) (Expr, error) {
	return parsePart("expression", src, 0, len(src), isType, precComma)
}

// parsePart parses src[lo:hi] as one expression of at least precedence prec.
func parsePart(source, src string, lo, hi int, isType func(string) bool, prec int) (Expr, error) {
	if hi-lo > maxSource {
		return nil, At(source, src, Span{lo, hi}, fmt.Sprintf("the expression has %d bytes, more than the %d allowed", hi-lo, maxSource), "")
	}
	l := &lexer{source: source, src: src, pos: lo, end: hi}
	p := &parser{source: source, src: src, isType: isType, toks: l.tokens(), known: map[string]bool{}}
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
	isType  func(string) bool
	toks    []token
	i       int
	nesting int             // of expressions, see maxNesting
	inTypes int             // nesting of types, see maxTypeNesting
	known   map[string]bool // what isType said
}

// typeNamed asks isType once for each name: it may search debug information.
func (p *parser) typeNamed(name string) bool {
	if p.isType == nil {
		return false
	}
	is, ok := p.known[name]
	if !ok {
		is = p.isType(name)
		p.known[name] = is
	}
	return is
}

func (p *parser) tok() token { return p.toks[p.i] }

// ahead is the token n places further, the last one when there are no more.
func (p *parser) ahead(n int) token { return p.toks[max(0, min(p.i+n, len(p.toks)-1))] }

// advance returns the current token and goes to the next.
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

// closing expects the bracket that closes open.
func (p *parser) closing(op string, open token) error {
	if p.accept(op) {
		return nil
	}
	if t := p.tok(); t.kind != tokEOF && !t.oneOf(") ] }") {
		return p.unexpectedAfter()
	}
	return p.closingType(op, open)
}

// closingType is closing behind a type, where only the bracket can follow.
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

// describe names a token in a message.
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

// node makes the common part of an expression with these operands, whose text
// goes from lo to the last token read. (The spans of the operands would not do:
// they leave out the parentheses around them.)
func (p *parser) node(lo int, operands ...Expr) (node, error) {
	n := node{span: Span{lo, p.ahead(-1).span.Hi}}
	for _, x := range operands {
		if x != nil {
			n.depth = max(n.depth, x.height()+1)
		}
	}
	if n.depth > maxHeight {
		return n, p.errorAt(n.span, "", "the expression has more than %d operations inside one another", maxHeight)
	}
	return n, nil
}

// unexpectedOperand is the error for a token where an operand should start.
func (p *parser) unexpectedOperand() error {
	t := p.tok()
	switch {
	case t.kind == tokError:
		return t.err
	case t.is(")") && p.ahead(-1).is("*"):
		if name, ok := p.castBefore(); ok {
			return p.errorAt(t.span, notTypeHint(name), "an operand is missing before %s", p.describe(t))
		}
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

// castBefore recognises "(name * *" before the current token: a cast to a
// pointer, was name a type.
func (p *parser) castBefore() (string, bool) {
	n := -1
	for p.ahead(n).is("*") && p.i+n > 0 {
		n--
	}
	name := p.ahead(n)
	if name.kind == tokIdent && p.ahead(n-1).is("(") && p.i+n > 0 {
		return name.text, true
	}
	return "", false
}

func notTypeHint(name string) string {
	return fmt.Sprintf("%q is no type of this program; if it is a tag, write %q", name, "struct "+name)
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
		return p.errorAt(t.span, "", "%s closes nothing", p.describe(t))
	case t.is(":"):
		return p.errorAt(t.span, `"a ? b : c" chooses, "'file.c'::x" names a variable of a file`, "%s without a %q before it", p.describe(t), "?")
	case t.kind == tokOp:
		return p.errorAt(t.span, "", "%s cannot stand here", p.describe(t))
	case prev.is(")") && p.i >= 3 && p.ahead(-2).kind == tokIdent && p.ahead(-3).is("(") && !baseWords[p.ahead(-2).text]:
		hint = notTypeHint(p.ahead(-2).text)
	case t.word("and") || t.word("or"):
		hint = `C writes "&&" and "||"`
	case prev.word("not"):
		hint = `C writes "!"`
	case prev.kind == tokIdent && t.kind == tokIdent && p.i == 1:
		hint = fmt.Sprintf("%q is no type of this program, and declarations are no expressions", prev.text)
	}
	return p.errorAt(t.span, hint, "an operator is missing before %s", p.describe(t))
}
