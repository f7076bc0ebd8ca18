package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/openfile"
	"github.com/jalon-trace/jalon/internal/script/check"
	"github.com/jalon-trace/jalon/internal/script/interp"
	"github.com/jalon-trace/jalon/internal/script/source"
	"github.com/jalon-trace/jalon/internal/script/types"
)

// runCmd runs a script in bpftrace's language.
type runCmd struct {
	Args   []string `arg:"" optional:"" name:"file" help:"The script (- for standard input), then its positional parameters $1, $2, ...; all are parameters with -e. After --: its named parameters, --NAME=VALUE"`
	Expr   string   `short:"e" name:"expression" placeholder:"SCRIPT" help:"The script itself"`
	Format string   `short:"f" enum:"text,json" default:"text" help:"Output: text, or json (bpftrace's lines of JSON)"`
	Output string   `short:"o" placeholder:"FILE" help:"Write the output to a file"`
	Quiet  bool     `short:"q" help:"No messages of jalon's own"`
	NoWarn bool     `name:"no-warnings" help:"No warnings of the checker"`
	Debug  []string `short:"d" name:"stage" placeholder:"STAGE" help:"Print a stage of the script: ast (as parsed), expanded (macros replaced), types (of all expressions), maps"`
	Dry    bool     `name:"dry-run" help:"Check the script and run nothing"`
	Unsafe bool     `help:"Permit functions that change something: system, signal, override, write_user"`

	named []string // the part of the command line after --
}

// Run checks and runs the script.
func (c *runCmd) Run() error {
	s, params, err := c.parse()
	if err != nil {
		return err
	}
	named, more := namedParams(c.named)
	params = append(params, more...)
	p, err := check.Check(s, check.Options{Params: params, Named: named, Unsafe: c.Unsafe, Source: source.Open(), Import: importFiles, Env: os.Environ()})
	if !c.NoWarn {
		for _, w := range p.Warnings {
			fmt.Fprintln(stderr, w.Render("warning"))
		}
	}
	if e := c.stages(s, p); e != nil {
		return e
	}
	if err != nil || c.Dry || len(c.Debug) > 0 {
		return err
	}
	for name := range named {
		if !slices.Contains(p.Options, name) {
			return usageError(fmt.Sprintf("the script has no parameter --%s; it has: %s", name, strings.Join(p.Options, ", ")))
		}
	}
	if err := interp.Refuse(p); err != nil {
		return err
	}
	return c.execute(p)
}

// parse reads and parses the script and returns its positional parameters.
func (c *runCmd) parse() (*script.Script, []string, error) {
	if c.Expr != "" {
		s, err := script.Parse("-e", c.Expr)
		return s, c.Args, err
	}
	if len(c.Args) == 0 {
		return nil, nil, usageError("name a script to run, or write it with -e")
	}
	text, err := readScript(c.Args[0])
	if err != nil {
		return nil, nil, err
	}
	s, err := script.Parse(c.Args[0], string(text))
	return s, c.Args[1:], err
}

// readScript reads a file, or standard input.
func readScript(name string) ([]byte, error) {
	const limit = 17 << 20
	if name == "-" {
		return io.ReadAll(io.LimitReader(os.Stdin, limit))
	}
	return openfile.Read(name, limit)
}

// namedParams parses --NAME and --NAME=VALUE; what has another form is a positional parameter.
func namedParams(args []string) (named map[string]string, params []string) {
	named = map[string]string{}
	for _, a := range args {
		name, value, _ := strings.Cut(strings.TrimPrefix(a, "--"), "=")
		if !strings.HasPrefix(a, "--") || name == "" {
			params = append(params, a)
			continue
		}
		named[name] = value
	}
	return named, params
}

