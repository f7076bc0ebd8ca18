package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon"
)

// started is the start time of jalon, for the time from start to armed.
var started = time.Now()

// tracingFlags are those of commands that trace: what, and how.
type tracingFlags struct {
	Places   []string      `arg:"" optional:"" name:"place" help:"PLACE [if COND], each one argument: 'main.c:9 if (i > 3)'; names may be globs; 'jalon list --kinds' explains the places: ${places}"`
	Pid      int           `short:"p" help:"Trace a running process instead of starting one"`
	Collect  []string      `short:"c" sep:"none" help:"What to collect at each hit: expressions separated by commas; EXPR/FMT as in GDB; p@n; words and functions (docs/builtins.md): ${builtins}. Default: the arguments at a function ($args), the value at its return ($retval), the arguments of a raw tracepoint, the kernel's record of a static tracepoint. A list is for the place before it and those before that which have none; one before all places is for all"`
	All      bool          `short:"a" help:"Trace all processes; places in programs become uprobes of the kernel engine. With -- or -p the trace ends when that program ends"`
	Engine   string        `enum:"auto,process,kernel" default:"auto" help:"Where places in a program run: in the process, or by a uprobe of the kernel where no jump fits (auto); in the process only (process: an int3 where no jump fits, which stops the thread at each hit); by uprobes only (kernel)"`
	Cgroup   string        `help:"Kernel engine: only processes of this cgroup (a directory of cgroup2, without those below it)"`
	Vmlinux  string        `help:"Kernel engine: file with the kernel's debug information, for lines and local variables of the kernel"`
	Force    bool          `help:"Kernel engine: also arm a uprobe at an address that is not proved to be the start of an instruction, and a uretprobe that endangers the program"`
	File     []string      `short:"x" name:"file" sep:"none" help:"Read tracepoints from a file as GDB's 'save tracepoints' writes it"`
	Duration time.Duration `short:"d" help:"End after this time (10s, 500ms); the program continues"`
	Strlen   int           `default:"200" help:"Maximum bytes of a string"`
	Elements int           `default:"200" help:"Maximum elements of p@n if n is known only at the hit; maximum elements of an array to print"`
	Stack    string        `default:"walk" placeholder:"FORM" help:"Stacks of $bt: walk[:FRAMES] follows them at the hit (64 frames), copy[:BYTES] copies the stack and follows it later (8192 bytes), as places that only the kernel serves do in processes whose code it has no tables of; fp[:FRAMES]: $ubt at places in the kernel follows frame pointers, which is faster, and wrong for code without them"`
	Buffer   string        `default:"4M" help:"Ring buffer of each CPU (k, M, G)"`
	Pending  bool          `help:"Accept a place that is not found yet; it may be in a library loaded later"`
	Debug    []string      `name:"debug-dir" sep:"none" help:"Directories of separate debug files (default /usr/lib/debug)"`
	Quiet    bool          `short:"q" help:"No summary, no warnings"`
	Verbose  bool          `short:"v" help:"Report the steps"`
	JSONSum  bool          `name:"summary-json" help:"Summary as one line of JSON on standard error"`
	OnFull   string        `name:"on-full" default:"drop" placeholder:"WHAT" help:"What becomes of a hit in a program whose buffer is full: it is lost and counted (drop); it replaces the oldest events (overwrite); it waits until there is room, for as long as jalon reads the buffer (wait, or wait:TIME): no longer than TIME, 1s, behind the last time when something was read. Hits in the kernel never wait"`
	Clock    string        `enum:"tsc,coarse,none" default:"tsc" help:"Where the times of hits in the process come from: the time stamp counter, which is most of what a record costs; a page that jalon writes the time to every millisecond (coarse: times are too early by up to what the summary reports); no times (none)"`

	lists []placeLists // each place with the lists of -c behind it
}

