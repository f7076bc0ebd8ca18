package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon"
	"github.com/jalon-trace/jalon/internal/bounded"
	"github.com/jalon-trace/jalon/internal/ring"
)

// recordCmd records a trace: as traceCmd, but the events go to a directory.
type recordCmd struct {
	tracingFlags `embed:""`
	Dir          string        `short:"o" name:"output" placeholder:"DIR" help:"Directory of the trace, which must not exist (default jalon-DATE-TIME). babeltrace2 DIR prints it"`
	Size         string        `placeholder:"SIZE" help:"Begin a new part of the trace when the present one has this size (k, M, G): DIR is a directory of traces then"`
	Rotate       time.Duration `placeholder:"TIME" help:"Begin a new part of the trace after this time (10m)"`
	Keep         int           `help:"Keep this number of parts: the oldest are removed, also when the disk is full"`
	Compress     bool          `help:"Compress the parts that are complete (zstd); jalon reads them, other viewers do not"`
	CTF          string        `name:"ctf" enum:"1.8,2" default:"1.8" help:"The version of CTF that the metadata have: babeltrace2 reads 2 from its version 2.1 on. The packets are the same in both"`

	Flight string   `placeholder:"SIZE" help:"Flight recorder: keep the newest events in buffers of this size for each CPU (up to 256M), in memory. They are written, each time as a part of DIR, when jalon gets SIGUSR1, at --snapshot-on, and when the trace or the program ends, also by a crash"`
	Redact []string `sep:"none" placeholder:"FIELD|/REGEXP/" help:"Take something out before it reaches the disk: values of fields and members of this name (pass*, req->key), or what matches in texts: strings, names of threads, paths, command lines"`
	Live   bool     `help:"Print the events while they are recorded, in the order of time, as jalon trace does. Recording does not wait for it: what comes too fast is recorded only, and counted"`
	Set    []string `enum:"${sets}" placeholder:"SET,..." help:"Record sets of places, in addition to those that are named: ${sets}; kernel events have LTTng's names and fields for viewers. 'jalon list --set' prints what is in them"`

	SnapshotOn []string `name:"snapshot-on" sep:"none" placeholder:"'PLACE if COND'" help:"With --flight: write the newest events when this place is hit and the condition holds"`

	program []string
}

// Run records.
func (c *recordCmd) Run() error {
	flight := c.Flight != "" || c.OnFull == "overwrite"
	if err := c.checkFlags(flight); err != nil {
		return err
	}
	t := &traceCmd{tracingFlags: c.tracingFlags, program: c.program}
	tps, triggers, err := c.places(t)
	if err != nil {
		return err
	}
	t.hintsBefore(tps)
	opt, err := t.options(tps)
	if err != nil {
		return err
	}
	rec, err := c.recording(t, flight)
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
	end.passed, opt.OnArmed = t.remind, t.armed(end)
	asked := askedFor()
	server, err := listenForSnapshots()
	if err != nil && flight {
		t.warn(fmt.Sprintf("jalon snapshot will not find this recording: %v; SIGUSR1 takes a snapshot", err))
	}
	if server != nil {
		defer server.close()
	}
	trace, err := jalon.Start(end.ctx, t.target(), opt)
	t.progress.wipe()
	if err != nil {
		rec.Discard()
		return err
	}
	boundMemory()
	if server != nil {
		server.start(trace, rec, c.program, c.Pid, flight)
	}
	defer c.requests(t, trace, rec, asked, flight, triggers)()
	return c.follow(t, trace, rec)
}

// checkFlags refuses flags that do not go together, and gives --flight its buffers.
func (c *recordCmd) checkFlags(flight bool) error {
	if len(c.program) > 0 && c.Pid != 0 {
		return usageError("name a program to start after --, or a process with -p PID, not both")
	}
	if text := guessPlaces("record -o DIR", c.Places, c.program, c.Pid); text != "" {
		return usageError(text)
	}
	if c.Clock == "none" {
		return usageError("a recording needs times: --clock tsc or coarse")
	}
	if err := c.checkSizes(); err != nil {
		return err
	}
	switch {
	case c.Live && flight:
		return usageError("--live prints what is recorded; a flight recorder keeps its events in memory")
	case len(c.SnapshotOn) > 0 && !flight:
		return usageError("--snapshot-on needs --flight SIZE")
	case c.Flight != "" && c.OnFull == "drop":
		c.Buffer, c.OnFull = c.Flight, "overwrite"
	case c.Flight != "" && c.OnFull == "overwrite":
		c.Buffer = c.Flight
	case c.Flight != "":
		return usageError("--flight keeps the newest events: no hit waits")
	case flight && (c.Size != "" || c.Rotate != 0):
		return usageError("with --flight each snapshot is a part: not --size or --rotate too")
	}
	return nil
}

