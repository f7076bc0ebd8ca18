package lang

// Text is a part of the user's input. Diagnostics show it within the whole input, and spans of its tree are
// offsets in the whole.
type Text struct {
	Source string // what Whole is: "condition", "collect", a file's name, ...
	Whole  string
	Span   Span // the part
}

// TextOf returns a Text that is the whole input.
func TextOf(source, text string) Text { return Text{source, text, Span{0, len(text)}} }

// String returns the part.
func (t Text) String() string { return t.Whole[t.Span.Lo:t.Span.Hi] }

// At makes a Diagnostic for a part of the whole.
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

// ParseExpr parses a C expression as GDB users write it. Syntax that is ambiguous until types are known becomes
// an Open, Maybe or Sizeof: see Decide. The error is a *Diagnostic whose Source is "expression" (see Named).
func ParseExpr(src string) (Expr, error) { return parsePart(TextOf("expression", src), precComma) }
