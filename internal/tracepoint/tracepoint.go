// Package tracepoint represents the user's request: places with conditions and collect lists, from the
// command line or from a file written by GDB. It keeps syntax trees together with the texts for
// diagnostics.
//
// Import rule: tracepoint imports lang, probe and sema only.
package tracepoint

import (
	"fmt"
	"os"

	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/sema"
)

// Tracepoint is one tracepoint of the user. Its sites change when a process loads or unloads modules; the
// tracepoint does not.
type Tracepoint struct {
	Number   int
	Place    *probe.Place
	Cond     *lang.Condition // nil: every hit
	Collect  []lang.Collect  // of all collect lists, because a record has one list of fields
	Pass     int             // the trace ends at this hit; 0 = never
	Disabled bool
	// Optional: if the place is not found or has no site, that is a warning.
	Optional bool
	// Kernel: a place in a program is a uprobe of the kernel engine, though a process is traced: in a file that the process does not have yet.
	Kernel bool
	// Actions are changes of maps at its hits, and Maps those that its expressions read; NoRecord: hits leave no record.
	// CountHits: they are counted then, which is exact for one action.
	Actions   []sema.Action
	Maps      []*sema.Map
	NoRecord  bool
	CountHits bool
	// Variables are the trace state variables of its session, Numbers those that they have in programs; UsesVariables: it reads or sets some.
	Variables     *Variables
	Numbers       map[string]int64
	UsesVariables bool
	// Own: without a collect list, a hit shows what its place has (OwnList); Elapsed: at returns also the time of the call.
	Own, Elapsed bool
}

// New makes a tracepoint whose expressions are parsed already.
func New(place string, cond *lang.Condition, collect []lang.Collect) (*Tracepoint, error) {
	p, err := probe.Parse(place)
	if err != nil {
		return nil, err
	}
	return &Tracepoint{Place: p, Cond: cond, Collect: collect}, nil
}

// OwnList returns the collect list of a tracepoint that has none: the arguments at a function, the value at a return. A
// pattern has none, because its sites are many.
func (tp *Tracepoint) OwnList() []lang.Collect {
	p := tp.Place
	if !tp.Own || tp.NoRecord || len(tp.Collect) > 0 || p.Kind.Own == "" || p.Glob() && !p.NamesOne() || p.Off != 0 || p.Line != 0 {
		return nil
	}
	text := p.Kind.Own
	if tp.Elapsed && p.Kind.Returns {
		text += ", $elapsed"
	}
	list, err := lang.ParseCollect(text)
	if err != nil {
		panic(fmt.Sprintf("BUG: %s: %v", text, err))
	}
	return list
}

// FromArgs parses the places of the command line; all share the collect lists.
func FromArgs(places, collect []string) ([]*Tracepoint, error) {
	var tps []*Tracepoint
	var bad lang.Diagnostics
	for i, arg := range places {
		tp, err := fromSpec(arg)
		if err != nil {
			bad = Append(bad, err)
			continue
		}
		tp.Number = i + 1
		tps = append(tps, tp)
	}
	var items []lang.Collect
	for _, text := range collect {
		list, err := lang.ParseCollect(text)
		if err != nil {
			bad = Append(bad, err)
		}
		items = append(items, list...)
	}
	for _, tp := range tps {
		tp.Collect = items
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
	tp := &Tracepoint{Place: place}
	if spec.CondText != "" {
		tp.Cond, err = lang.ParseCondition(lang.TextOf("condition", spec.CondText))
	}
	return tp, err
}

// Append adds err, which is a diagnostic or several.
func Append(list lang.Diagnostics, err error) lang.Diagnostics {
	switch e := err.(type) {
	case nil:
		return list
	case *lang.Diagnostic:
		return append(list, e)
	case lang.Diagnostics:
		return append(list, e...)
	}
	return append(list, &lang.Diagnostic{Msg: err.Error()})
}

// FromFile reads a file written by GDB's `save tracepoints`. It returns warnings about commands without effect. Variables of the
// tracepoints are those of the file.
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
	vars, bad := variablesOf(name, src, file)
	for i := range file.Tracepoints {
		t := &file.Tracepoints[i]
		tp, err := fromTracepoint(name, src, t, vars)
		if err != nil {
			bad = Append(bad, err)
			continue
		}
		tp.Number = i + 1
		tps = append(tps, tp)
		warnings = append(warnings, unsupported(name, t)...)
	}
	endTogether(vars, tps)
	return tps, warnings, bad.Err()
}

func fromTracepoint(name, src string, t *lang.Tracepoint, vars *Variables) (*Tracepoint, error) {
	place, err := probe.Parse(t.Place)
	if err != nil {
		return nil, lang.Within(err, name, src, t.PlaceSpan.Lo)
	}
	tp := &Tracepoint{Place: place, Pass: t.Pass, Disabled: t.Disabled, Variables: vars, UsesVariables: vars.uses(t.CondText)}
	var bad lang.Diagnostics
	if t.CondText != "" {
		if tp.Cond, err = lang.ParseCondition(lang.Text{Source: name, Whole: src, Span: t.CondSpan}); err != nil {
			bad = Append(bad, err)
		}
	}
	l := &actionList{name: name, src: src, vars: vars, tp: tp, bad: bad}
	l.read(t.Actions)
	for i := range tp.Collect {
		tp.UsesVariables = tp.UsesVariables || vars.uses(tp.Collect[i].Text)
	}
	return tp, l.bad.Err()
}

// unsupported lists the unsupported features that a tracepoint in a file uses.
func unsupported(name string, t *lang.Tracepoint) (out []string) {
	say := func(line int, what string) { out = append(out, fmt.Sprintf("%s:%d: %s", name, line, what)) }
	if t.Ignore > 0 {
		say(t.Line, "ignore counts have no effect")
	}
	if t.Kind == "strace" {
		say(t.Line, "a static tracepoint is treated as a place of that name")
	}
	for _, a := range t.Actions {
		if a.Kind == lang.ActStep {
			say(a.Line, "while-stepping has no effect")
		}
	}
	return out
}
