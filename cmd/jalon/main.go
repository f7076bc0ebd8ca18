// Command jalon sets tracepoints on running programs: `jalon trace PLACE if COND --collect LIST -- prog`.
// See `jalon help` and README.md.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/jalon-trace/jalon"
	"github.com/jalon-trace/jalon/internal/export"
	"github.com/jalon-trace/jalon/internal/format"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/lazyregexp"
	"github.com/jalon-trace/jalon/internal/lttng"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/sema"
)

const description = `A conditional tracer for Linux: put a tracepoint on any line or instruction of
a running program, decide its condition there in native code, and read what you
want without stopping the program.`

// cli is the command line: one field and one file for each subcommand.
type cli struct {
	Trace      traceCmd      `cmd:"" help:"Trace a program: PLACE [if COND] ... [-- PROGRAM ARGS]"`
	Run        runCmd        `cmd:"" help:"Run a script in bpftrace's language (--dry-run only checks it)"`
	Record     recordCmd     `cmd:"" help:"Record a trace to a directory, in CTF: PLACE [if COND] [-c LIST] ... -o DIR [-p PID | -- PROGRAM ARGS]"`
	Snapshot   snapshotCmd   `cmd:"" help:"Have a running jalon record --flight write its newest events: [DIR|PID]"`
	Report     reportCmd     `cmd:"" help:"Print a recorded trace: events, counts, histograms, latencies, stacks"`
	Export     exportCmd     `cmd:"" help:"Write a recorded trace for other viewers: HTML, Perfetto, Chrome, Parquet, pprof, flame graphs"`
	Merge      mergeCmd      `cmd:"" help:"Join the recorded traces of two machines, or of a host and its guest, by their clocks"`
	List       listCmd       `cmd:"" help:"List functions, lines that can be probed, variables in scope"`
	Gdbserver  gdbserverCmd  `cmd:"" help:"Serve GDB: trace and debug a program, or trace the kernel, over the remote protocol"`
	Gate       gateCmd       `cmd:"" help:"Let perf see only the hits of an event for which a condition holds"`
	Control    controlCmd    `cmd:"" help:"Print the counters of a running jalon trace --control PATH; enable and disable its tracepoints"`
	Check      checkCmd      `cmd:"" help:"Check what this machine and user may do, and show remedies"`
	Ax         axCmd         `cmd:"" help:"Show how a GDB agent expression is compiled: bytecode, IR by pass, code"`
	Completion completionCmd `cmd:"" help:"Print what bash, zsh or fish executes to complete jalon's command lines"`
	Complete   completeCmd   `cmd:"" hidden:"" help:"Print what a word of a command line can become, for the scripts of jalon completion"`
	Manual     manualCmd     `cmd:"" hidden:"" help:"Print the manual page"`
	Version    versionCmd    `cmd:"" help:"Print the version"`
}

type versionCmd struct{}

// version and revision are set by the linker: see the Makefile.
var version, revision = "development", ""

func (versionCmd) Run() error {
	fmt.Fprintln(stdout, strings.TrimSpace("jalon "+version+" "+commit()))
	return nil
}

// commit returns the commit that jalon was built from, as far as the Go tool or the linker recorded it.
func commit() string {
	if revision != "" {
		return "(commit " + revision + ")"
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	id, changed := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			id = s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = ", changed"
		}
	}
	if id == "" {
		return ""
	}
	return "(commit " + id + changed + ")"
}

// exitError is the exit status of a traced program.
type exitError struct{ status int }

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", e.status) }

// usageError is an error in the arguments of the command line.
type usageError string

func (e usageError) Error() string { return string(e) }

// init keeps this goroutine on the first thread, whose number is that of the process: probes of scripts that run in
// jalon itself see it as their thread.
func init() { runtime.LockOSThread() }

func main() {
	defer noPanic()
	collectLater()
	keepIgnored()
	args := os.Args[1:]
	if asBpftrace {
		args = append([]string{"run"}, args...)
	}
	if len(args) == 0 || args[0] != "run" {
		runtime.UnlockOSThread()
	}
	status := run(args)
	if err := printed.failed(); err != nil && status == 0 {
		status = reportError(err)
	}
	exit(status)
}

// collectLater puts the first collection of garbage off until jalon has 16 MB: most traces are armed before that. Later ones happen
// as usual.
func collectLater() {
	if _, set := os.LookupEnv("GOGC"); set {
		return
	}
	usual := debug.SetGCPercent(400)
	runtime.AddCleanup(new([16]byte), func(p int) { debug.SetGCPercent(p) }, usual)
}

