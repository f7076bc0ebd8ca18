package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/kong"

	"github.com/jalon-trace/jalon"
)

// recordCmd records a trace: as traceCmd, but that each place has the lists of -c behind it, and that the events go to a directory.
type recordCmd struct {
	tracingFlags `embed:""`
	Dir          string        `short:"o" name:"output" placeholder:"DIR" help:"Directory of the trace, which must not exist (default jalon-DATE-TIME). babeltrace2 DIR prints it"`
	Size         string        `placeholder:"SIZE" help:"Begin a new part of the trace when the present one has this size (k, M, G): DIR is a directory of traces then"`
	Rotate       time.Duration `placeholder:"TIME" help:"Begin a new part of the trace after this time (10m)"`
	Keep         int           `help:"Keep this number of parts: the oldest are removed, also when the disk is full"`
	Compress     bool          `help:"Compress the parts that are complete (zstd); jalon reads them, other viewers do not"`

	program []string
	lists   []placeLists
}

// placeLists are the lists of -c for a place.
type placeLists struct {
	place string
	lists []string
}

// listsOfPlaces assigns the lists on a command line to its places: a list is for the place before it, and the places before that which
// have none; one before all places is for all. So "A -c x B -c y" collects x at A, and "A B -c x" at both.
func listsOfPlaces(app *kong.Application, args []string) (out []placeLists) {
	known := app.Flags
	for _, n := range app.Children {
		if n.Name == args[0] {
			known = append(known[:len(known):len(known)], n.Flags...)
		}
	}
	var all []string
	last := ""
	open := 0 // the first place that a list is for
	for list := args[1:]; len(list) > 0; {
		n := flagLen(known, list)
		if n == 0 {
			if last == "list" {
				open = len(out)
			}
			out, last = append(out, placeLists{list[0], nil}), "place"
			list = list[1:]
			continue
		}
		if text, ok := collectFlag(list[:n]); ok {
			for i := open; i < len(out); i++ {
				out[i].lists = append(out[i].lists, text)
			}
			if len(out) == 0 {
				all = append(all, text)
			} else {
				last = "list"
			}
		}
		list = list[n:]
	}
	for i := range out {
		out[i].lists = append(all[:len(all):len(all)], out[i].lists...)
	}
	return out
}

// collectFlag returns the value of -c.
func collectFlag(flag []string) (string, bool) {
	for _, name := range []string{"-c", "--collect"} {
		if flag[0] == name && len(flag) == 2 {
			return flag[1], true
		}
	}
	if text, ok := strings.CutPrefix(flag[0], "--collect="); ok {
		return text, true
	}
	if strings.HasPrefix(flag[0], "--") {
		return "", false
	}
	return strings.CutPrefix(flag[0], "-c")
}

// Run records.
func (c *recordCmd) Run() error {
	t := &traceCmd{tracingFlags: c.tracingFlags, program: c.program}
	if len(c.program) > 0 && c.Pid != 0 {
		return usageError("name a program to start after --, or a process with -p PID, not both")
	}
	if text := guessPlaces(c.Places, c.program, c.Pid); text != "" {
		return usageError(text)
	}
	if c.Clock == "none" {
		return usageError("a recording needs times: --clock tsc or coarse")
	}
	tps, err := c.tracepoints(t)
	if err != nil {
		return err
	}
	if err := t.refuseProgramPlaces(tps); err != nil {
		return err
	}
	t.hintsBefore(tps)
	opt, err := t.options(tps)
	if err != nil {
		return err
	}
	rec, err := c.recording(t)
	if err != nil {
		return err
	}
	opt.Output = rec
	t.progress = newProgress()
	opt.Progress = func(what string, done, of int) {
		if !c.Quiet {
			t.progress.step(what, done, of)
		}
	}
	end := newEnding()
	defer end.stop()
	end.passed, opt.OnArmed = t.remind, end.armed.Store
	trace, err := jalon.Start(end.ctx, t.target(), opt)
	t.progress.wipe()
	if err != nil {
		rec.Discard()
		return err
	}
	boundMemory()
	return c.follow(t, trace, rec)
}

