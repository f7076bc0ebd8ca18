package ebpf

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ring"
)

// TestPaperExample: the paper's condition (its table 3, 16 operations) is so many
// instructions up to the branch, without and with the passes. docs/agentexpr.md has
// the figures.
func TestPaperExample(t *testing.T) {
	code, err := hex.DecodeString("220226000516200416202203260004162004162002162022002b1427")
	must(t, err)
	e, err := agentexpr.Validate(code, agentexpr.ForCondition)
	must(t, err)
	l := ring.Layout{
		Counters: 64, CounterStride: ring.PageSize - 64, Rings: 0x10000,
		RingStride: ring.RingData + 0x10000 + 0x2000, RingSize: 0x10000, CPUMask: 1, Variables: 0x2000, VariableCount: ir.MaxVars,
	}
	cfg := Config{Name: "paper", Layout: l, Slack: 0x2000, MapSize: l.Rings + 2*l.RingStride, Context: Regs, Space: User, Features: Features{V4: true, FSBase: -1, TaskComm: -1}}
	for _, c := range []struct {
		optimise     bool
		instructions int
	}{{false, 11}, {true, 6}} {
		p, _, err := agentexpr.Lower(&agentexpr.Site{Cond: e}, &agentexpr.Options{Kernel: true, PtRegs: true})
		must(t, err)
		if c.optimise {
			must(t, ir.Optimize(p))
		}
		insns, err := Compile(p, cfg)
		must(t, err)
		text, n := Listing(insns), 0
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line == "; miss" || line == "; hit" {
				break
			} else if line[0] != ';' {
				n++
			}
		}
		if n != c.instructions {
			t.Errorf("passes %v: %d instructions\n%s", c.optimise, n, text)
		}
	}
}