// noPanic turns a defect of jalon into a message: users never see a bare Go panic.
func noPanic() {
	if r := recover(); r != nil {
		bug(r, debug.Stack())
	}
}

// bug ends jalon with a message. The kernel then detaches from the traced program.
func bug(r any, stack []byte) {
	text := strings.TrimPrefix(fmt.Sprint(r), "BUG: ")
	fmt.Fprintf(stderr, "jalon: BUG: %s\njalon: this is an error in jalon; the traced program runs on. Please report it with this text:\n%s", text, trace(stack))
	exit(70)
}

// trace removes the numbers of goroutines from a stack trace.
func trace(stack []byte) []byte {
	if first, rest, ok := bytes.Cut(stack, []byte("\n")); ok && bytes.HasPrefix(first, []byte("goroutine ")) {
		stack = rest
	}
	return inGoroutine.ReplaceAll(stack, nil)
}

var inGoroutine = lazyregexp.New(`(?m) in goroutine \d+$`)

func run(args []string) int {
	if len(args) > 0 && args[0] == "gdbserver" {
		return gdbserver(args[1:])
	}
	args, program := splitProgram(withoutAlias(args))
	var c cli
	c.Record.program, c.Trace.program, c.Gate.program, c.Run.after, c.List.program = program, program, program, program, program
	given, err := readSettings()
	if err != nil {
		return reportError(err)
	}
	parser, err := newParser(&c, args, kong.Resolvers(given), kong.Name("jalon"), kong.Writers(stdout, stderr),
		kong.Description(description), kong.UsageOnError(), kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err != nil {
		panic("BUG: command line definition: " + err.Error())
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	if text := guessCommand(args); text != "" {
		return reportError(usageError(text))
	}
	switch args[0] {
	case "record":
		c.Record.lists = listsOfPlaces(parser.Model, args)
	case "trace":
		c.Trace.lists = listsOfPlaces(parser.Model, args)
	}
	if text := guessPids(args); text != "" && (args[0] == "trace" || args[0] == "record") {
		return reportError(usageError(text))
	}
	if asBpftrace && (slices.Contains(args, "-h") || slices.Contains(args, "--help")) {
		fmt.Fprint(stdout, bpftraceUsage)
	}
	ctx, err := parser.Parse(flagsFirst(parser.Model, args))
	if err != nil {
		if text := guessPid(args); text != "" {
			return reportError(usageError(text))
		}
		if text := otherFlag(args, err); text != "" && !asBpftrace {
			return reportError(usageError(text))
		}
		if text := otherArguments(args, err); text != "" && !asBpftrace {
			return reportError(usageError(text))
		}
		if asBpftrace {
			fmt.Fprintf(stderr, "ERROR: %s\n%s", bpftraceWords(err.Error()), bpftraceUsage)
			return 1
		}
		fmt.Fprintf(stderr, "jalon: %v\n", err)
		return 2
	}
	return reportError(ctx.Run())
}

// splitProgram splits the command line at "--"; the program to start follows it.
func splitProgram(args []string) (ours, program []string) {
	for i, a := range args {
		if a == "--" {
			return args[:i], args[i+1:]
		}
	}
	return args, nil
}

// isDiagnostic reports whether an error is an error in the user's text, with its own position and message.
func isDiagnostic(err error) bool {
	var d *jalon.Diagnostic
	var inner *lang.Diagnostic // of commands that do not use package jalon
	return errors.As(err, &d) || errors.As(err, &inner)
}

// reportError prints an error by its kind and returns the exit status. Diagnostics are printed as they are,
// other errors with the prefix "jalon:".
func reportError(err error) int {
	if err == nil {
		return 0
	}
	var exit exitError
	if errors.As(err, &exit) {
		return exit.status
	}
	var usage usageError
	if errors.As(err, &usage) {
		fmt.Fprintf(stderr, "jalon: %v (jalon --help says more)\n", err)
		return 2
	}
	if isDiagnostic(err) {
		printDiagnostic(err.Error())
		return 2
	}
	fmt.Fprintf(stderr, "jalon: %v\n", err)
	return 1
}

// helpVariables are the parts of the help that are made from tables.
var helpVariables = map[string]func() string{
	"builtins":    sema.Help,
	"places":      probe.Help,
	"control":     func() string { return requests },
	"formats":     func() string { names, _ := format.OutputHelp(); return names },
	"formatHelp":  func() string { _, help := format.OutputHelp(); return help },
	"format":      func() string { return format.Outputs()[0].Name },
	"sets":        func() string { return strings.Join(lttng.Names(), ",") },
	"exports":     func() string { names, _ := export.Names(); return names },
	"exportsHelp": func() string { _, help := export.Names(); return help },
}