// importFiles reads the files of an import, relative to the file that imports it.
func importFiles(from, path string) ([]check.Imported, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(from), path)
	}
	names := []string{path}
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(path)
	if st.IsDir() {
		dir, names = path, nil
		for _, pattern := range []string{"*.bt", "*.h", "*.bpf.c"} {
			found, err := filepath.Glob(filepath.Join(path, pattern))
			if err != nil {
				return nil, err
			}
			names = append(names, found...)
		}
		slices.Sort(names)
	}
	if d, err := os.Stat(dir); err != nil {
		return nil, err
	} else if d.Mode()&0o002 != 0 {
		return nil, fmt.Errorf("everybody can write to the directory %s", dir)
	}
	var out []check.Imported
	for _, name := range names {
		text, err := readScript(name)
		if err != nil {
			return nil, err
		}
		out = append(out, check.Imported{Name: name, Text: string(text)})
	}
	return out, nil
}

// stages prints what -d asks for.
func (c *runCmd) stages(s *script.Script, p *check.Program) error {
	typed := func(n script.Node) string {
		if x, ok := n.(script.Expr); ok && p.Types[x] != nil && p.Types[x].Kind != types.None {
			return p.Types[x].String()
		}
		return ""
	}
	for _, stage := range c.Debug {
		switch stage {
		case "ast":
			fmt.Fprint(stdout, script.Dump(s, nil))
		case "expanded", "types":
			note := typed
			if stage == "expanded" {
				note = nil
			}
			for _, pr := range p.Probes {
				fmt.Fprint(stdout, script.Dump(pr.Probe.Expanded(pr.Pred, pr.Body), note))
			}
		case "maps":
			for _, m := range p.Maps {
				if m.Scalar {
					fmt.Fprintf(stdout, "%s %s\n", m.Name, m.Value)
				} else {
					fmt.Fprintf(stdout, "%s[%s] %s\n", m.Name, m.Key, m.Value)
				}
			}
		default:
			return usageError(fmt.Sprintf("there is no stage %q; there are ast, expanded, types and maps", stage))
		}
	}
	return nil
}

// execute runs a script whose probes run in jalon itself.
func (c *runCmd) execute(p *check.Program) error {
	var out io.Writer = stdout
	if c.Output != "" {
		f, err := openfile.Create(c.Output)
		if err != nil {
			return err
		}
		defer f.Close()
		out = f
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	sig, usr1 := make(chan os.Signal, 1), make(chan struct{}, 1)
	signal.Notify(sig, syscall.SIGUSR1)
	defer signal.Stop(sig)
	go func() {
		for range sig {
			usr1 <- struct{}{}
		}
	}()
	m := interp.New(p, interp.Options{
		Out: out, Err: stderr, JSON: c.Format == "json", Quiet: c.Quiet,
		Now: time.Now, Boot: clock(unix.CLOCK_BOOTTIME), Mono: clock(unix.CLOCK_MONOTONIC),
		System: func(command string) ([]byte, error) { return shell(ctx, command) },
	})
	if !c.Quiet {
		m.Attached()
	}
	err := m.Loop(ctx, usr1)
	m.End()
	if err != nil {
		return err
	}
	if p.Config.Bool("print_maps_on_exit") {
		m.PrintMaps()
	}
	if !c.NoWarn {
		for _, l := range m.Lost() {
			fmt.Fprintln(stderr, "jalon: warning:", l)
		}
	}
	if _, status := m.Ended(); status != 0 {
		return exitError{status & 0xff}
	}
	return nil
}

// clock reads one of the kernel's clocks.
func clock(id int32) func() uint64 {
	return func() uint64 {
		var ts unix.Timespec
		if err := unix.ClockGettime(id, &ts); err != nil {
			return 0
		}
		return uint64(ts.Nano())
	}
}

// shell runs a command and returns its output.
func shell(ctx context.Context, command string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.Stderr = stderr
	out, err := cmd.Output()
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) { // its status is the command's own affair
		return out, fmt.Errorf("running a command of the script: %w", err)
	}
	return out, nil
}
