package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/ctf"
	"github.com/jalon-trace/jalon/internal/debuginfo/debuginfod"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/format"
	"github.com/jalon-trace/jalon/internal/image"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/report"
)

// reportCmd prints a recorded trace, or what its events have in common.
type reportCmd struct {
	Dir string `arg:"" help:"The directory that jalon record has made"`
	querying
	To     string `placeholder:"TIME" help:"Up to this time"`
	Format string `short:"f" enum:"text,json,csv,folded" default:"text" help:"text, json, csv (events only), folded (--flame only)"`
	Time   string `enum:"wall,start,mono" default:"wall" help:"Times in text: wall, start (seconds since the first event), mono"`

	Repair   bool     `help:"Cut off what is torn at the ends of the files of a trace whose recording was killed, so that other viewers read it too; compressed parts stay compressed. jalon itself reads it as it is"`
	State    bool     `help:"Print the state at the beginning of the recording, or at the last request: processes, threads, the program's mappings with build-ids and open files, CPUs"`
	Stat     bool     `help:"Print counts by place and by thread"`
	Hist     string   `placeholder:"EXPR" help:"Print a histogram of the values of a C expression"`
	By       string   `placeholder:"EXPR" help:"With --hist: a histogram for each value of this. With --latency: pair the events that have the same value of this, not those of a thread"`
	Latency  bool     `help:"DIR A B: print the times from events of place A to the next ones of place B in the same thread"`
	Flame    bool     `help:"Print the stacks as a tree, with their parts of the events"`
	Timeline bool     `help:"Print when threads and CPUs had events"`
	Critical int      `name:"critical-path" placeholder:"TID" help:"Print what a thread did and waited for, and for whom: needs tracepoint:sched:sched_switch and sched_waking of all processes (jalon record -a)"`
	Top      int      `default:"10" help:"Lines of lists: slowest pairs, threads; histograms of --by"`
	Places   []string `arg:"" optional:"" name:"place" help:"With --latency: the two places"`
}

// querying are the flags that select events of a trace.
type querying struct {
	Where  string   `placeholder:"EXPR" help:"Only events for which this C condition on the recorded fields holds; $$tid, $$comm, $$place, ... as in conditions of places"`
	Fields string   `placeholder:"LIST" help:"These fields or C expressions of them, in place of all fields"`
	Debug  []string `name:"debug-dir" sep:"none" help:"Name functions and lines of stacks that the recording has not: with debug files from these directories, and from the servers of DEBUGINFOD_URLS. Files are found by build-id"`
	From   string   `placeholder:"TIME" help:"From this time on: 1.5s from the beginning, -2s from the end, 15:04:05.25, @NANOSECONDS, complete (from when on no events are missing that a flight recorder has overwritten)"`
}

// whole reports whether all events are selected.
func (c *reportCmd) whole() bool { return c.Where == "" && c.From == "" && c.To == "" }

// open opens a trace and compiles the query; to is the last time, from the flag of that name.
func (q *querying) open(dir, flag, to string) (t *ctf.Trace, r *report.Reader, x report.Query, err error) {
	if t, err = ctf.Open(dir); err != nil {
		return nil, nil, x, noRecording(dir, err)
	}
	q.name(t)
	x = report.Query{Where: q.Where, Fields: q.Fields}
	if err = q.times(t, &x, flag, to); err != nil {
		return nil, nil, x, err
	}
	r, err = report.NewReader(t, x)
	return t, r, x, err
}

// times reads the limits of the time.
func (q *querying) times(t *ctf.Trace, x *report.Query, flag, to string) (err error) {
	if q.From != "" {
		if x.From, err = report.When(t, lang.TextOf("--from", q.From), nil); err != nil {
			return err
		}
	}
	if to == "" {
		return nil
	}
	end := lang.TextOf(flag, to)
	if x.To, err = report.When(t, end, nil); err != nil {
		return err
	}
	x.To = max(x.To, 1) // 0 is without a limit
	if q.From != "" && x.To < x.From {
		return end.At(end.Span, fmt.Sprintf("the time ends before it begins: --from %s is %v later", q.From, time.Duration(x.From-x.To)), "no event can be in it")
	}
	return nil
}

// name lets the stacks of a trace be named again, if there is more debug information than the recording had.
func (q *querying) name(t *ctf.Trace) {
	warn := func(text string) { fmt.Fprintf(stderr, "jalon: %s\n", text) }
	opt := dwarf.Options{DebugDirs: q.Debug, Warn: func(string) {}}
	if client := debuginfod.New(warn); client != nil {
		opt.Fetch = client.Fetch
	}
	files := image.NewFiles(opt)
	if len(q.Debug) > 0 || opt.Fetch != nil {
		t.State.Again = files.Again
	}
	t.State.Symbols = func() func(int, uint64) string { return report.Names(t, files) }
}

