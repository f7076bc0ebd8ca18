package lang

import (
	"fmt"
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
	return parseTokens(&stream{source: t.Source, src: t.Whole, toks: l.tokens()}, prec)
}

// parseTokens parses all tokens as one expression of at least precedence prec.
func parseTokens(st *stream, prec int) (Expr, error) {
	p := &parser{stream: st, typeParser: &typeParser{stream: st}}
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

// parser parses expressions; typeParser the names of types in them.
type parser struct {
	*stream
	*typeParser
	parens map[int]reading // possible meanings of parentheses, by token
}

func (t token) is(op string) bool  { return t.kind == tokOp && t.text == op }
func (t token) word(w string) bool { return t.kind == tokIdent && t.text == w }
func (t token) oneOf(ops string) bool { // ops: separated by blanks
	return t.kind == tokOp && strings.Contains(" "+ops+" ", " "+t.text+" ")
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
