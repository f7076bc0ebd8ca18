package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// JSON writes an object.
func (c *Critical) JSON(w io.Writer) error { return json.NewEncoder(w).Encode(c) }

// sums are the parts of the path by thread and what it does, longest first.
func (c *Critical) sums() (list []Segment) {
	type key struct {
		tid       int
		what, why string
	}
	at := map[key]int{}
	for _, s := range c.Segments {
		k := key{s.Tid, s.What, s.Why}
		n, ok := at[k]
		if !ok {
			at[k] = len(list)
			list = append(list, s)
			continue
		}
		list[n].NS += s.NS
	}
	slices.SortStableFunc(list, func(a, b Segment) int { return -cmp.Compare(a.NS, b.NS) })
	return list
}

// rounded is a duration without digits that say nothing.
func rounded(ns int64) time.Duration {
	if ns < 10_000 {
		return time.Duration(ns)
	}
	return time.Duration(ns).Round(time.Microsecond)
}

// shownParts are the parts of the whole time of which a segment must have one to be a line of its own.
const shownParts = 200

// Text writes the waits of the thread, the sums of the path and the path itself.
func (c *Critical) Text(w io.Writer, top int) error {
	all := c.To - c.From
	fmt.Fprintf(w, "%s:%d for %v\n\n", oneLine(c.Comm), c.Tid, rounded(all))
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	own := int64(0)
	for _, x := range c.Waits {
		own += x.NS
	}
	fmt.Fprintln(tw, "its own time\tpart\ttimes\tlongest\twhat")
	fmt.Fprintf(tw, "%v\t%s\t\t\truns\n", rounded(all-own), percentOf(all-own, all))
	for i, x := range c.Waits {
		if top > 0 && i == top {
			fmt.Fprintf(tw, "\t\t\t\t%d more\n", len(c.Waits)-top)
			break
		}
		fmt.Fprintf(tw, "%v\t%s\t%d\t%v\t%s\n", rounded(x.NS), percentOf(x.NS, all), x.Count, rounded(x.Most), oneLine(phrase(x.What, x.For)))
	}
	fmt.Fprintln(tw, "\ncritical path\tpart\tthread\twhat")
	list := c.sums()
	for i, s := range list {
		if top > 0 && i == top {
			fmt.Fprintf(tw, "\t\t\t%d more\n", len(list)-top)
			break
		}
		fmt.Fprintf(tw, "%v\t%s\t%s\t%s\n", rounded(s.NS), percentOf(s.NS, all), oneLine(fmt.Sprintf("%s:%d", s.Comm, s.Tid)), oneLine(phrase(s.What, s.Why)))
	}
	fmt.Fprintln(tw, "\nfrom the beginning\tfor\tthread\twhat")
	c.path(tw, all)
	if err := tw.Flush(); err != nil {
		return err
	}
	if !c.Interrupts {
		_, err := fmt.Fprintln(w, "\nThe trace has no interrupts (tracepoint:irq:irq_handler_entry, ..._exit, softirq_entry, ..._exit): a wake-up by one counts for the thread that it interrupted.")
		return err
	}
	return nil
}

// path writes the segments in order. Short ones are summed.
func (c *Critical) path(w io.Writer, all int64) {
	short, shortNS := 0, int64(0)
	flush := func() {
		if short > 0 {
			fmt.Fprintf(w, "...\t%v\t\t%d shorter parts\n", rounded(shortNS), short)
		}
		short, shortNS = 0, 0
	}
	for _, s := range c.Segments {
		if s.NS < all/shownParts {
			short++
			shortNS += s.NS
			continue
		}
		flush()
		indent := ""
		for range min(s.Depth, 10) {
			indent += "  "
		}
		fmt.Fprintf(w, "+%v\t%v\t%s\t%s\n", rounded(s.From-c.From), rounded(s.NS), oneLine(fmt.Sprintf("%s%s:%d", indent, s.Comm, s.Tid)), oneLine(phrase(s.What, s.Why)))
	}
	flush()
}

var phrases = map[string]string{runs: "runs", preempted: "was preempted", ready: "waits for a CPU", blocked: "is blocked", notKnown: "is not in the trace"}

func phrase(what, why string) string {
	if why == "" {
		return phrases[what]
	}
	return phrases[what] + " " + why
}

func percentOf(n, of int64) string { return percent(uint64(max(n, 0)), uint64(max(of, 0))) }
