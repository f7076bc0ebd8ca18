package jalon

import (
	"slices"

	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// Tracepoint is a place with a condition and what to collect there.
type Tracepoint struct {
	// Place is "FILE:LINE", a function, "FUNC+OFF", "*0x401136", "uprobe:PATH:FUNC",
	// "tracepoint:SYSTEM:EVENT", "kprobe:FUNC", ...: "jalon trace --help" and docs/kernel.md list the
	// kinds. A pattern ("read*") selects all functions that match.
	Place string
	// Condition is a C expression over the variables at the place; "" always holds.
	Condition string
	// Collect has lists of expressions separated by commas: variables, $args, $locals, $regs, $bt, $ret,
	// EXPR/FMT as in GDB, p@n.
	Collect []string
	// Pass ends the trace after this number of recorded hits; 0: never.
	Pass int
	// Disabled tracepoints are armed, but count and record nothing until they are enabled.
	Disabled bool
	// Optional: if the place is not found, or cannot be traced, that is a warning.
	Optional bool

	parsed *tracepoint.Tracepoint // as read from a file, with positions in it
}

// Parse parses tracepoints in the form of the command line: each place is "PLACE [if CONDITION]", and all
// have the same collect lists.
func Parse(places, collect []string) ([]Tracepoint, error) {
	tps, err := tracepoint.FromArgs(places, collect)
	if err != nil {
		return nil, convert(err)
	}
	return publicAll(tps), nil
}

// ReadFile reads tracepoints from a file as GDB's "save tracepoints" writes it. The warnings name the parts
// of the file that have no effect in jalon.
func ReadFile(name string) (list []Tracepoint, warnings []string, err error) {
	tps, warnings, err := tracepoint.FromFile(name)
	if err != nil {
		return nil, warnings, convert(err)
	}
	return publicAll(tps), warnings, nil
}

func publicAll(tps []*tracepoint.Tracepoint) (list []Tracepoint) {
	for _, tp := range tps {
		list = append(list, Tracepoint{
			Place: tp.Place.Text, Condition: conditionOf(tp), Collect: listsOf(tp), Pass: tp.Pass, Disabled: tp.Disabled, parsed: tp,
		})
	}
	return list
}

func conditionOf(tp *tracepoint.Tracepoint) string {
	if tp.Cond == nil {
		return ""
	}
	return tp.Cond.From.String()
}

// listsOf returns the texts of the collect lists.
func listsOf(tp *tracepoint.Tracepoint) (lists []string) {
	var last lang.Text
	for i := range tp.Collect {
		if from := tp.Collect[i].From; i == 0 || from != last {
			lists, last = append(lists, from.String()), from
		}
	}
	return lists
}

// Where is the kind of code that a place is in.
type Where uint8

// Kinds of Where.
const (
	InProgram Where = iota // code of a program or library
	InKernel               // the kernel, or an event of it
	// InSource is a line of a source file, of the traced program or of the kernel (KernelOptions.Vmlinux).
	InSource
)

// Where reports the kind of code of the place. The error is a *Diagnostic.
func (t *Tracepoint) Where() (Where, error) {
	tps, err := parse([]Tracepoint{*t})
	if err != nil {
		return 0, err
	}
	switch place := tps[0].Place; {
	case place.InKernel():
		return InKernel, nil
	case place.Kind.AnySource && place.Path == "":
		return InSource, nil
	}
	return InProgram, nil
}

// same reports whether the fields still have their parsed values.
func (t *Tracepoint) same() bool {
	p := t.parsed
	return p != nil && t.Place == p.Place.Text && t.Condition == conditionOf(p) && slices.Equal(t.Collect, listsOf(p))
}

// parse parses the tracepoints of a trace and numbers them by their index in the list, from 1.
func parse(list []Tracepoint) (tps []*tracepoint.Tracepoint, err error) {
	var bad Diagnostics
	for i := range list {
		t := &list[i]
		var tp tracepoint.Tracepoint
		if t.same() {
			tp = *t.parsed
		} else if err := t.fresh(&tp); err != nil {
			bad = append(bad, diagnostics(err)...)
			continue
		}
		tp.Number, tp.Pass, tp.Disabled = i+1, t.Pass, t.Disabled
		tp.Optional = tp.Optional || t.Optional
		tps = append(tps, &tp)
	}
	if len(bad) > 0 {
		return nil, bad.err()
	}
	return tps, nil
}

// variablesOf are the trace state variables of the tracepoints' files.
func variablesOf(tps []*tracepoint.Tracepoint) *tracepoint.Variables {
	all := &tracepoint.Variables{}
	for _, tp := range tps {
		if tp.Variables != nil {
			all.Add(tp.Variables.List...)
		}
	}
	if len(all.List) == 0 {
		return nil
	}
	return all
}

func (t *Tracepoint) fresh(tp *tracepoint.Tracepoint) error {
	text := t.Place
	if t.Condition != "" {
		text += " if " + t.Condition
	}
	made, err := tracepoint.FromArgs([]string{text}, t.Collect)
	if err != nil {
		return err
	}
	*tp = *made[0]
	return nil
}