type traceCmd struct {
	tracingFlags `embed:""`
	NoFollow     bool   `help:"Trace places of the kernel in the program only. Default: also in the processes that it starts, and their descendants"`
	Took         bool   `short:"T" name:"elapsed" help:"Without -c, returns of functions also show the time of the call: $elapsed, in nanoseconds"`
	Cost         bool   `help:"Kernel engine: measure the time of the hits (by bpf_stats, which takes some time itself)"`
	Format       string `short:"f" enum:"${formats}" default:"${format}" help:"Output format: ${formatHelp}"`
	Output       string `short:"o" help:"Write the events to a file instead of standard output"`
	Time         string `enum:"wall,start,mono" default:"wall" help:"Times in text: wall clock, seconds since the first event, CLOCK_MONOTONIC"`
	Nanos        bool   `name:"ns" help:"Times in text with nanoseconds (default microseconds)"`
	Colour       string `enum:"auto,always,never" default:"auto" help:"Colours in text: on a terminal, unless NO_COLOR is set (auto), always, never"`
	Max          uint64 `short:"n" help:"End after this number of events; the program continues"`
	Overwrite    bool   `help:"Keep the newest events (flight recorder): where a buffer is full, its oldest part is overwritten. They are printed at the end, and when jalon gets SIGUSR1."`
	Control      string `placeholder:"PATH" help:"Create a socket at PATH for requests of jalon control while the trace runs: ${control}"`
	DumpIR       bool   `name:"dump-ir" help:"Show the hit programs"`
	DumpCode     bool   `name:"dump-code" help:"Show their machine code"`
	NoOpt        bool   `name:"no-optimise" hidden:"" help:"Do not run the optimiser"`
	Avoid        uint8  `hidden:"" help:"Tactics to avoid, as bits"`

	Do             string `name:"do" sep:"none" placeholder:"STATEMENTS" help:"Execute statements of bpftrace's language at each hit for which the condition holds, in place of recording: '@[name] = count();' (docs/bpftrace-language.md); variables of the program by their names"`
	aggregateFlags `embed:"" group:"Computed at the hits"`

	program  []string
	wanted   chan os.Signal // a snapshot, of buffers that are overwritten
	progress *progress
}

// Run traces.
func (c *traceCmd) Run() error {
	if len(c.program) > 0 && c.Pid != 0 {
		return usageError("name a program to start after --, or a process with -p PID, not both")
	}
	if text := guessPlaces("trace", c.Places, c.program, c.Pid); text != "" {
		return usageError(text)
	}
	if text := guessLists(c.Collect); text != "" {
		return usageError(text)
	}
	if c.Do != "" {
		return c.do()
	}
	tps, err := c.tracepoints()
	if err != nil {
		return err
	}
	if err := c.refuseProgramPlaces(tps); err != nil {
		return err
	}
	c.hintsBefore(tps)
	out, closeOut, err := c.open()
	if err != nil {
		return err
	}
	opt, err := c.options(tps)
	if err != nil {
		return err
	}
	opt.Kernel.NoFollow = c.NoFollow
	opt.Own, opt.Elapsed = c.Format != "none" && !c.Overwrite, c.Took
	if opt.Output, err = c.output(out); err != nil {
		return err
	}
	if opt.Aggregate, err = c.aggregate(); err != nil {
		return err
	}
	if c.Overwrite {
		c.wanted = askedFor()
	}
	c.progress = newProgress()
	opt.Progress = func(what string, done, of int) {
		if of >= manySites && done%512 == 0 {
			paceGarbage()
		}
		if !c.Quiet {
			c.progress.step(what, done, of)
		}
	}
	end := newEnding()
	defer end.stop()
	end.passed, opt.OnArmed = c.remind, c.armed(end)
	var ctl *controller
	if c.Control != "" {
		if ctl, err = listen(c.Control); err != nil {
			return err
		}
		defer ctl.close()
	}
	t, err := jalon.Start(end.ctx, c.target(), opt)
	started := err == nil
	c.progress.wipe()
	if started {
		boundMemory()
		err = c.follow(t, end, ctl, out)
	} else {
		err = explained(err, c.Places)
	}
	if cerr := closeOut(started); err == nil {
		err = cerr
	}
	return err
}

