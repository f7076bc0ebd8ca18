package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jalon-trace/jalon/internal/image"
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/check"
	"github.com/jalon-trace/jalon/internal/script/source"
)

// runCmd runs a script in bpftrace's language. Its flags are bpftrace's.
type runCmd struct {
	Args      []string      `arg:"" optional:"" name:"file" help:"The script (- for standard input), then its positional parameters $1, $2, ...; all are parameters with -e. After --: its named parameters --NAME=VALUE, then a program to start, with its arguments. With -l: what to list"`
	Expr      string        `short:"e" name:"expression" placeholder:"SCRIPT" help:"The script itself"`
	List      bool          `short:"l" help:"List probes that match 'PATTERN,...', or those of a script; types: 'struct NAME'. With -v, also their arguments"`
	Cmd       string        `short:"c" placeholder:"CMD" help:"Start a program, which first runs when all probes are attached; when it ends the script ends, and the other way round"`
	Pid       string        `short:"p" placeholder:"PID" help:"Only this process; the script ends with it"`
	Format    string        `short:"f" enum:"text,json" default:"text" help:"Output: text, or json (bpftrace's lines of JSON)"`
	Output    string        `short:"o" placeholder:"FILE" help:"Write the output to a file"`
	Buffering string        `short:"B" enum:"line,full,none" default:"line" placeholder:"MODE" help:"When output is written: at the end of each line, when a buffer is full, or at once (none)"`
	Folded    bool          `help:"Print maps with stacks as keys in the form that tools for flame graphs read"`
	Live      time.Duration `placeholder:"PERIOD" help:"Print all maps again and again, each time in place of the last on a terminal (1s)"`
	Maps      bool          `help:"Report where each map is, and why: in the memory of a process, in the kernel, in jalon"`
	Quiet     bool          `short:"q" help:"No messages of jalon's own"`
	Verbose   bool          `short:"v" help:"Report the steps; with -l, show the arguments of probes"`
	Warnings  bool          `short:"k" name:"warnings" help:"Warn at run time also of missing elements of maps and of memory that cannot be read"`
	NoWarn    bool          `name:"no-warnings" help:"No warnings"`
	Debug     []string      `short:"d" name:"debug" placeholder:"STAGE" help:"Print a stage of the script: ast (as parsed), expanded (macros replaced), types (of all expressions), maps; or all"`
	Dry       bool          `name:"dry-run" help:"Check the script and run nothing"`
	Unsafe    bool          `help:"Permit functions that change something: system, signal, override, write_user"`
	Test      bool          `help:"Run the probes test:NAME and report which fail"`
	Bench     bool          `help:"Run the probes bench:NAME and report their times"`
	Mode      string        `enum:"test,bench," default:"" hidden:"" help:"As --test or --bench"`
	Filter    string        `name:"probe-filter" placeholder:"REGEX" help:"Only probes whose name matches"`
	Include   []string      `name:"include" placeholder:"HEADER" help:"Accepted for scripts of bpftrace: jalon has the types and constants of C's and the kernel's headers, and reads none"`
	IncDirs   []string      `short:"I" name:"include-dir" hidden:"" help:"As --include"`
	DebugDirs []string      `name:"debuginfo" sep:":" placeholder:"DIR" help:"Directories of separate debug files (default /usr/lib/debug)"`
	Traceable string        `name:"traceable-functions" placeholder:"FILE" help:"The functions of the kernel that kprobes may be put on, one a line (default available_filter_functions of tracefs)"`
	USDTFile  bool          `name:"usdt-file-activation" help:"Static probes are activated in all processes that map their file"`
	Version   bool          `short:"V" help:"Print the version of jalon and of the language"`
	Info      bool          `help:"Print what this kernel and machine have for scripts"`

	after []string // the part of the command line after --
}

// languageVersion is the version of bpftrace whose language scripts have.
const languageVersion = "0.27"

// Run runs the command. Its exit status is bpftrace's: that of exit(), 1 for any error.
func (c *runCmd) Run() error {
	err := c.run()
	if err == nil {
		return nil
	}
	var exit exitError
	if errors.As(err, &exit) { // by exit(), which may be any
		return exit
	}
	if asBpftrace {
		return exitError{reportBpftrace(err)}
	}
	if status := reportError(err); status != 2 {
		return exitError{status}
	}
	return exitError{1}
}

