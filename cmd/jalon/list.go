package main

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/engine/inproc"
	"github.com/jalon-trace/jalon/internal/engine/uprobes"
	"github.com/jalon-trace/jalon/internal/format"
	"github.com/jalon-trace/jalon/internal/probe"
)

type listCmd struct {
	Args    []string `arg:"" optional:"" name:"what" help:"FILE, FILE@SOURCE (the lines of a source file), FILE@SOURCE:LINE (one of them), and function patterns ('handle*'); or places of the kernel: 'tracepoint:sched:*', 'kprobe:vfs_*', usdt:FILE:*"`
	Verbose bool     `short:"v" help:"Places of the kernel: fields, types, raw arguments, the print format"`
	Vmlinux string   `help:"Places of the kernel: file with the kernel's debug information"`
	Pid     int      `short:"p" help:"List the files mapped into a running process"`
	Kinds   bool     `help:"List the kinds of places: notation, meaning, and names for expressions"`
	Set     bool     `help:"List the sets of places of jalon record --set, or of those that are named: the places, LTTng's names for them and their fields"`
	Tactics bool     `help:"Show the tactic for each site, and why no better one is possible"`
	Debug   []string `name:"debug-dir" sep:"none" help:"Directories of separate debug files (default /usr/lib/debug)"`

	program []string // after --, as for the other commands
}

// Run lists.
func (c *listCmd) Run() error {
	opt := dwarf.Options{DebugDirs: c.Debug, Warn: func(m string) { fmt.Fprintln(stderr, "jalon:", m) }}
	w := bufio.NewWriter(stdout)
	defer w.Flush()
	if c.Kinds {
		return listKinds(w)
	}
	if c.Set {
		return listSets(w, c.Args)
	}
	if c.Pid != 0 {
		mods, err := inproc.InspectProcess(c.Pid, opt)
		if err != nil {
			return err
		}
		return c.process(w, mods)
	}
	if len(c.program) > 0 {
		c.Args = append(c.program[:len(c.program):len(c.program)], c.Args...)
	}
	if len(c.Args) == 0 {
		return usageError("name a file to list, or a process with -p PID")
	}
	if places := kernelPlaces(c.Args); places != nil {
		return c.kernel(w, places)
	}
	path, source, _ := strings.Cut(c.Args[0], "@")
	in, err := inproc.InspectFile(path, opt)
	if err != nil {
		if text := guessList(c.Args); text != "" {
			return usageError(text)
		}
		return err
	}
	defer in.Info.Close()
	if !in.Info.HasDebugInfo() {
		fmt.Fprintf(stderr, "jalon: %s: %s\n", path, in.Info.WhyNoDebugInfo())
	}
	if source != "" {
		return c.source(w, in, source)
	}
	patterns := c.Args[1:]
	if len(patterns) == 0 {
		patterns = []string{"*"}
	}
	n := 0
	for _, p := range patterns {
		n += c.functions(w, in, p)
	}
	if n == 0 && len(c.Args) == 1 {
		return fmt.Errorf("%s has no symbols (it is stripped). Addresses are places too: jalon trace '*0xADDRESS' -- %s; so are functions of libraries that it calls", path, path)
	}
	if file, _, _ := strings.Cut(patterns[0], ":"); n == 0 && len(in.Info.Lines(file)) > 0 {
		return fmt.Errorf("%s is a source file: jalon list %s@%s", file, path, patterns[0])
	}
	if n == 0 {
		return fmt.Errorf("%s has no function %s", path, strings.Join(patterns, ", "))
	}
	return nil
}

// process lists the matching functions of all modules, or the modules if there is no pattern.
func (c *listCmd) process(w io.Writer, mods []*inproc.Inspected) error {
	if len(c.Args) == 0 {
		for _, in := range mods {
			info := "no debug information: " + in.Info.WhyNoDebugInfo()
			if in.Info.HasDebugInfo() {
				info = "debug information from " + in.Info.DebugInfoFrom()
			}
			fmt.Fprintf(w, "%#014x  %s  (%s)\n", in.Bias, in.Path, info)
		}
		return nil
	}
	n := 0
	for _, pattern := range c.Args {
		for _, in := range mods {
			var b strings.Builder
			if k := c.functions(&b, in, pattern); k > 0 {
				n += k
				fmt.Fprintf(w, "%s\n%s", in.Path, b.String())
			}
		}
	}
	if n == 0 {
		return fmt.Errorf("no function %s in the process", strings.Join(c.Args, ", "))
	}
	return nil
}

// functions lists the matching functions, one a line.
func (c *listCmd) functions(w io.Writer, in *inproc.Inspected, pattern string) int {
	pattern, returns := strings.CutSuffix(pattern, probe.ReturnSuffix)
	list := in.Info.Functions(pattern)
	for _, f := range list {
		at := "-"
		if len(f.Ranges) > 0 {
			at = fmt.Sprintf("%#x", f.Lo+in.Bias)
		}
		notes := ""
		if f.Inlined > 0 {
			notes = fmt.Sprintf("  %d inlined", f.Inlined)
		}
		if f.FromSymbols {
			notes += "  symbol only"
		}
		fmt.Fprintf(w, "  %-40s %-18s %s%s\n", f.Name, at, declared(f), notes)
		switch {
		case returns && len(f.Ranges) > 0:
			c.returns(w, in, f)
		case c.Tactics:
			c.tactics(w, in, f)
		}
	}
	return len(list)
}