// armed returns what is done when the tracepoints are armed. A program that jalon starts does not run before; otherwise
// the user sees from when on hits count.
func (c *traceCmd) armed(end *ending) func(*jalon.Trace) {
	return func(t *jalon.Trace) {
		end.armed.Store(t)
		if len(c.program) == 0 && !c.JSONSum {
			c.warn("armed")
		}
	}
}

// follow waits for the end of a trace and prints its result.
func (c *traceCmd) follow(t *jalon.Trace, end *ending, ctl *controller, out io.Writer) error {
	defer func() { _ = t.Close() }()
	if ctl != nil {
		ctl.start(t)
	}
	if c.wanted != nil {
		defer c.snapshots(t)()
	}
	res, err := t.Wait()
	c.runsOn(t)
	if errors.Is(err, unix.EPIPE) { // the reader of the output has closed it
		err = nil
	}
	if err != nil {
		return err
	}
	failed := c.writeMaps(out, res)
	if err := c.finish(res); failed == nil {
		return err
	}
	return failed
}

// noProcess reports whether the whole system is traced, not one process.
func (c *traceCmd) noProcess() bool { return len(c.program) == 0 && c.Pid == 0 }

// refuseProgramPlaces refuses places in programs if no program is given.
func (c *traceCmd) refuseProgramPlaces(tps []jalon.Tracepoint) error {
	if !c.noProcess() || c.All || c.Engine == "kernel" {
		return nil
	}
	for i := range tps {
		where, err := tps[i].Where()
		if err != nil {
			return err
		}
		if where == jalon.InKernel || c.Vmlinux != "" && where == jalon.InSource {
			continue
		}
		also := ""
		if where == jalon.InSource {
			also = "; for a line of the kernel, the file with its debug information: --vmlinux PATH"
		}
		if last := tps[len(tps)-1].Place; i == 0 && len(tps) > 1 && kindOfFile("./"+last) == aProgram {
			also += fmt.Sprintf("; ./%s is a program: jalon trace %s -- ./%[1]s", last, placesBefore(c.Places[:len(c.Places)-1]))
		}
		if means := meaningOf(tps[i].Place); means != "" {
			also += "; " + means
		} else if _, err := exec.LookPath(tps[i].Place); err == nil {
			also += fmt.Sprintf("; to trace the program %s: jalon trace FUNCTION -- %[1]s, its system calls: jalon trace 'syscall:*' -- %[1]s", tps[i].Place)
		}
		return usageError(fmt.Sprintf("%s is a place in a program: add -- PROGRAM, -p PID, or --all for every process%s", tps[i].Place, also))
	}
	return nil
}

func (c *traceCmd) tracepoints() ([]jalon.Tracepoint, error) {
	tps, err := parsePlaces(c.atReturns(c.Places), c.lists, c.Collect)
	if err != nil {
		return nil, err
	}
	for _, name := range c.File {
		list, warnings, err := jalon.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) && functionName.MatchString(name) {
			return nil, usageError(fmt.Sprintf("there is no file %s of GDB's tracepoints (-x); a function is an argument without a flag: jalon trace %[1]s", name))
		}
		if err != nil {
			return nil, err
		}
		for _, w := range warnings {
			c.warn(w)
		}
		tps = append(tps, list...)
	}
	if len(tps) == 0 {
		of := "-- PROGRAM"
		switch {
		case c.Pid != 0:
			of = fmt.Sprintf("-p %d", c.Pid)
		case len(c.program) > 0:
			of = "-- " + strings.Join(c.program, " ")
		}
		return nil, usageError(fmt.Sprintf("no place to trace was given: a function, FUNCTION %s, or system calls, 'syscall:*' %[1]s; also -x FILE", of))
	}
	return tps, nil
}

func (c *traceCmd) target() jalon.Target {
	switch {
	case len(c.program) > 0:
		return jalon.Command(c.program...)
	case c.Pid != 0:
		return jalon.Attach(c.Pid)
	}
	return jalon.System()
}
