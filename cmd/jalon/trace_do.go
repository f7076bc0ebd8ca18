package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon"
	"github.com/jalon-trace/jalon/internal/image"
	"github.com/jalon-trace/jalon/internal/lazyregexp"
)

// scripted are the places that scripts write as jalon does.
var scripted = lazyregexp.New(`^(tracepoint|t|rawtracepoint|rt|kprobe|k|kretprobe|kr|fentry|f|fexit|fr|profile|p|interval|i|software|s|hardware|h|usdt|U|uprobe|u|uretprobe|ur):[^:]`)

var (
	lineOf    = lazyregexp.New(`^(.+):(\d+)$`)
	addressOf = lazyregexp.New(`^\*(0x[0-9a-fA-F]+)$`)
)

// do runs the statements of --do at the places, as a script.
func (c *traceCmd) do() error {
	if c.Format != "text" && c.Format != "json" {
		return usageError("--do prints text or JSON: -f text, -f json")
	}
	if agg, err := c.aggregate(); err != nil || agg != nil {
		return usageError("--do computes what its statements say: leave out --count and the like")
	}
	if len(c.Collect) > 0 || len(c.File) > 0 || c.Overwrite || c.Control != "" {
		return usageError("--do goes with places and conditions, without -c, -x, --overwrite and --control: its statements print")
	}
	tps, err := jalon.Parse(c.Places, nil)
	if err != nil {
		return err
	}
	if len(tps) == 0 {
		return usageError("no place to trace was given: PLACE [if COND]")
	}
	program, err := c.programFile()
	if err != nil {
		return err
	}
	var script strings.Builder
	for i := range tps {
		place, err := scriptPlace(tps[i].Place, program)
		if err != nil {
			return err
		}
		switch cond := tps[i].Condition; {
		case cond == "":
			fmt.Fprintf(&script, "%s {\n%s\n}\n", place, c.Do)
		case strings.Contains(cond, "/"): // it would end the predicate
			fmt.Fprintf(&script, "%s { if (%s) {\n%s\n} }\n", place, cond, c.Do)
		default:
			fmt.Fprintf(&script, "%s /%s/ {\n%s\n}\n", place, cond, c.Do)
		}
	}
	if c.Duration > 0 {
		fmt.Fprintf(&script, "interval:us:%d { exit() }\n", max(c.Duration.Microseconds(), 1))
	}
	run := runCmd{Expr: script.String(), Format: c.Format, Output: c.Output, Buffering: "line", Quiet: c.Quiet, Verbose: c.Verbose, DebugDirs: c.Debug}
	if c.Pid != 0 {
		run.Pid = strconv.Itoa(c.Pid)
	}
	run.after = c.program
	return run.Run()
}

// programFile is the program of the trace; "" for places of the kernel.
func (c *traceCmd) programFile() (string, error) {
	switch {
	case len(c.program) > 0:
		path, err := exec.LookPath(c.program[0])
		if err != nil {
			return "", err
		}
		return filepath.Abs(path)
	case c.Pid != 0:
		path := image.ProgramFile(c.Pid)
		if path == "" {
			return "", fmt.Errorf("the program of process %d: there is no such process, or it may not be traced", c.Pid)
		}
		return path, nil
	}
	return "", nil
}

// scriptPlace is a place in the notation of scripts.
func scriptPlace(place, program string) (string, error) {
	if scripted.MatchString(place) {
		return place, nil
	}
	if program == "" {
		return "", usageError(place + " is a place in a program: add -- PROGRAM or -p PID")
	}
	kind, file := "uprobe:", strconv.Quote(program)
	if fn, ok := strings.CutSuffix(place, "%return"); ok {
		kind, place = "uretprobe:", fn
	}
	if m := addressOf.FindStringSubmatch(place); m != nil {
		return kind + file + ":" + m[1], nil
	}
	if m := lineOf.FindStringSubmatch(place); m != nil && kind == "uprobe:" {
		return kind + file + "@" + strconv.Quote(m[1]) + ":" + m[2], nil
	}
	return kind + file + ":" + strconv.Quote(place), nil
}
