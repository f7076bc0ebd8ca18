package main

import (
	"io"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctf"
	"github.com/jalon-trace/jalon/internal/format"
	"github.com/jalon-trace/jalon/internal/report"
)

// reported is a trace that is being reported.
type reported struct {
	w     io.Writer
	plain io.Writer // w for text
	t     *ctf.Trace
	r     *report.Reader
	q     report.Query
}

// views are what a report can have in place of events.
var views = []struct {
	flag  string
	asked func(*reportCmd) bool
	print func(*reportCmd, *reported) error
}{
	{"--state", func(c *reportCmd) bool { return c.State }, (*reportCmd).printState},
	{"--stat", func(c *reportCmd) bool { return c.Stat }, (*reportCmd).printStat},
	{"--hist", func(c *reportCmd) bool { return c.Hist != "" }, (*reportCmd).printHist},
	{"--latency", func(c *reportCmd) bool { return c.Latency }, (*reportCmd).printLatency},
	{"--flame", func(c *reportCmd) bool { return c.Flame }, (*reportCmd).printFlame},
	{"--timeline", func(c *reportCmd) bool { return c.Timeline }, (*reportCmd).printTimeline},
	{"--critical-path", func(c *reportCmd) bool { return c.Critical != 0 }, (*reportCmd).printCritical},
}

// viewNames are the flags of the views, as a list in a sentence.
func viewNames() string {
	var names []string
	for _, v := range views {
		names = append(names, v.flag)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// print prints the requested view, or the events.
func (c *reportCmd) print(x *reported) error {
	x.plain = format.Plain(x.w)
	for _, v := range views {
		if v.asked(c) {
			return v.print(c, x)
		}
	}
	return c.events(x.w, x.t, x.r)
}

func (c *reportCmd) json() bool { return c.Format == "json" }

func (c *reportCmd) printState(x *reported) error {
	s := report.MakeState(x.t)
	if c.json() {
		return s.JSON(x.w)
	}
	return s.Text(x.plain)
}

func (c *reportCmd) printStat(x *reported) error {
	s, err := report.MakeStat(x.r, c.whole())
	switch {
	case err != nil:
		return err
	case c.json():
		return s.JSON(x.w)
	}
	return s.Text(x.plain, c.Top)
}

func (c *reportCmd) printHist(x *reported) error {
	h, err := report.MakeHist(x.r, c.Hist, c.By)
	switch {
	case err != nil:
		return err
	case c.json():
		h.JSON(x.w)
	default:
		h.Text(x.plain, c.Top)
	}
	return nil
}

func (c *reportCmd) printLatency(x *reported) error {
	l, err := report.MakeLatency(x.r, c.Places[0], c.Places[1], c.By, c.Top)
	switch {
	case err != nil:
		return err
	case c.json():
		return l.JSON(x.w)
	}
	return l.Text(x.plain, x.t.Info.WallOffset)
}

func (c *reportCmd) printFlame(x *reported) error {
	f, err := report.MakeFlame(x.r)
	switch {
	case err != nil:
		return err
	case c.json():
		return f.JSON(x.w)
	case c.Format == "folded":
		return f.Folded(x.plain)
	}
	return f.Text(x.plain, columns(), leastShown)
}

// leastShown is the share of all samples below which a frame is left out of a flame graph in text.
const leastShown = 0.005

func (c *reportCmd) printCritical(x *reported) error {
	p, err := report.MakeCritical(x.r, c.Critical, x.q.From, x.q.To)
	switch {
	case err != nil:
		return err
	case c.json():
		return p.JSON(x.w)
	}
	return p.Text(x.plain, c.Top)
}

// timelineMargin is the width of what stands beside the bars of a timeline.
const timelineMargin = 46

func (c *reportCmd) printTimeline(x *reported) error {
	from, to, _ := x.t.Span()
	if x.q.From != 0 {
		from = x.q.From
	}
	if x.q.To != 0 {
		to = x.q.To
	}
	l, err := report.MakeTimeline(x.r, from, to, columns()-timelineMargin)
	if err != nil {
		return err
	}
	return l.Text(x.plain, c.Top)
}