func (c *runCmd) run() error {
	c.Test, c.Bench = c.Test || c.Mode == "test", c.Bench || c.Mode == "bench"
	switch {
	case c.Version:
		if asBpftrace {
			fmt.Fprintf(stdout, "bpftrace v%s (jalon %s)\n", languageVersion, version)
			return nil
		}
		fmt.Fprintf(stdout, "jalon %s, the language of bpftrace v%s\n", version, languageVersion)
		return nil
	case c.Info:
		return scriptInfo(stdout)
	case c.Test && c.Bench:
		return usageError("--test and --bench exclude each other")
	case c.Warnings && c.NoWarn:
		return usageError("-k and --no-warnings exclude each other")
	}
	target, err := c.target()
	if err != nil {
		return err
	}
	if c.List && c.Expr == "" {
		if len(c.Args) > 1 {
			return usageError("-l takes one pattern: 'PATTERN,...'")
		}
		if len(c.Args) == 0 || !isFile(c.Args[0]) {
			return c.list(strings.Join(c.Args, ""), target.pid)
		}
	}
	s, params, err := c.parse()
	if err != nil {
		return err
	}
	p, err := c.check(s, append(params, target.params...), target)
	if e := c.stages(s, p); e != nil {
		return e
	}
	if err != nil || len(c.Debug) > 0 {
		return err
	}
	if err := c.known(p, target); err != nil {
		return err
	}
	if err := c.traceable(p); err != nil {
		return err
	}
	if c.List {
		return c.listProgram(p, target.pid)
	}
	if c.Dry {
		return nil
	}
	if err := c.selected(p); err != nil {
		return err
	}
	return c.execute(p, target)
}

// check checks a script and prints its warnings.
func (c *runCmd) check(s *script.Script, params []string, t target) (*check.Program, error) {
	p, err := check.Check(s, check.Options{
		Params: params, Named: t.named, Unsafe: c.Unsafe, Child: t.argv != nil, Process: t.argv != nil || t.pid != 0,
		Source: source.New(source.Options{DebugDirs: c.debugDirs(), Program: programOf(t)}), Import: importFiles, Env: os.Environ(), Cgroup: cgroupID,
	})
	if !c.NoWarn {
		for _, w := range p.Warnings {
			fmt.Fprintln(stderr, render(w, "warning", ""))
		}
	}
	return p, err
}

// debugDirs are those of --debuginfo and the usual one; nil for that alone.
func (c *runCmd) debugDirs() []string {
	if len(c.DebugDirs) == 0 {
		return nil
	}
	return append(slices.Clone(c.DebugDirs), "/usr/lib/debug")
}

// programOf is the file of the program that a script is run with; "" if there is none.
func programOf(t target) string {
	switch {
	case t.pid != 0:
		return image.ProgramFile(t.pid)
	case len(t.argv) > 0:
		if path, err := exec.LookPath(t.argv[0]); err == nil {
			return path
		}
	}
	return ""
}

// known refuses named parameters that the script does not ask for; --help lists those that it asks for.
func (c *runCmd) known(p *check.Program, t target) error {
	if _, asked := t.named["help"]; asked && !slices.Contains(p.Options, "help") {
		if asBpftrace {
			fmt.Fprintln(stderr, "HINT: expected program options:")
		}
		for _, name := range p.Options {
			fmt.Fprintln(stderr, strings.TrimSuffix("--"+name+": "+p.Described[name], ": "))
		}
		return exitError{1}
	}
	for name := range t.named {
		if !slices.Contains(p.Options, name) {
			return usageError(fmt.Sprintf("the script has no parameter --%s; it has: %s", name, strings.Join(p.Options, ", ")))
		}
	}
	return nil
}

// selected removes the probes that --probe-filter leaves out, and reports a script of which nothing can happen.
func (c *runCmd) selected(p *check.Program) error {
	if c.Filter != "" {
		re, err := regexp.Compile(c.Filter)
		if err != nil {
			return usageError(fmt.Sprintf("--probe-filter: %v", err))
		}
		for _, pr := range p.Probes {
			pr.Places = slices.DeleteFunc(slices.Clone(pr.Places), func(pl *script.Place) bool {
				return pl.Provider.Name != "begin" && pl.Provider.Name != "end" && !re.MatchString(pl.Point.Text)
			})
		}
	}
	found := map[string]int{}
	for _, pr := range p.Probes {
		for _, pl := range pr.Places {
			found[pl.Provider.Name]++
		}
	}
	want, others := "", len(found)
	switch {
	case c.Test:
		want = "test"
	case c.Bench:
		want = "bench"
	default:
		if _, has := found["test"]; has {
			others--
		}
		if _, has := found["bench"]; has {
			others--
		}
	}
	switch {
	case want != "" && found[want] == 0:
		return usageError(fmt.Sprintf("the script has no probes %s:NAME", want))
	case want == "" && others == 0 && found["test"] > 0:
		return usageError("the script has only tests: run them with --test")
	case want == "" && others == 0 && found["bench"] > 0:
		return usageError("the script has only benchmarks: run them with --bench")
	case want == "" && others == 0:
		return usageError("the script has no probes to attach")
	}
	return nil
}
