package format

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/jalon-trace/jalon/internal/event"
)

// SummaryText is a table of the sites, and what the traced program saw of jalon.
func SummaryText(s *event.Summary) string {
	num := func(n uint64) string { return strconv.FormatUint(n, 10) }
	shown := busiest(s.Sites)
	cols := columns(s.Sites)
	rows := [][]string{{"place"}}
	for _, c := range cols {
		rows[0] = append(rows[0], c.name)
	}
	for _, i := range shown {
		row := []string{siteName(s.Sites, i)}
		for _, c := range cols {
			row = append(row, c.text(&s.Sites[i]))
		}
		rows = append(rows, row)
	}
	b := Table(rows, func(column int) bool { return column > 0 })
	if left := len(s.Sites) - len(shown); left > 0 {
		b = append(b, fmt.Sprintf("... and %d sites with fewer hits\n", left)...)
	}
	b = append(b, reached(s.Sites)...)
	overwritten := 0
	for i := range s.Sites {
		if s.Sites[i].Overwritten {
			overwritten++
		}
	}
	if overwritten > 0 {
		b = append(b, fmt.Sprintf("?: the program has overwritten the counters of %d of the places\n", overwritten)...)
	}
	for _, n := range []struct {
		count     uint64
		one, many string
	}{
		{s.Torn, "record was cut short when its thread was killed or left the hit by a jump", "records were cut short when their threads were killed or left the hits by jumps"},
		{s.TornParts, "part of a buffer could not be read: a thread was writing to it", "parts of buffers could not be read: threads were writing to them"},
		{s.Waits, "time a hit waited for room in a full buffer", "times hits waited for room in full buffers"},
		{s.Corrupt, "time the program overwrote a buffer; what it held is lost", "times the program overwrote a buffer; what it held is lost"},
		{s.Unshown, "recorded event is not shown: it was not shown or read in time before the requested end (-o FILE keeps all)", "recorded events are not shown: they were not shown or read in time before the requested end (-o FILE keeps all)"},
		{s.StacksFull, "stack was recorded frame by frame because the table of stacks was full", "stacks were recorded frame by frame because the table of stacks was full"},
		{s.KeysFull, "hit has no stack in its key because the table of stacks was full", "hits have no stacks in their keys because the table of stacks was full"},
		{s.Pointers, "hit has a stack by frame pointers: there was no call frame information of its process yet", "hits have stacks by frame pointers: there was no call frame information of their processes yet"},
		{s.Late, "event is shown after a younger one", "events are shown after younger ones"},
	} {
		switch n.count {
		case 0:
		case 1:
			b = append(b, "1 "+n.one+"\n"...)
		default:
			b = append(b, num(n.count)+" "+n.many+"\n"...)
		}
	}
	if s.ClockError > 0 {
		b = append(b, "times are up to "+duration(s.ClockError)+" too early (coarse clock)\n"...)
	}
	if line := lastLine(s); line != "" {
		start := len(b)
		b = endLine(append(b, line...), start)
	}
	return string(b)
}

// maxReached limits the lines about kprobes.
const maxReached = 8

// reached says how the kernel comes to kprobes, first those by a breakpoint.
func reached(sites []event.SiteSummary) (text string) {
	n := 0
	for _, slow := range []bool{true, false} {
		for i := range sites {
			r := sites[i].Reached
			if r == "" || strings.HasPrefix(r, "by a breakpoint") != slow || n == maxReached {
				continue
			}
			n++
			text += siteName(sites, i) + ": reached " + r + "\n"
		}
	}
	return text
}

// column is a figure of a site. Some columns are shown only if they are not zero.
type column struct {
	name   string
	text   func(*event.SiteSummary) string
	seldom func(*event.SiteSummary) bool // has a figure; nil: always shown
}

func figure(f func(*event.SiteSummary) uint64) func(*event.SiteSummary) string {
	return func(s *event.SiteSummary) string { return strconv.FormatUint(f(s), 10) }
}

// counter is a figure that the program can overwrite.
func counter(f func(*event.SiteSummary) uint64) func(*event.SiteSummary) string {
	return func(s *event.SiteSummary) string {
		if s.Overwritten {
			return "?"
		}
		return figure(f)(s)
	}
}

