package lang

import (
	"fmt"
	"strconv"
)

// stream is the tokens of an expression, and how deep the parser is in it.
type stream struct {
	source  string
	src     string
	toks    []token
	i       int
	nesting int // of expressions, see maxNesting
}

func (st *stream) tok() token { return st.toks[st.i] }

// ahead returns the token n places ahead, or the last token.
func (st *stream) ahead(n int) token { return st.toks[max(0, min(st.i+n, len(st.toks)-1))] }

// advance returns the current token and moves to the next.
func (st *stream) advance() token {
	t := st.toks[st.i]
	if st.i < len(st.toks)-1 {
		st.i++
	}
	return t
}

// accept advances when the current token is the operator.
func (st *stream) accept(op string) bool {
	if st.tok().is(op) {
		st.advance()
		return true
	}
	return false
}

// closing consumes the bracket that closes open.
func (st *stream) closing(op string, open token) error {
	if st.accept(op) {
		return nil
	}
	if t := st.tok(); t.kind != tokEOF && !t.oneOf(") ] }") {
		return st.unexpectedAfter()
	}
	return st.closingType(op, open)
}

// closingType is closing after a type, where only the bracket can follow.
func (st *stream) closingType(op string, open token) error {
	switch t := st.tok(); {
	case t.is(op):
		st.advance()
		return nil
	case t.kind == tokError:
		return t.err
	case t.kind == tokEOF:
		return st.errorAt(open.span, "", "this %q is not closed", open.text)
	default:
		return st.errorAt(t.span, "", "%q is missing before %s", op, st.describe(t))
	}
}

func (st *stream) errorAt(s Span, hint, format string, args ...any) error {
	return At(st.source, st.src, s, fmt.Sprintf(format, args...), hint)
}

// describe returns the text for a token in a message.
func (st *stream) describe(t token) string {
	return strconv.Quote(st.src[t.span.Lo:t.span.Hi])
}

// enter counts one level of recursion; leave must follow when it succeeds.
func (st *stream) enter() error {
	if st.nesting++; st.nesting > maxNesting {
		return st.errorAt(st.tok().span, "", "the expression is nested more than %d levels deep here", maxNesting)
	}
	return nil
}

func (st *stream) leave() { st.nesting-- }

// node makes the common part of an expression with these operands, with the text from lo to the last token
// read. (The operands' spans are not sufficient, because they do not include parentheses.)
func (st *stream) node(lo int, operands ...Expr) (node, error) {
	n := nodeOf(Span{lo, st.ahead(-1).span.Hi}, operands...)
	return n, st.checkHeight(n)
}

func (st *stream) checkHeight(n node) error {
	if d := n.tooHigh(); d != nil {
		return st.errorAt(d.Span, "", "%s", d.Msg)
	}
	return nil
}

// unexpectedOperand is the error for a token where an operand should start.
func (st *stream) unexpectedOperand() error {
	t := st.tok()
	switch {
	case t.kind == tokError:
		return t.err
	case t.is(">") && st.ahead(-1).is("="):
		return st.errorAt(t.span, `did you mean ">="?`, "an operand is missing before %s", st.describe(t))
	case t.is("<") && st.ahead(-1).is("="):
		return st.errorAt(t.span, `did you mean "<="?`, "an operand is missing before %s", st.describe(t))
	}
	hint, prev := "", st.ahead(-1)
	switch {
	case t.is("%"):
		hint = "a register is written $NAME, an output format behind the expression: EXPR/d"
	case t.is("/") && (prev.is("==") || prev.is("!=")):
		hint = `text is written in quotes: == "text"`
	case t.kind == tokEOF && prev.is("*") && st.i == 1:
		hint = "$args are the arguments, $locals the local variables"
	}
	if t.kind == tokEOF {
		return st.errorAt(t.span, hint, "an operand is missing at the end")
	}
	return st.errorAt(t.span, hint, "an operand is missing before %s", st.describe(t))
}

// unexpectedAfter is the error for a token after a complete operand that does
// not continue the expression.
func (st *stream) unexpectedAfter() error {
	t, prev := st.tok(), st.ahead(-1)
	hint := ""
	switch {
	case t.kind == tokError:
		return t.err
	case t.is(")") || t.is("]") || t.is("}"):
		return st.errorAt(t.span, "", "unmatched %s", st.describe(t))
	case t.is(":"):
		return st.errorAt(t.span, `write "a ? b : c" to choose, "'file.c'::x" for a variable of a file`, "%s without a %q before it", st.describe(t), "?")
	case t.is(";"):
		return st.errorAt(t.span, "commas separate expressions", "%s is not allowed here", st.describe(t))
	case t.kind == tokOp:
		return st.errorAt(t.span, "", "%s is not allowed here", st.describe(t))
	case t.word("and") || t.word("or"):
		hint = `use "&&" and "||"`
	case t.word("is") || t.word("eq") || t.word("equals"):
		hint = `use "=="`
	case t.word("ne") || t.word("isnt"):
		hint = `use "!="`
	case t.word("lt") || t.word("gt") || t.word("le") || t.word("ge"):
		hint = `use "<", ">", "<=" and ">="`
	case prev.word("not"):
		hint = `use "!"`
	case prev.kind == tokIdent && t.kind == tokIdent && baseWords[t.text] && st.ahead(-2).is("("):
		return st.errorAt(t.span, "", "%q cannot be added to the type %q", t.text, prev.text)
	case prev.kind == tokIdent && t.kind == tokIdent && st.i == 1:
		hint = "a declaration is not an expression; commas separate expressions"
	}
	return st.errorAt(t.span, hint, "an operator is missing before %s", st.describe(t))
}
