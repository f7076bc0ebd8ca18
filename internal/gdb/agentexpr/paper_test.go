package agentexpr_test

import (
	"encoding/hex"
	"math/rand"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/agentexpr/axgen"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/eval"
	"github.com/jalon-trace/jalon/internal/ir/irgen"
	"github.com/jalon-trace/jalon/test/testkit"
)

// table3 is the condition 2*param1 + 3*param2 > 0 as the paper on GDB and KGTP
// prints it in its table 3 (table 4 of the thesis).
const table3 = "2202" + "260005" + "1620" + "04" + "1620" + "2203" + "260004" + "1620" + "04" + "1620" + "02" + "1620" + "2200" + "2b" + "14" + "27"

const table3Text = `  0  const8 2
  2  reg 5
  5  ext 32
  7  mul
  8  ext 32
 10  const8 3
 12  reg 4
 15  ext 32
 17  mul
 18  ext 32
 20  add
 21  ext 32
 23  const8 0
 25  swap
 26  less_signed
 27  end
`

// table3Program is the entry block after the passes: 16 operations have become
// six and a branch, and three numbers.
const table3Program = `  v0 = const 2
  v1 = reg rdi
  v2 = mul.4 v1, v0
  v3 = const 3
  v4 = reg rsi
  v5 = mul.4 v4, v3
  v6 = add.4 v2, v5
  v7 = const 0
  v8 = slt.4 v7, v6
  brif v8 -> b2 else b1
`

// TestPaperExample: the paper says that of GDB's bytecode for this condition the
// extensions could be left out. Here they are.
func TestPaperExample(t *testing.T) {
	code, err := hex.DecodeString(table3)
	check(t, err)
	e, err := agentexpr.Validate(code, agentexpr.ForCondition)
	check(t, err)
	if got := agentexpr.Text(e.Insns); got != table3Text || len(e.Insns) != 16 {
		t.Errorf("%d operations:\n%s", len(e.Insns), got)
	}
	site := &agentexpr.Site{Name: "paper", Cond: e}
	p, lay, err := agentexpr.Lower(site, &agentexpr.Options{})
	check(t, err)
	if n := work(p.Blocks[0]); n != 11 {
		t.Errorf("%d operations as lowered, without numbers:\n%s", n, p)
	}
	check(t, ir.Optimize(p))
	if !strings.Contains(p.String(), table3Program) || work(p.Blocks[0]) != 6 {
		t.Errorf("after the passes:\n%s", p)
	}
	r := rand.New(rand.NewSource(testkit.Seed(t, 1)))
	state := irgen.RandomState(r, irgen.Options{})
	for range 2000 {
		state.Registers(r)
		state.RecordRoom = true
		m := axgen.Machine(state.Machine())
		want, got := site.Run(m), eval.Run(p, state.Machine())
		if d := axgen.Diff(&want, m, lay, got.Record, got.Counters, got.Vars); d != "" {
			t.Fatalf("%s with rdi %#x, rsi %#x", d, state.Regs[5], state.Regs[4])
		}
	}
}

// work counts the operations of a block that are no numbers.
func work(b *ir.Block) int {
	n := 0
	for i := range b.Instrs {
		if b.Instrs[i].Op != ir.Const {
			n++
		}
	}
	return n
}