var allColumns = []column{
	{"hits", counter((*event.SiteSummary).Hits), nil},
	{"recorded", figure(func(s *event.SiteSummary) uint64 { return s.Recorded }), nil},
	{"false", counter(func(s *event.SiteSummary) uint64 { return s.False }), nil},
	{"faults", counter(func(s *event.SiteSummary) uint64 { return s.Faults }), nil},
	{"lost", counter(func(s *event.SiteSummary) uint64 { return s.Lost }), nil},
	{
		"computed", counter(func(s *event.SiteSummary) uint64 { return s.Computed }),
		func(s *event.SiteSummary) bool { return s.Computed > 0 },
	},
	{
		"replaced", counter(func(s *event.SiteSummary) uint64 { return s.Replaced }),
		func(s *event.SiteSummary) bool { return s.Replaced > 0 },
	},
	{
		"unpaired", counter(func(s *event.SiteSummary) uint64 { return s.Unpaired }),
		func(s *event.SiteSummary) bool { return s.Unpaired > 0 },
	},
	{
		"left", counter(func(s *event.SiteSummary) uint64 { return s.Left }),
		func(s *event.SiteSummary) bool { return s.Left > 0 },
	},
	{
		"missed", figure(func(s *event.SiteSummary) uint64 { return s.Missed }),
		func(s *event.SiteSummary) bool { return s.Missed > 0 },
	},
	{
		"ns/hit", func(s *event.SiteSummary) string { return strconv.FormatInt(s.Cost.Nanoseconds(), 10) },
		func(s *event.SiteSummary) bool { return s.Cost > 0 },
	},
}

func columns(sites []event.SiteSummary) []column {
	var out []column
	for _, c := range allColumns {
		shown := c.seldom == nil
		for i := range sites {
			shown = shown || c.seldom != nil && c.seldom(&sites[i])
		}
		if shown {
			out = append(out, c)
		}
	}
	return out
}

// maxRows limits the table, because a glob can match thousands of sites.
const maxRows = 40

// busiest lists the sites to show, in their order: all, or those with most hits.
func busiest(sites []event.SiteSummary) []int {
	order := make([]int, len(sites))
	for i := range order {
		order[i] = i
	}
	if len(order) <= maxRows {
		return order
	}
	sort.SliceStable(order, func(a, b int) bool { return sites[order[a]].Hits() > sites[order[b]].Hits() })
	order = order[:maxRows]
	sort.Ints(order)
	return order
}

// siteName distinguishes the sites of one place, by function or by address.
func siteName(sites []event.SiteSummary, i int) string {
	me := sites[i].Schema
	same, sameFunc := 0, 0
	for j := range sites {
		if o := sites[j].Schema; o.Place == me.Place {
			same++
			if o.Function == me.Function {
				sameFunc++
			}
		}
	}
	switch {
	case same == 1:
		return me.Place
	case sameFunc == 1 && me.Function != "":
		return me.Place + " (" + me.Function + ")"
	}
	if me.PC == 0 { // of a tracepoint of the kernel
		return me.Place + fmt.Sprintf(" (site %d)", me.SiteID)
	}
	return me.Place + fmt.Sprintf(" (%#x)", me.PC)
}

// lastLine: "stopped 2 times for 1.2 ms in all (0.7 ms at most); traced for 3.2 s; 5 events printed; exited with status 0".
func lastLine(s *event.Summary) string {
	var parts []string
	switch s.Pauses {
	case 0:
	case 1:
		parts = append(parts, "stopped once for "+duration(s.Pause))
	default:
		parts = append(parts, fmt.Sprintf("stopped %d times for %s in all (%s at most)", s.Pauses, duration(s.Pause), duration(s.LongestPause)))
	}
	if s.Duration > 0 {
		parts = append(parts, "traced for "+duration(s.Duration))
	}
	switch {
	case s.Printed == 1:
		parts = append(parts, "1 event printed")
	case s.Printed > 0 || s.Unshown > 0:
		parts = append(parts, fmt.Sprintf("%d events printed", s.Printed))
	}
	if s.Outcome != "" {
		parts = append(parts, s.Outcome)
	}
	return strings.Join(parts, "; ")
}

// duration has three significant digits.
func duration(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "µs"}} {
		if d >= u.unit {
			v := float64(d) / float64(u.unit)
			prec := 2
			for limit := 10.0; v >= limit && prec > 0; limit *= 10 {
				prec--
			}
			return strconv.FormatFloat(v, 'f', prec, 64) + " " + u.name
		}
	}
	return strconv.FormatInt(int64(d), 10) + " ns"
}

// Table aligns the columns of rows, those for which right holds to the right. Each row is one line, with control characters escaped.
func Table(rows [][]string, right func(column int) bool) []byte {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], len(cell))
		}
	}
	var b []byte
	for _, row := range rows {
		start := len(b)
		for i, cell := range row {
			if i > 0 {
				b = append(b, "  "...)
			}
			gap := strings.Repeat(" ", width[i]-len(cell))
			if right(i) {
				cell = gap + cell
			} else {
				cell += gap
			}
			b = append(b, cell...)
		}
		b = endLine(b, start)
	}
	return b
}