// places are the tracepoints that are recorded, and those of --snapshot-on, which begin at triggers.
func (c *recordCmd) places(t *traceCmd) (tps []jalon.Tracepoint, triggers int, err error) {
	if tps, err = c.tracepoints(t); err != nil {
		return nil, 0, err
	}
	if err := t.refuseProgramPlaces(tps); err != nil {
		return nil, 0, err
	}
	triggers = len(tps)
	if len(c.SnapshotOn) == 0 {
		return tps, triggers, nil
	}
	on, err := jalon.Parse(t.atReturns(c.SnapshotOn), nil)
	return append(tps, on...), triggers, err
}

// maxPart is the largest part of a trace.
const maxPart = 1 << 40

// checkSizes refuses sizes, times and numbers that mean nothing, by the names of their flags.
func (c *recordCmd) checkSizes() error {
	switch {
	case c.Rotate < 0:
		return notPositive("--rotate", c.Rotate)
	case c.Keep < 0:
		return notPositive("--keep", c.Keep)
	case c.Flight != "":
		_, err := sizeOf("--flight", c.Flight, ring.MaxOverwrite)
		return err
	}
	return nil
}

// tracepoints are those of the command line and those of sets.
func (c *recordCmd) tracepoints(t *traceCmd) (tps []jalon.Tracepoint, err error) {
	if len(c.Places)+len(c.File) > 0 || len(c.Set) == 0 {
		if tps, err = t.tracepoints(); err != nil {
			return nil, err
		}
	}
	if !c.All && !t.noProcess() && (slices.Contains(c.Set, "core") || slices.Contains(c.Set, "sched")) {
		t.warn("switches to the program's threads happen in others and are not recorded; viewers need them: --all records all threads")
	}
	more, err := setPlaces(c.Set, t.warn)
	return append(tps, more...), err
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
		if st.Unshown > 0 {
			fmt.Fprintf(stderr, "jalon: %d events came too fast to be printed; they are recorded\n", st.Unshown)
		}
	}
	return err
}

func (c *recordCmd) recording(t *traceCmd, flight bool) (*jalon.Recording, error) {
	dir := c.Dir
	if dir == "" {
		dir = "jalon-" + time.Now().Format("20060102-150405")
	}
	opt := jalon.RecordOptions{Flight: flight, Rotate: c.Rotate, Keep: c.Keep, Compress: c.Compress, CTF2: c.CTF == "2", Version: version, Command: c.program, Pid: c.Pid, Args: os.Args[1:], LTTng: ofKernel(c.Set), Redact: c.Redact, Warn: t.warn}
	if c.Live {
		opt.Live = jalon.Text(bounded.Reopen(os.Stdout), jalon.TextOptions{Elements: c.Elements, Colour: coloured("auto", isTerminal(os.Stdout))})
	}
	if c.Size != "" {
		n, err := sizeOf("--size", c.Size, maxPart)
		if err != nil {
			return nil, err
		}
		opt.Size = int64(n)
	}
	if c.Keep > 0 && opt.Size == 0 && opt.Rotate == 0 && !flight {
		return nil, usageError("--keep needs parts: --size SIZE or --rotate TIME")
	}
	if c.Keep == 1 {
		return nil, usageError("--keep 1 would keep only the part that is being written; keep two or more")
	}
	rec, err := jalon.Record(dir, opt)
	if err != nil && strings.HasPrefix(err.Error(), "--redact") {
		return nil, usageError(err.Error())
	}
	if errors.Is(err, os.ErrExist) {
		return nil, usageError(err.Error())
	}
	return rec, err
}

// statusEvery is how often the status line is shown on a terminal.
const statusEvery = time.Second

// showStatus shows a line on a terminal: events, size, losses.
func (c *recordCmd) showStatus(rec *jalon.Recording) (stop func()) {
	if c.Quiet || !isTerminal(os.Stderr) || c.Live && isTerminal(os.Stdout) {
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
			left += diskLeft(rec.Dir(), st.Bytes-last.Bytes)
			fmt.Fprintf(messages, "\r\x1b[Kjalon: %d events (%d/s), %s (%s/s)%s%s", st.Events, st.Events-last.Events, bytesText(st.Bytes), bytesText(st.Bytes-last.Bytes), lossText(&st), left)
			last = st
		}
	}()
	return func() { close(done); ended.Wait() }
}

// soonFull is when the status line begins to say how long the disk lasts.
const soonFull = 24 * time.Hour

// diskLeft is how long the disk has room at a rate of bytes in a second.
func diskLeft(dir string, rate int64) string {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || rate <= 0 {
		return ""
	}
	seconds := float64(fs.Bavail) * float64(fs.Bsize) / float64(rate)
	if seconds > soonFull.Seconds() {
		return ""
	}
	return fmt.Sprintf(", disk full in %v", time.Duration(seconds)*time.Second)
}

func lossText(st *jalon.RecordStatus) string {
	switch {
	case st.Overwritten:
		return fmt.Sprintf(", %d lost or more: the program has overwritten the count", st.Lost)
	case st.Lost == 0:
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
