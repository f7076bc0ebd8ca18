package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/jalon-trace/jalon/bench/figure"
)

// heading names the machine and what the figures are.
func heading() string {
	return figure.Machine() + "; ns per hit, the bare loop subtracted: median of the rounds (lowest-highest)\n"
}

// printTables prints a table for each place, with the targets.
func (b *bench) printTables(hits, gates []*testCase) {
	for _, g := range groupsOf(hits) {
		t := tableOf(g, hits)
		t.print(b.out)
		t.printTargets(b.out)
	}
	for _, g := range groupsOf(gates) {
		tableOf(g, gates).print(b.out)
	}
}

func groupsOf(cases []*testCase) []*group {
	var out []*group
	for _, c := range cases {
		if !slices.Contains(out, c.group) {
			out = append(out, c.group)
		}
	}
	return out
}

// table has the figures of one place by tracer and by what is measured.
type table struct {
	group   *group
	tracers []string
	cases   map[string]*[numWhat]*testCase
}

func tableOf(g *group, cases []*testCase) *table {
	t := &table{group: g, cases: map[string]*[numWhat]*testCase{}}
	for _, c := range cases {
		if c.group != g {
			continue
		}
		if t.cases[c.tracer] == nil {
			t.cases[c.tracer] = &[numWhat]*testCase{}
			t.tracers = append(t.tracers, c.tracer)
		}
		t.cases[c.tracer][c.what] = c
	}
	return t
}

func (t *table) print(w io.Writer) {
	fmt.Fprintf(w, "%-42s", t.group.title)
	for what := range empty {
		fmt.Fprintf(w, " %24s", whatNames[what])
	}
	fmt.Fprintln(w)
	var notes []string
	for _, name := range t.tracers {
		row := t.cases[name]
		fmt.Fprintf(w, "  %-40s", name)
		if c := row[empty]; c != nil {
			fmt.Fprintf(w, " %24s", c.figure())
			notes = append(notes, c.remark()...)
		} else {
			for what := range empty {
				if c := row[what]; c != nil {
					fmt.Fprintf(w, " %24s", c.figure())
					notes = append(notes, c.remark()...)
				} else {
					fmt.Fprintf(w, " %24s", "")
				}
			}
		}
		fmt.Fprintln(w)
	}
	for _, n := range append(notes, t.group.notes...) {
		fmt.Fprintln(w, "  - "+n)
	}
}

// figure formats the median with the spread.
func (c *testCase) figure() string {
	return span(c.figures())
}

// remark returns why there is no figure, or that records were lost.
func (c *testCase) remark() []string {
	var out []string
	if c.note != "" {
		out = append(out, c.tracer+", "+whatNames[c.what]+": "+c.note)
	}
	if n := len(c.busy); n > 0 && len(c.ns) == 0 {
		out = append(out, fmt.Sprintf("%s, %s: the machine was busy in all of %d rounds", c.tracer, whatNames[c.what], n))
	} else if n > 0 {
		out = append(out, fmt.Sprintf("%s, %s: without %d of %d rounds in which the machine was busy", c.tracer, whatNames[c.what], n, n+len(c.ns)))
	}
	if c.seen.lost > 0 {
		out = append(out, fmt.Sprintf("%s, %s: %d records lost in the last round", c.tracer, whatNames[c.what], c.seen.lost))
	}
	return out
}

// value returns the median of a case; ok is false if there is none.
func (t *table) value(tracer string, w what) (float64, bool) {
	row := t.cases[tracer]
	if row == nil || row[w] == nil || len(row[w].figures()) == 0 {
		return 0, false
	}
	return median(row[w].figures()), true
}

// printTargets compares the figures with the targets.
func (t *table) printTargets(out io.Writer) {
	for w := range empty {
		t.compare(out, byJalon, w, byBpftrace, w, 0.8)
	}
	for _, w := range []what{data, both} {
		t.compare(out, byJalon, w, byFtrace, w, 1.0)
		t.compare(out, byJalonOwn, w, byFtrace, w, 1.0)
	}
	t.compare(out, byJalon, falseCond, byEmpty, empty, 1.2)
	fmt.Fprintln(out)
}

// compare prints a ratio and whether it is at most limit.
func (t *table) compare(out io.Writer, a string, wa what, b string, wb what, limit float64) {
	x, ok1 := t.value(a, wa)
	y, ok2 := t.value(b, wb)
	if !ok1 || !ok2 || y <= 0 {
		return
	}
	fmt.Fprintf(out, "  %-40s %5.2f x %-14s (<= %.1f: %s)\n", a+", "+whatNames[wa], x/y, b, limit, reached(x/y <= limit))
}

func reached(ok bool) string {
	if ok {
		return "reached"
	}
	return "NOT REACHED"
}

// writeFigures writes all figures to the file that was asked for.
func (b *bench) writeFigures(cases []*testCase) error {
	if b.figures == "" {
		return nil
	}
	f := &figure.File{Machine: figure.Machine(), Unit: "ns"}
	for _, c := range cases {
		f.Figures = append(f.Figures, figure.Of(c.group.title, c.tracer, whatNames[c.what], c.figures(), c.note))
	}
	for mode, ns := range b.least {
		f.Figures = append(f.Figures, figure.Of("bare loop", mode, "", []float64{ns}, ""))
	}
	return figure.Write(b.figures, f)
}
