package jalon

import (
	"errors"
	"strings"

	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/internal/lang"
)

// Diagnostic is an error in what the user wrote. Its Error text shows the line, a caret below
// the place, and the hint.
type Diagnostic struct {
	Source       string // what Text is: "condition", "collect", "place", the name of a file
	Text         string // the whole text; it may have several lines
	Offset, End  int    // of the wrong part in Text, bytes
	Line, Column int    // of Offset, from 1; the column counts bytes. 0 without a Text
	Message      string
	Hint         string // what to do about it; may be ""
	Missing      string // the function that does not exist; "" for other errors

	rendered string
}

// Error shows the message, the line with a caret, and the hint.
func (d *Diagnostic) Error() string { return d.rendered }

// Diagnostics are several errors in the user's text. errors.As finds the first as a *Diagnostic.
type Diagnostics []*Diagnostic

// Error shows all of them, with an empty line between two.
func (ds Diagnostics) Error() string {
	var texts []string
	for _, d := range ds {
		texts = append(texts, d.Error())
	}
	return strings.Join(texts, "\n\n")
}

// Unwrap lists them for errors.As and errors.Is.
func (ds Diagnostics) Unwrap() []error {
	var list []error
	for _, d := range ds {
		list = append(list, d)
	}
	return list
}

func (ds Diagnostics) err() error {
	switch len(ds) {
	case 0:
		return nil
	case 1:
		return ds[0]
	}
	return ds
}

// Error is an error of the machine: something is refused or missing. errors.Is(err, fs.ErrPermission)
// reports missing rights; Remedy names them.
type Error struct {
	Op     string // what was attempted: "attach to process 4242"
	Err    error
	Remedy string // may be ""

	text string
}

func (e *Error) Error() string { return e.text }
func (e *Error) Unwrap() error { return e.Err }

// convert turns errors of the internal packages into errors of this package. The text stays the same.
func convert(err error) error {
	if err == nil {
		return nil
	}
	if ds := diagnostics(err); ds != nil {
		return ds.err()
	}
	var f *fail.Error
	if errors.As(err, &f) {
		return &Error{Op: f.Op, Err: f.Err, Remedy: f.Remedy, text: err.Error()}
	}
	return err
}

// diagnostics returns the diagnostics in an error, nil if there are none.
func diagnostics(err error) Diagnostics {
	var many lang.Diagnostics
	var one *lang.Diagnostic
	switch {
	case errors.As(err, &many):
	case errors.As(err, &one):
		many = lang.Diagnostics{one}
	default:
		return nil
	}
	var out Diagnostics
	for _, d := range many {
		out = append(out, diagnostic(d))
	}
	return out
}

func diagnostic(d *lang.Diagnostic) *Diagnostic {
	out := &Diagnostic{Source: d.Source, Text: d.Text, Message: d.Msg, Hint: d.Hint, Missing: d.Missing, rendered: d.Error()}
	if d.Text != "" {
		out.Offset = min(max(d.Span.Lo, 0), len(d.Text))
		out.End = min(max(d.Span.Hi, out.Offset), len(d.Text))
		before := d.Text[:out.Offset]
		out.Line = strings.Count(before, "\n") + 1
		out.Column = len(before) - strings.LastIndexByte(before, '\n')
	}
	return out
}
