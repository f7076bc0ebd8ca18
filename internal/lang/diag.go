package lang

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Diagnostic is a user error: the problem, its position in a text, and a hint. Its Error text shows the line
// with a caret below it.
type Diagnostic struct {
	Source string // "condition", "collect", a file name, ...
	Text   string // the whole text that Span points into; may have several lines
	Span   Span
	Msg    string
	Hint   string // "" for none
	// Missing is the name of the function that does not exist; "" for other errors.
	Missing string
}

// At makes a Diagnostic.
func At(source, text string, s Span, msg, hint string) *Diagnostic {
	return &Diagnostic{Source: source, Text: text, Span: s, Msg: msg, Hint: hint}
}

// Error renders the diagnostic, without a newline at its end.
func (d *Diagnostic) Error() string { return d.Render("error") }

// Render is Error with another word instead of "error", such as "warning".
func (d *Diagnostic) Render(label string) string {
	var b strings.Builder
	b.WriteString(label + ": " + visible(d.Msg))
	gutter := " "
	if d.Text != "" {
		e := excerptOf(d.Text, d.Span)
		num := strconv.Itoa(e.line)
		gutter = strings.Repeat(" ", len(num))
		fmt.Fprintf(&b, "\n%s --> %s:%d:%d", gutter, visible(d.Source), e.line, e.column)
		fmt.Fprintf(&b, "\n%s  |", gutter)
		b.WriteString(strings.TrimRight("\n "+num+" | "+e.shown, " "))
		fmt.Fprintf(&b, "\n%s  | %s%s", gutter, strings.Repeat(" ", e.indent), strings.Repeat("^", e.carets))
	} else if d.Source != "" {
		fmt.Fprintf(&b, "\n%s --> %s", gutter, visible(d.Source))
	}
	if d.Hint != "" {
		hint := strings.ReplaceAll(d.Hint, "\n", "\n"+gutter+"          ")
		fmt.Fprintf(&b, "\n%s  = hint: %s", gutter, visible(hint))
	}
	return b.String()
}

// Line returns where the diagnostic is: the line and its first and last column, which is behind it, all from 1; and the
// line's text.
func (d *Diagnostic) Line() (line, lo, hi int, text string) {
	e := excerptOf(d.Text, d.Span)
	text = d.Text
	for range e.line - 1 {
		_, text, _ = strings.Cut(text, "\n")
	}
	text, _, _ = strings.Cut(text, "\n")
	begin := min(max(d.Span.Lo, 0), len(d.Text))
	n := utf8.RuneCountInString(d.Text[begin:min(max(d.Span.Hi, begin), len(d.Text))])
	return e.line, e.column, e.column + n, text
}

// Diagnostics is a list of diagnostics for one input, in the order of the text.
type Diagnostics []*Diagnostic

// Error renders all of them, a blank line between.
func (ds Diagnostics) Error() string {
	all := make([]string, len(ds))
	for i, d := range ds {
		all[i] = d.Error()
	}
	return strings.Join(all, "\n\n")
}

// Unwrap lets errors.As find a *Diagnostic.
func (ds Diagnostics) Unwrap() []error {
	all := make([]error, len(ds))
	for i, d := range ds {
		all[i] = d
	}
	return all
}

// Err returns nil, the only diagnostic, or the list.
func (ds Diagnostics) Err() error {
	switch len(ds) {
	case 0:
		return nil
	case 1:
		return ds[0]
	}
	return ds
}

// maxDiagnostics limits the diagnostics for one text: later ones are mostly consequences of earlier ones.
const maxDiagnostics = 30

// Add appends d. After maxDiagnostics it appends only a notice that there are more.
func (ds Diagnostics) Add(d *Diagnostic) Diagnostics {
	switch n := len(ds); {
	case n < maxDiagnostics:
		return append(ds, d)
	case n == maxDiagnostics:
		return append(ds, At(d.Source, d.Text, d.Span, "too many errors; the remaining ones are not shown", ""))
	}
	return ds
}

// Named returns err with the Source of its diagnostics replaced, because the parser does not know whether it
// parses a condition or something else.
func Named(err error, source string) error {
	return mapDiagnostics(err, func(d *Diagnostic) { d.Source = source })
}

// Within returns err with its diagnostics moved to a larger text. The diagnostics' text is the part of the
// larger text that starts at offset. If a diagnostic's text is not found there, the diagnostic is unchanged.
func Within(err error, source, text string, offset int) error {
	return mapDiagnostics(err, func(d *Diagnostic) {
		if offset < 0 || offset > len(text) || !strings.HasPrefix(text[offset:], d.Text) {
			return
		}
		d.Source, d.Text = source, text
		d.Span = Span{Lo: d.Span.Lo + offset, Hi: d.Span.Hi + offset}
	})
}

func mapDiagnostics(err error, change func(*Diagnostic)) error {
	switch err := err.(type) {
	case *Diagnostic:
		c := *err
		change(&c)
		return &c
	case Diagnostics:
		out := make(Diagnostics, len(err))
		for i, d := range err {
			c := *d
			change(&c)
			out[i] = &c
		}
		return out
	}
	return err
}

// excerpt is one displayed line of the text, with the position of the caret.
type excerpt struct {
	line, column int // from 1; the column counts characters
	shown        string
	indent       int // columns of the terminal before the caret
	carets       int
}

const (
	tabWidth   = 8
	maxColumns = 160 // of longer lines only the part around the caret is shown
	ellipsis   = "..."
)

func excerptOf(text string, s Span) excerpt {
	lo := min(max(s.Lo, 0), len(text))
	hi := min(max(s.Hi, lo), len(text))
	start := strings.LastIndexByte(text[:lo], '\n') + 1
	end := len(text)
	if i := strings.IndexByte(text[start:], '\n'); i >= 0 {
		end = start + i
	}
	end = start + len(strings.TrimSuffix(text[start:end], "\r"))
	lo, hi = min(lo, end), min(hi, end)

	e := excerpt{
		line:   strings.Count(text[:start], "\n") + 1,
		column: utf8.RuneCountInString(text[start:lo]) + 1,
	}
	before := expand(text[start:lo], 0)
	marked := expand(text[lo:hi], columns(before))
	after := expand(text[hi:end], columns(before)+columns(marked))
	before, marked, after = clip(before, marked, after)
	e.shown = before + marked + after
	e.indent = columns(before)
	e.carets = max(columns(marked), 1)
	return e
}

// clip cuts the line to maxColumns, first at the end farther from the caret.
func clip(before, marked, after string) (string, string, string) {
	if columns(before)+columns(marked)+columns(after) <= maxColumns {
		return before, marked, after
	}
	if columns(marked) > maxColumns/2 {
		marked, after = head(marked, maxColumns/2)+ellipsis, ""
	}
	if columns(before) > maxColumns/3 {
		before = ellipsis + tail(before, maxColumns/3)
	}
	room := maxColumns - columns(before) - columns(marked)
	if columns(after) > room {
		after = head(after, room) + ellipsis
	}
	return before, marked, after
}

func head(s string, width int) string {
	n := 0
	for i, r := range s {
		if n += runeColumns(r); n > width {
			return s[:i]
		}
	}
	return s
}

func tail(s string, width int) string {
	n := columns(s)
	for i, r := range s {
		if n <= width {
			return s[i:]
		}
		n -= runeColumns(r)
	}
	return ""
}
