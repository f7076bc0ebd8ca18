package lang

// Text is a piece of what the user wrote. Diagnostics about it show it within the
// whole it came from, and spans of its tree are offsets in that whole.
type Text struct {
	Source string // what Whole is: "condition", "collect", a file's name, ...
	Whole  string
	Span   Span // the piece
}

// TextOf is a text that is whole by itself.
func TextOf(source, text string) Text { return Text{source, text, Span{0, len(text)}} }

// String is the piece.
func (t Text) String() string { return t.Whole[t.Span.Lo:t.Span.Hi] }

// At makes a Diagnostic about a part of the whole.
func (t Text) At(s Span, msg, hint string) *Diagnostic { return At(t.Source, t.Whole, s, msg, hint) }

// Condition is a C expression that decides whether a hit is recorded.
type Condition struct {
	X    Expr
	From Text
}

// ParseCondition parses a text as one expression. The error is a *Diagnostic.
func ParseCondition(t Text) (*Condition, error) {
	x, err := parsePart(t, precComma)
	if err != nil {
		return nil, err
	}
	return &Condition{x, t}, nil
}

// ParseExpr parses a C expression as GDB users write it. What C leaves open until
// types are known is an Open, Maybe or Sizeof in the tree: see Decide. The error
// is a *Diagnostic whose Source is "expression" (see Named).
func ParseExpr(src string) (Expr, error) { return parsePart(TextOf("expression", src), precComma) }
