package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/jalon-trace/jalon/internal/backend/amd64"
	"github.com/jalon-trace/jalon/internal/backend/ebpf"
	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ring"
)

// axCmd shows how an agent expression is compiled.
type axCmd struct {
	Input  string `arg:"" help:"The bytecode in hexadecimal, as in GDB's packets; with -e the program of the expression"`
	Expr   string `short:"e" name:"expr" placeholder:"EXPR" help:"Let gdb make the bytecode of this C expression"`
	At     string `placeholder:"PLACE" help:"With -e: where the names mean what they mean: a line (main.c:9) or function; main by default"`
	Action bool   `help:"Compile the expression as an action that collects, not as a condition"`
	Value  bool   `help:"With --action: also collect the value"`
}

// Run prints bytecode, IR before and after each pass, and code.
func (c *axCmd) Run() error {
	use := agentexpr.ForCondition
	if c.Action {
		use = agentexpr.ForAction
	}
	code, err := c.code()
	if err != nil {
		return err
	}
	e, err := agentexpr.Validate(code, use)
	if err != nil {
		return err
	}
	return c.show(stdout, e)
}

// code returns the bytecode.
func (c *axCmd) code() ([]byte, error) {
	if c.Expr != "" {
		return c.compile()
	}
	if c.At != "" {
		return nil, usageError("--at says where the names of -e EXPR are")
	}
	code, err := hex.DecodeString(strings.Join(strings.Fields(c.Input), ""))
	if err != nil {
		return nil, usageError(fmt.Sprintf("%q is not bytecode in hexadecimal: %v", c.Input, err))
	}
	return code, nil
}

// compile runs gdb to compile the expression.
func (c *axCmd) compile() ([]byte, error) {
	command := "maint agent-eval "
	if c.Action {
		command = "maint agent "
	}
	at := c.At
	if at == "" {
		at = "main"
	}
	cmd := exec.Command("gdb", "-nx", "-q", "-batch", "-ex", command+"-at "+at+", "+c.Expr, c.Input)
	cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS=", "LC_ALL=C")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && stderr.Len() == 0 {
		return nil, fmt.Errorf("running gdb to compile the expression (not needed without -e): %w", err)
	}
	list, err := agentexpr.ParseText(string(out))
	if err != nil {
		return nil, fmt.Errorf("reading gdb's output for %q: %w", c.Expr, err)
	}
	if len(list) == 0 {
		return nil, errors.New("gdb: " + strings.TrimSpace(stderr.String()))
	}
	return agentexpr.Encode(list), nil
}

// show prints all stages.
func (c *axCmd) show(w io.Writer, e *agentexpr.Expr) error {
	site := &agentexpr.Site{Name: "ax", Cond: e}
	if c.Action {
		site = &agentexpr.Site{Name: "ax", Actions: []agentexpr.Action{{Kind: agentexpr.Evaluate, Expr: e, Value: c.Value}}}
	}
	fmt.Fprintf(w, "bytecode: %s in %s\n%s", counted(len(e.Insns), "operation"), counted(len(e.Code), "byte"), agentexpr.Text(e.Insns))
	p, lay, err := agentexpr.Lower(site, &agentexpr.Options{GSBase: true, Var: anyVariable})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\nIR: %s; a record has %s\n%s", operations(p), counted(lay.RecordSize, "byte"), p)
	if err := passes(w, p); err != nil {
		return err
	}
	return native(w, p)
}

// anyVariable accepts every number of a trace state variable.
func anyVariable(n int) (agentexpr.Variable, bool) {
	return agentexpr.Variable{Index: int64(n)}, n < ir.MaxVars
}

// passes runs the passes in the order of ir.Optimize, and prints the changes of each.
func passes(w io.Writer, p *ir.Program) error {
	if err := ir.Check(p); err != nil {
		panic("BUG: " + err.Error())
	}
	const rounds = 10
	for round := 1; round <= rounds; round++ {
		changed := false
		for _, pass := range ir.Passes {
			if pass.Run(p) {
				changed = true
				fmt.Fprintf(w, "\nafter pass %s, round %d: %s\n%s", pass.Name, round, operations(p), p)
			}
		}
		if !changed {
			break
		}
	}
	return nil
}

// operations counts the operations of a program.
func operations(p *ir.Program) string {
	all, numbers := 0, 0
	for _, b := range p.Blocks {
		for i := range b.Instrs {
			all++
			if b.Instrs[i].Op == ir.Const {
				numbers++
			}
		}
	}
	return fmt.Sprintf("%s (%d of them numbers) in %s", counted(all, "operation"), numbers, counted(len(p.Blocks), "block"))
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// native prints the code for both engines, at example addresses.
func native(w io.Writer, p *ir.Program) error {
	const shared, rings, ringSize = 0x7f0000000000, 0x10000, 0x10000
	l := ring.Layout{
		Control: shared, Counters: shared + ring.PageSize, CounterStride: ring.PageSize,
		Rings: shared + rings, RingStride: 4 * ringSize, RingSize: ringSize,
		Variables: shared + 64, VariableCount: ir.MaxVars, CPUMask: 1, RseqCPU: -32, RDPID: true, FSGSBASE: true,
	}
	code, err := amd64.Compile(p, amd64.Config{Addr: shared - 0x100000, PC: 0x401146, Layout: l, DeadFlags: true, DeadGPR: 1})
	if err != nil {
		return fmt.Errorf("compiling for amd64: %w", err)
	}
	fmt.Fprintf(w, "\namd64: %s (rax and the flags are free at the site)\n%s\n", counted(len(code.Bytes), "byte"), strings.Join(code.Listing(), "\n"))
	const slack = 8 << 10
	l = ring.Layout{
		Counters: 64, CounterStride: ring.PageSize - 64, Rings: 0x10000,
		RingStride: ring.RingData + ringSize + slack, RingSize: ringSize, CPUMask: 1, Variables: 0x2000, VariableCount: ir.MaxVars,
	}
	insns, err := ebpf.Compile(p, ebpf.Config{
		Name: "buffers", Layout: l, Slack: slack, MapSize: l.Rings + 2*l.RingStride,
		Context: ebpf.Regs, Space: ebpf.User, Features: ebpf.Features{V4: true, FSBase: -1, TaskComm: -1},
	})
	if err != nil {
		fmt.Fprintf(w, "\neBPF: %v\n", err)
		return nil
	}
	fmt.Fprintf(w, "\neBPF: %s\n%s", counted(len(insns), "instruction"), ebpf.Listing(insns))
	return nil
}
