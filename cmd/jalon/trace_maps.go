package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon"
)

// aggregateFlags are the options of trace that compute at the hits, in place of recording each.
type aggregateFlags struct {
	Count bool   `help:"Count the hits, at the hits, in place of recording each; PLACE --count EXPR,... or with --by for each value of expressions"`
	Sum   string `placeholder:"EXPR" sep:"none" help:"Add up the values of an expression"`
	Avg   string `placeholder:"EXPR" sep:"none" help:"Average of an expression"`
	Min   string `placeholder:"EXPR" sep:"none" help:"Smallest value of an expression"`
	Max   string `name:"maximum" placeholder:"EXPR" sep:"none" help:"Largest value of an expression"`
	Stats string `placeholder:"EXPR" sep:"none" help:"Count, average and sum of an expression"`
	Hist  string `placeholder:"EXPR" sep:"none" help:"Histogram of an expression, by powers of two"`
	Lhist string `placeholder:"EXPR,LOW,HIGH,STEP" sep:"none" help:"Histogram of an expression, in equal ranges"`
	// Latency is the histogram of $elapsed at the returns.
	Latency bool   `help:"Histogram of the time from entry to return of the functions, in nanoseconds"`
	Top     int    `placeholder:"N" help:"With --latency: also the N slowest calls, with what -c collects (default: the arguments as they were at the entry)"`
	By      string `placeholder:"EXPR,..." sep:"none" help:"One result for each value of expressions: numbers, text, $bt"`
}

// aggregate returns what the options ask for, nil if nothing.
func (f *aggregateFlags) aggregate() (*jalon.Aggregate, error) {
	var chosen []*jalon.Aggregate
	add := func(on bool, kind, value string) {
		if on {
			chosen = append(chosen, &jalon.Aggregate{Kind: kind, Value: value, By: f.By})
		}
	}
	add(f.Count, "count", "")
	for _, o := range []struct{ kind, value string }{{"sum", f.Sum}, {"avg", f.Avg}, {"min", f.Min}, {"max", f.Max}, {"stats", f.Stats}, {"hist", f.Hist}} {
		add(o.value != "", o.kind, o.value)
	}
	add(f.Latency, "hist", "$elapsed")
	if f.Lhist != "" {
		a, err := linear(f.Lhist)
		if err != nil {
			return nil, err
		}
		a.By = f.By
		chosen = append(chosen, a)
	}
	switch {
	case f.Top < 0 || f.Top > 0 && !f.Latency:
		return nil, usageError("--top N, 1 or more, goes with --latency")
	case len(chosen) > 1:
		return nil, usageError("name one of --count, --sum, --avg, --min, --maximum, --stats, --hist, --lhist and --latency")
	case len(chosen) == 0 && f.By != "":
		return nil, usageError("--by needs what is computed: --count, --hist EXPR, ...")
	case len(chosen) == 0:
		return nil, nil
	}
	chosen[0].Top = f.Top
	return chosen[0], nil
}

// linear reads "EXPR,LOW,HIGH,STEP".
func linear(text string) (*jalon.Aggregate, error) {
	parts := strings.Split(text, ",")
	n := len(parts) - 3
	if n < 1 {
		return nil, usageError("--lhist EXPR,LOW,HIGH,STEP")
	}
	a := &jalon.Aggregate{Kind: "lhist", Value: strings.Join(parts[:n], ",")}
	for i, to := range []*int64{&a.Low, &a.High, &a.Step} {
		v, err := strconv.ParseInt(strings.TrimSpace(parts[n+i]), 0, 64)
		if err != nil {
			return nil, usageError(fmt.Sprintf("--lhist: %q is not a number", parts[n+i]))
		}
		*to = v
	}
	return a, nil
}

// atReturns makes places of functions those of their returns, for --latency.
func (f *aggregateFlags) atReturns(places []string) []string {
	if !f.Latency {
		return places
	}
	places = slices.Clone(places)
	for i, p := range places {
		place, cond, has := strings.Cut(p, " if ")
		place = strings.TrimSpace(place)
		switch kind, rest, _ := strings.Cut(place, ":"); {
		case kind == "uprobe" || kind == "u":
			place = "uretprobe:" + rest
		case kind != "uretprobe" && kind != "ur" && !strings.HasSuffix(place, "%return"):
			place += "%return"
		}
		if places[i] = place; has {
			places[i] += " if " + cond
		}
	}
	return places
}

// writeMaps prints what was computed.
func (c *traceCmd) writeMaps(w io.Writer, res *jalon.Result) error {
	to := &firstError{w: w}
	if res != nil {
		res.WriteMaps(to, c.Format == "json")
	}
	return to.failed()
}

// warnSlowest warns of calls that were lost: the list of the slowest may lack them.
func (c *traceCmd) warnSlowest(res *jalon.Result) {
	lost := res.Unshown
	for i := range res.Sites {
		lost += res.Sites[i].Lost + res.Sites[i].Missed
	}
	if lost > 0 {
		c.warn(fmt.Sprintf("warning: %d calls found no room in the buffer: the list of the slowest may lack some of them (--buffer SIZE); the histogram has all", lost))
	}
}
