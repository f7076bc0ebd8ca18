package session

import (
	"fmt"
	"os"

	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/probe"
)

// Tracepoint is one tracepoint as the user gave it. Sites come and go with the
// modules of the process; the tracepoint stays.
type Tracepoint struct {
	Number   int
	Place    *probe.Place
	Cond     text   // C expression, empty = always
	Lists    []text // collect lists
	Pass     int    // the trace ends at this hit; 0 = never
	Disabled bool

	counting *pass // Pass, counted down
	pending  error // no site was found yet, and why
	sites    int   // installed so far
	refused  bool  // in a library that came later, and said why: not tried again
}

func (tp *Tracepoint) pass() *pass {
	if tp.Pass > 0 && tp.counting == nil {
		tp.counting = &pass{tp.Pass}
	}
	return tp.counting
}

// text is a piece of what the user wrote. Diagnostics about it are shown within
// the whole it came from.
type text struct {
	text   string
	source string // "condition", "collect", a file's name
	whole  string // the file's text; "" when text is all there is
	at     int    // where text starts in whole
}

// within moves a diagnostic about t into the whole that t came from.
func (t text) within(err error) error {
	if err == nil || t.whole == "" {
		return err
	}
	return lang.Within(err, t.source, t.whole, t.at)
}

// FromArgs reads the places of the command line; all share the collect lists.
func FromArgs(places, collect []string) ([]*Tracepoint, error) {
	var lists []text
	for _, c := range collect {
		lists = append(lists, text{text: c, source: "collect"})
	}
	var tps []*Tracepoint
	var bad lang.Diagnostics
	for i, arg := range places {
		tp, err := fromSpec(arg)
		if err != nil {
			bad = appendDiagnostic(bad, err)
			continue
		}
		tp.Number, tp.Lists = i+1, lists
		tps = append(tps, tp)
	}
	return tps, bad.Err()
}

func fromSpec(arg string) (*Tracepoint, error) {
	spec, err := lang.ParseSpec(arg)
	if err != nil {
		return nil, err
	}
	place, err := probe.Parse(spec.Place)
	if err != nil {
		return nil, err
	}
	return &Tracepoint{Place: place, Cond: text{text: spec.CondText, source: "condition"}}, nil
}

// appendDiagnostic adds err, which is a diagnostic or several.
func appendDiagnostic(list lang.Diagnostics, err error) lang.Diagnostics {
	switch e := err.(type) {
	case *lang.Diagnostic:
		return append(list, e)
	case lang.Diagnostics:
		return append(list, e...)
	}
	return append(list, &lang.Diagnostic{Msg: err.Error()})
}

// FromFile reads a file as GDB's `save tracepoints` writes it. Warnings say what
// of it has no effect here.
func FromFile(name string) (tps []*Tracepoint, warnings []string, err error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, nil, err
	}
	src := string(b)
	file, err := lang.ParseFile(name, src)
	if err != nil {
		return nil, nil, err
	}
	var bad lang.Diagnostics
	for i := range file.Tracepoints {
		t := &file.Tracepoints[i]
		tp, err := fromTracepoint(name, src, t)
		if err != nil {
			bad = appendDiagnostic(bad, err)
			continue
		}
		tp.Number = i + 1
		tps = append(tps, tp)
		warnings = append(warnings, unsupported(name, t)...)
	}
	for _, v := range file.Variables {
		warnings = append(warnings, fmt.Sprintf("%s:%d: trace state variable $%s is not kept", name, v.Line, v.Name))
	}
	return tps, warnings, bad.Err()
}

func fromTracepoint(name, src string, t *lang.Tracepoint) (*Tracepoint, error) {
	place, err := probe.Parse(t.Place)
	if err != nil {
		return nil, lang.Within(err, name, src, t.PlaceSpan.Lo)
	}
	tp := &Tracepoint{Place: place, Pass: t.Pass, Disabled: t.Disabled}
	if t.CondText != "" {
		tp.Cond = text{text: t.CondText, source: name, whole: src, at: t.CondSpan.Lo}
	}
	for _, a := range t.Actions {
		if a.Kind == lang.ActCollect {
			tp.Lists = append(tp.Lists, text{text: a.Text, source: name, whole: src, at: a.Span.Lo})
		}
	}
	return tp, nil
}

// unsupported lists what a tracepoint of a file asks for and does not get.
func unsupported(name string, t *lang.Tracepoint) (out []string) {
	say := func(line int, what string) { out = append(out, fmt.Sprintf("%s:%d: %s", name, line, what)) }
	if t.Ignore > 0 {
		say(t.Line, "ignore counts have no effect")
	}
	if t.Kind == "strace" {
		say(t.Line, "a static tracepoint is traced as a place of that name")
	}
	for _, a := range t.Actions {
		switch a.Kind {
		case lang.ActEval:
			say(a.Line, "teval has no effect")
		case lang.ActStep:
			say(a.Line, "while-stepping has no effect")
		}
	}
	return out
}
