package jalon

import (
	"fmt"
	"io"
	"strings"

	"github.com/jalon-trace/jalon/internal/aggregate"
	"github.com/jalon-trace/jalon/internal/format"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/sema"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// Aggregate is what a trace computes of all hits of its tracepoints together, at the hits, in place of recording each.
type Aggregate struct {
	// Kind is "count", "sum", "avg", "min", "max", "stats", "hist" (powers of two) or "lhist" (equal ranges).
	Kind string
	// Value is the expression of the value; "" for count.
	Value string
	// By has expressions separated by commas: there is a result for each of their values.
	By string
	// Low, High and Step are the ranges of lhist.
	Low, High, Step int64
	// Top, with the value $elapsed, also records the calls that took the longest, at most so many: Options.Output gets them at the
	// end, the slowest first, with $elapsed before what is collected; the arguments at the entry, if nothing is.
	Top int
}

var aggregateKinds = map[string]sema.MapKind{
	"count": sema.MapCount, "sum": sema.MapSum, "avg": sema.MapAvg, "min": sema.MapMin, "max": sema.MapMax,
	"stats": sema.MapStats, "hist": sema.MapHist, "lhist": sema.MapLinear,
}

// aggregated gives tracepoints the action of an aggregate.
func (a *Aggregate) aggregated(tps []*tracepoint.Tracepoint) error {
	kind, ok := aggregateKinds[a.Kind]
	if !ok {
		return fmt.Errorf("%q is no kind of aggregate", a.Kind)
	}
	act := sema.Action{Map: &sema.Map{Name: "@", Kind: kind, Low: a.Low, High: a.High, Step: a.Step, Infer: &sema.Inferred{}}}
	text := func(what, s string) (list []lang.Collect, err error) {
		if strings.TrimSpace(s) == "" {
			return nil, nil
		}
		return lang.ParseCollect(s)
	}
	by, err := text("by", a.By)
	if err != nil {
		return convert(err)
	}
	value, err := text(a.Kind, a.Value)
	if err != nil {
		return convert(err)
	}
	if (kind == sema.MapCount) != (len(value) == 0) || len(value) > 1 {
		return fmt.Errorf("%s takes %s", a.Kind, map[bool]string{true: "no value", false: "one value"}[kind == sema.MapCount])
	}
	for _, v := range value {
		act.Value, act.ValueFrom = v.X, v.From
	}
	for _, k := range by {
		act.Key, act.From = append(act.Key, k.X), k.From
	}
	if len(by) == 0 && len(value) > 0 {
		act.From = act.ValueFrom
	}
	for _, tp := range tps {
		tp.Actions, tp.NoRecord, tp.CountHits = []sema.Action{act}, true, true
	}
	switch {
	case a.Top < 0 || a.Top > maxTop || a.Top > 0 && strings.TrimSpace(a.Value) != "$elapsed":
		return fmt.Errorf("the slowest calls: 1 to %d of them, by the value $elapsed", maxTop)
	case a.Top > 0:
		return topOf(tps, act)
	}
	return nil
}

// WriteMaps writes what the trace has computed by [Options.Aggregate]: as text, histograms drawn, or as lines of JSON; both in
// bpftrace's form. Text of programs that would steer a terminal is shown as in [Text].
func (r *Result) WriteMaps(w io.Writer, asJSON bool) {
	if !asJSON {
		w = format.Plain(w)
	}
	for _, m := range r.maps {
		aggregate.Write(w, m.Map, m.Merged, m.Stacks, m.NoRoom, asJSON)
	}
}
