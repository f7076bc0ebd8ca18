package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/jalon-trace/jalon"
	"github.com/jalon-trace/jalon/internal/bounded"
	"github.com/jalon-trace/jalon/internal/openfile"
)

// Where a trace writes, and how it ends.

// open returns the writer for the events, and what closes it. A trace that does not start leaves an existing file as it is.
func (c *traceCmd) open() (io.Writer, func(started bool) error, error) {
	if c.Output == "" || c.Output == "-" {
		w := bounded.Reopen(os.Stdout)
		if len(c.program) > 0 { // which may write to the same pipe
			return bounded.WholeLines(w), func(bool) error { return nil }, nil
		}
		return w, func(bool) error { return nil }, nil
	}
	h, err := openfile.Hold(c.Output)
	if err != nil {
		return nil, nil, err
	}
	if w := bounded.Reopen(h.File()); w != h.File() {
		_ = h.Leave()
		return w, func(bool) error { return w.Close() }, nil
	}
	return h, func(started bool) error {
		if started {
			return h.Close()
		}
		return h.Leave()
	}, nil
}

func (c *traceCmd) output(w io.Writer) (jalon.Output, error) {
	times := map[string]jalon.TimeStyle{"wall": jalon.WallTime, "start": jalon.SinceStart, "mono": jalon.Monotonic}
	return jalon.Format(c.Format, w, jalon.TextOptions{
		Time: times[c.Time], Nanoseconds: c.Nanos, Elements: c.Elements,
		Colour: coloured(c.Colour, c.Output == "" && isTerminal(os.Stdout)),
	})
}

func (c *traceCmd) warn(msg string) {
	if !c.Quiet {
		c.progress.wipe()
		fmt.Fprintln(stderr, "jalon: "+strings.TrimPrefix(msg, "warning: "))
	}
}

// finish prints the summary and returns how the program ended.
func (c *traceCmd) finish(res *jalon.Result) error {
	if c.Format == "none" {
		res.Printed = 0
	}
	c.progress.wipe()
	if c.Top > 0 {
		res.Printed = min(res.Printed, uint64(c.Top))
		c.warnSlowest(res)
	}
	w := bufio.NewWriter(stderr)
	switch {
	case c.JSONSum:
		_ = json.NewEncoder(w).Encode(shortSummary(res))
	case !c.Quiet:
		fmt.Fprint(w, res.Text())
	}
	if err := w.Flush(); err != nil {
		return err
	}
	c.hintsAfter(res)
	return statusError(res)
}

// shortSummary returns the content of --summary-json.
func shortSummary(res *jalon.Result) map[string]any {
	m := map[string]any{
		"armed_ms":       float64(res.ToArmed.Microseconds()) / 1000,
		"pause_us":       float64(res.Pause.Nanoseconds()) / 1000,
		"armed_pause_us": float64(res.PauseToArmed.Nanoseconds()) / 1000, "longest_pause_us": float64(res.LongestPause.Nanoseconds()) / 1000,
		"sites": res.Armed, "outcome": res.Outcome,
	}
	var hits, recorded, computed, no, faults, lost, replaced, missed, unpaired, left uint64
	for i := range res.Sites {
		s := &res.Sites[i]
		hits += s.Hits()
		recorded += s.Recorded
		computed += s.Computed
		no += s.False
		faults += s.Faults
		lost += s.Lost
		replaced += s.Replaced
		missed += s.Missed
		unpaired, left = unpaired+s.Unpaired, left+s.Left
	}
	m["hits"], m["recorded"], m["false"], m["faults"], m["lost"] = hits, recorded, no, faults, lost
	if computed > 0 {
		m["computed"] = computed
	}
	if replaced+res.TornParts > 0 {
		m["replaced"], m["torn_parts"] = replaced, res.TornParts
	}
	if res.CompleteFrom > 0 {
		m["complete_from"] = res.CompleteFrom
	}
	if res.Waits > 0 {
		m["waits"] = res.Waits
	}
	m["torn"], m["missed"], m["unshown"], m["printed"], m["late"] = res.Torn, missed, res.Unshown, res.Printed, res.Late
	if len(res.Variables) > 0 {
		values := map[string]int64{}
		for _, v := range res.Variables {
			values[v.Name] = v.Value
		}
		m["variables"], m["failed"] = values, res.Failed
	}
	if unpaired+left > 0 {
		m["unpaired"], m["left"] = unpaired, left
	}
	return m
}

// statusError makes jalon end with the status of the program that it started.
func statusError(res *jalon.Result) error {
	switch {
	case !res.Ended:
		return nil
	case res.Signal != 0:
		return exitError{128 + int(res.Signal)}
	case res.ExitCode != 0:
		return exitError{res.ExitCode}
	}
	return nil
}
