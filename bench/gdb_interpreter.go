package main

import (
	"fmt"
	"os/exec"
	"time"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
)

// GDB's numbers of the argument registers.
const (
	numRSI = 4
	numRDI = 5
)

// interpreter runs the bytecode of a case in the interpreter of package agentexpr, in this process. This is
// the cost of a hit in an engine that interprets, without the cost of the trap or jump. That interpreter is
// the reference of the tests; it is written for readability.
func (b *bench) interpreter(c *gdbCase) ([]float64, error) {
	s := &agentexpr.Site{Name: "interpreted"}
	var err error
	if c.cond != "" {
		if s.Cond, err = b.bytecode("agent-eval", c.cond, agentexpr.ForCondition); err != nil {
			return nil, err
		}
	}
	e, err := b.bytecode("agent", c.collect, agentexpr.ForAction)
	if err != nil {
		return nil, err
	}
	s.Actions = []agentexpr.Action{
		{Kind: agentexpr.CollectRegs, Regs: []int{numRSI, numRDI}},
		{Kind: agentexpr.Evaluate, Expr: e},
	}
	var ns []float64
	const calls = 20000
	for range nativeBatches {
		m := &agentexpr.Machine{}
		start := time.Now()
		for i := range uint64(calls) {
			m.Regs[numRDI], m.Regs[numRSI] = i+1, i+1
			if out := s.Run(m); (out.Frame != nil) != c.frames {
				return nil, fmt.Errorf("BUG: the interpreter's result differs from the case's")
			}
		}
		ns = append(ns, float64(time.Since(start).Nanoseconds())/calls)
	}
	return ns, nil
}

// bytecode runs gdb to compile an expression at the traced place.
func (b *bench) bytecode(command, expr string, use agentexpr.Use) (*agentexpr.Expr, error) {
	out, err := exec.Command("gdb", "-nx", "-q", "-batch", "-ex", "maint "+command+" -at test_function, "+expr, b.work).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("gdb: %w: %s", err, out)
	}
	list, err := agentexpr.ParseText(string(out))
	if err != nil || len(list) == 0 {
		return nil, fmt.Errorf("gdb gave no bytecode for %s: %w: %s", expr, err, out)
	}
	return agentexpr.Validate(agentexpr.Encode(list), use)
}