// notes prints what the user should know of the result.
func notes(r *report.Reader) {
	for _, n := range r.Notes() {
		fmt.Fprintf(stderr, "jalon: %s\n", n)
	}
	switch t := r.Trace; t.Ending {
	case ctf.NotEnded:
		fmt.Fprintf(stderr, "jalon: %s: the recording goes on, or was not ended in order; what is on disk is shown\n", t.Dir)
	case ctf.UnknownParts:
		fmt.Fprintf(stderr, "jalon: %s: this is one part of a recording, and what is beside it is not there: the end of the part may be missing\n", t.Dir)
	}
}

// lossNote says how many hits the trace does not have.
func lossNote(r *report.Reader) {
	if n := r.Trace.Lost(); n > 0 {
		fmt.Fprintf(stderr, "jalon: %d hits of the whole recording are not in it: there was no room in the rings (--buffer)\n", n)
	}
	s := cmp.Or(r.Trace.Summary, r.Trace.Whole)
	if s != nil && s.Overwritten {
		fmt.Fprintln(stderr, "jalon: there may be more of them: the program has overwritten the counts")
	}
	if s != nil && s.Stopped != "" {
		fmt.Fprintf(stderr, "jalon: the recording ended before the trace: %s\n", s.Stopped)
	}
}

// Run prints the report.
func (c *reportCmd) Run() error {
	if c.Latency && len(c.Places) == 2 && !isDirectory(c.Dir) && isDirectory(c.Places[1]) {
		c.Dir, c.Places = c.Places[1], []string{c.Dir, c.Places[0]}
	}
	if err := c.check(); err != nil {
		return err
	}
	if c.Repair {
		return c.repair()
	}
	t, r, q, err := c.open(c.Dir, "--to", c.To)
	if err != nil {
		return err
	}
	defer t.Close()
	if err = c.print(&reported{w: printed, t: t, r: r, q: q}); errors.Is(err, unix.EPIPE) {
		return nil // a reader such as head has enough
	}
	if err == nil {
		notes(r)
		if !c.Stat { // which prints it itself
			lossNote(r)
		}
	}
	return err
}

// repair repairs a trace and prints what was done.
func (c *reportCmd) repair() error {
	done, err := ctf.Repair(c.Dir)
	for _, text := range done {
		fmt.Fprintln(stdout, text)
	}
	if err == nil && len(done) == 0 {
		fmt.Fprintln(stdout, "nothing is torn")
	}
	return err
}

func (c *reportCmd) check() error {
	kinds := 0
	if c.Repair {
		kinds++
	}
	for _, v := range views {
		if v.asked(c) {
			kinds++
		}
	}
	switch {
	case kinds > 1:
		return usageError("one of --repair, " + viewNames() + " can be printed at once")
	case c.Latency && len(c.Places) != 2:
		return usageError("--latency needs two places: jalon report DIR --latency A B")
	case !c.Latency && len(c.Places) > 0:
		return usageError(fmt.Sprintf("unexpected argument %s", c.Places[0]))
	case c.Format == "folded" && !c.Flame:
		return usageError("-f folded is for --flame")
	case c.Format == "csv" && kinds > 0:
		return usageError("-f csv is for events")
	case c.Format == "json" && c.Timeline:
		return usageError("--timeline is text; jalon export --to perfetto is for viewers")
	case c.By != "" && c.Hist == "" && !c.Latency:
		return usageError("--by is for --hist and --latency")
	case c.Top < 0:
		return notPositive("--top", c.Top)
	case c.Critical < 0:
		return notPositive("--critical-path", c.Critical)
	case c.Fields != "" && kinds > 0:
		return usageError("--fields is for events")
	}
	return nil
}

// events prints events one by one.
func (c *reportCmd) events(w io.Writer, t *ctf.Trace, r *report.Reader) error {
	ft := &format.Trace{Unwind: r.Unwind, Symbol: r.Symbol(), WallOffset: t.Info.WallOffset, Elements: 200, Time: textTimes[c.Time]}
	var sink format.Sink
	if c.Format == "csv" {
		sink = report.NewCSV(w, r.Columns(), r.Schemas(), ft)
	} else {
		sink = format.OutputNamed(c.Format).New(w, ft)
	}
	if x, ok := sink.(format.Completer); ok {
		_ = x.CompleteFrom(r.Incomplete(), true)
	}
	err := r.Each(func(ev *event.Event) error { return sink.Event(ev) })
	if end, ok := sink.(interface{ End() error }); ok && err == nil {
		err = end.End()
	}
	if ferr := sink.Flush(); err == nil {
		err = ferr
	}
	return err
}

var textTimes = map[string]format.TimeStyle{"wall": format.WallTime, "start": format.SinceStart, "mono": format.MonotoneTime}

func isDirectory(name string) bool {
	st, err := os.Stat(name)
	return err == nil && st.IsDir()
}

// columns is the width of the terminal.
func columns() int {
	if size, err := unix.IoctlGetWinsize(int(os.Stdout.Fd()), unix.TIOCGWINSZ); err == nil && size.Col >= 60 {
		return int(size.Col)
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n >= 60 {
		return min(n, 1000)
	}
	return 120
}