// follow waits for the end of a recording and prints its result.
func (c *recordCmd) follow(t *traceCmd, trace *jalon.Trace, rec *jalon.Recording) error {
	defer func() { _ = trace.Close() }()
	stop := c.showStatus(rec)
	res, err := trace.Wait()
	stop()
	if res != nil {
		res.Printed = 0 // they were recorded
	}
	t.runsOn(trace)
	if ferr := rec.Finish(res); ferr != nil {
		err = ferr // if the trace ended because of it, it has the number of events too
	}
	if err == nil {
		err = t.finish(res)
	} else if !c.Quiet {
		fmt.Fprint(stderr, res.Text())
	}
	if !c.Quiet && !c.JSONSum {
		st := rec.Status()
		fmt.Fprintf(stderr, "jalon: %s: %d events, %s%s\n", rec.Dir(), st.Events, bytesText(st.Bytes), lossText(&st))
	}
	return err
}

func (c *recordCmd) tracepoints(t *traceCmd) (tps []jalon.Tracepoint, err error) {
	if len(c.lists) != len(c.Places) { // not from the command line
		t.Collect = c.Collect
		return t.tracepoints()
	}
	var bad []error
	for _, p := range c.lists {
		list, err := jalon.Parse(t.atReturns([]string{p.place}), p.lists)
		if err != nil {
			bad = append(bad, err)
		}
		tps = append(tps, list...)
	}
	if len(bad) > 0 {
		return nil, bad[0]
	}
	for _, name := range c.File {
		list, warnings, err := jalon.ReadFile(name)
		if err != nil {
			return nil, err
		}
		for _, w := range warnings {
			t.warn(w)
		}
		tps = append(tps, list...)
	}
	if len(tps) == 0 {
		return nil, usageError("no place to record was given: PLACE [if COND], or -x FILE")
	}
	return tps, nil
}

func (c *recordCmd) recording(t *traceCmd) (*jalon.Recording, error) {
	dir := c.Dir
	if dir == "" {
		dir = "jalon-" + time.Now().Format("20060102-150405")
	}
	opt := jalon.RecordOptions{Rotate: c.Rotate, Keep: c.Keep, Compress: c.Compress, Version: version, Command: c.program, Pid: c.Pid, Args: os.Args[1:], Warn: t.warn}
	if c.Size != "" {
		n, err := parseSize(c.Size)
		if err != nil {
			return nil, fmt.Errorf("--size: %w", err)
		}
		opt.Size = int64(n)
	}
	if c.Keep > 0 && opt.Size == 0 && opt.Rotate == 0 {
		return nil, usageError("--keep needs parts: --size SIZE or --rotate TIME")
	}
	if c.Keep == 1 {
		return nil, usageError("--keep 1 would keep only the part that is being written; keep two or more")
	}
	rec, err := jalon.Record(dir, opt)
	if errors.Is(err, os.ErrExist) {
		return nil, usageError(err.Error())
	}
	return rec, err
}

// statusEvery is how often the status line is shown on a terminal.
const statusEvery = time.Second

// showStatus shows a line on a terminal: events, size, losses.
func (c *recordCmd) showStatus(rec *jalon.Recording) (stop func()) {
	if c.Quiet || !isTerminal(os.Stderr) {
		return func() {}
	}
	done := make(chan struct{})
	var ended sync.WaitGroup
	ended.Add(1)
	go func() {
		defer ended.Done()
		tick := time.NewTicker(statusEvery)
		defer tick.Stop()
		began := time.Now()
		var last jalon.RecordStatus
		for {
			select {
			case <-done:
				fmt.Fprint(messages, "\r\x1b[K")
				return
			case <-tick.C:
			}
			st := rec.Status()
			left := ""
			if c.Duration > 0 {
				left = fmt.Sprintf(", %v left", max(0, c.Duration-time.Since(began)).Round(time.Second))
			}
			fmt.Fprintf(messages, "\r\x1b[Kjalon: %d events (%d/s), %s (%s/s)%s%s", st.Events, st.Events-last.Events, bytesText(st.Bytes), bytesText(st.Bytes-last.Bytes), lossText(&st), left)
			last = st
		}
	}()
	return func() { close(done); ended.Wait() }
}

func lossText(st *jalon.RecordStatus) string {
	if st.Lost == 0 {
		return ""
	}
	return fmt.Sprintf(", %d lost", st.Lost)
}

func bytesText(n int64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