// declared returns where a function is declared, as FILE:LINE, or "".
func declared(f *dwarf.Function) string {
	if f.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
}

// returns lists the returns and tail calls of a function.
func (c *listCmd) returns(w io.Writer, in *inproc.Inspected, f *dwarf.Function) {
	for _, x := range in.Exits(f.Lo) {
		switch {
		case x.Err != nil:
			fmt.Fprintf(w, "      %v\n", x.Err)
		case c.Tactics:
			c.shown(w, x.Vaddr+in.Bias, x.What, x.Tactic, x.Refused, nil)
		default:
			fmt.Fprintf(w, "      %#x: %s\n", x.Vaddr+in.Bias, x.What)
		}
	}
}

func (c *listCmd) tactics(w io.Writer, in *inproc.Inspected, f *dwarf.Function) {
	sites, err := in.Info.SitesOf(f)
	if err != nil {
		fmt.Fprintf(w, "      %v\n", err)
		return
	}
	for _, s := range sites {
		c.tactic(w, in, s.Addr)
	}
}

func (c *listCmd) tactic(w io.Writer, in *inproc.Inspected, vaddr uint64) {
	t, refused, err := in.Tactic(vaddr)
	c.shown(w, vaddr+in.Bias, "", t, refused, err)
}

// shown prints the tactic for an address.
func (c *listCmd) shown(w io.Writer, addr uint64, what, t string, refused []string, err error) {
	if what != "" {
		what += ", "
	}
	if err != nil {
		fmt.Fprintf(w, "      %#x: %s%v\n", addr, what, err)
		return
	}
	if t == inproc.Int3 {
		t = uprobes.Tactic()
	}
	fmt.Fprintf(w, "      %#x: %s%s", addr, what, t)
	if len(refused) > 0 {
		fmt.Fprintf(w, " (%s)", strings.Join(refused, "; "))
	}
	fmt.Fprintln(w)
}

// maxListed bounds the number of lines that are listed of a file. Generated files can have millions.
const maxListed = 200_000

// source lists the lines of a source file that have code, with the variables in scope at each line.
func (c *listCmd) source(w io.Writer, in *inproc.Inspected, source string) error {
	lines := in.Info.Lines(source)
	if file, number, ok := strings.Cut(source, ":"); ok && len(lines) == 0 {
		if line, err := strconv.Atoi(number); err == nil {
			return c.line(w, in, file, line)
		}
	}
	if len(lines) == 0 {
		files := in.Info.Files("*" + filepath.Ext(source))
		sort.Strings(files)
		if len(files) > 10 {
			files = files[:10]
		}
		if file, function, ok := strings.Cut(source, ":"); ok && len(in.Info.Lines(file)) > 0 {
			return fmt.Errorf("%s has no line %s of %s; functions are listed by jalon list %[1]s %[2]s", in.Path, function, file)
		}
		return fmt.Errorf("%s has no code of %s (it has %s)", in.Path, source, strings.Join(files, ", "))
	}
	for i, line := range lines {
		if i == maxListed {
			return fmt.Errorf("%s has %d lines with code; the first %d are shown: select one by %s:LINE", source, len(lines), maxListed, filepath.Base(source))
		}
		if sites, err := in.Info.LineSites(source, line); err == nil {
			c.sitesOfLine(w, in, source, line, sites)
		}
	}
	return nil
}

// line lists one line of a source file. If it has no code, that is the line which is traced in its place.
func (c *listCmd) line(w io.Writer, in *inproc.Inspected, source string, line int) error {
	sites, err := probe.SitesOfLine(in.Info, source, line)
	if err != nil {
		place := fmt.Sprintf("%s:%d", source, line)
		return probe.Error(&probe.Place{Text: place}, err)
	}
	if text := probe.Moved(sites); text != "" {
		fmt.Fprintf(w, "%s: %s\n", filepath.Base(source), text)
		line = sites[0].ActualLine
	}
	c.sitesOfLine(w, in, source, line, sites)
	return nil
}

// sitesOfLine lists the sites of a line, with the variables in scope.
func (c *listCmd) sitesOfLine(w io.Writer, in *inproc.Inspected, source string, line int, sites []probe.Site) {
	for i, s := range sites {
		label := fmt.Sprintf("%s:%d", filepath.Base(source), line)
		if i > 0 {
			label = ""
		}
		fmt.Fprintf(w, "%-20s %#x  %s(%s)\n", label, s.Addr+in.Bias, s.Func, strings.Join(variables(in, s.Addr), ", "))
		if c.Tactics {
			c.tactic(w, in, s.Addr)
		}
	}
}

// variables returns the parameters and locals in scope at an address; those without a value there are in
// brackets.
func variables(in *inproc.Inspected, vaddr uint64) []string {
	scope, err := in.Info.ScopeAt(vaddr)
	if err != nil {
		return nil
	}
	var out []string
	for _, v := range slices.Concat(scope.Args(), scope.Locals()) {
		s := format.TypeName(v.Type, false) + " " + v.Name
		if v.Loc.Unavailable != "" {
			s = "[" + s + "]"
		}
		out = append(out, s)
	}
	return out
}
