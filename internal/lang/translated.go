package lang

// Translated parses a C expression that was made from a part of the user's text, which is in another language.
// Its nodes have the span of that part, so diagnostics show the user's text.
func Translated(c string, from Text) (Expr, error) {
	l := &lexer{source: from.Source, src: c, end: len(c)}
	toks := l.tokens()
	for i := range toks {
		toks[i].span = from.Span
		if lit, ok := toks[i].lit.(interface{ moveTo(Span) }); ok { // a literal is a node already
			lit.moveTo(from.Span)
		}
		if d := toks[i].err; d != nil {
			toks[i].err = from.At(from.Span, d.Msg, d.Hint)
		}
	}
	return parseTokens(&stream{source: from.Source, src: from.Whole, toks: toks}, precAssign)
}
