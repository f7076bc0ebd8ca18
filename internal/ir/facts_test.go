package ir_test

import (
	"math/rand"
	"testing"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/eval"
	"github.com/jalon-trace/jalon/internal/ir/irgen"
	"github.com/jalon-trace/jalon/test/testkit"
)

// TestFactsHold runs programs that record all their integers, and compares the derived facts with the
// values. TestOptimizeKeepsMeaning finds a wrong fact only if a pass uses it.
func TestFactsHold(t *testing.T) {
	r := rand.New(rand.NewSource(testkit.Seed(t, 9)))
	opt := irgen.Options{Floats: true, Maps: true, Blocks: 1, Instrs: 40}
	known := 0
	for range *propertyRuns / 3 {
		p := irgen.Random(r, opt)
		// Everything that block 0 computes goes to the record.
		b := p.Blocks[0]
		var body []ir.Instr
		off := int64(ir.RecordHeader)
		var values []ir.Value
		reserve := ir.Instr{Op: ir.Reserve, Dst: ir.None, A: ir.None, B: ir.None, Fault: ir.NoBlock}
		body = append(body, reserve)
		for _, i := range b.Instrs {
			if i.Dst == ir.None || i.Fault != ir.NoBlock {
				if i.Dst != ir.None || i.Op == ir.KeyWord || i.Op == ir.KeyText {
					i.Fault = ir.NoBlock
				} else {
					continue
				}
			}
			body = append(body, i)
			if i.Dst != ir.None && p.Classes[i.Dst] == ir.I64 && i.Op.Info().Result != ir.SlotResult {
				body = append(body, ir.Instr{Op: ir.Put, W: 8, Dst: ir.None, A: i.Dst, B: ir.None, Imm: off, Fault: ir.NoBlock})
				values = append(values, i.Dst)
				off += 8
			}
		}
		body[0].Imm = off
		commit := ir.Instr{Op: ir.Commit, Dst: ir.None, A: ir.None, B: ir.None, Fault: ir.NoBlock}
		b.Instrs = append(body, commit)
		b.Term = ir.Term{Cond: ir.None, Then: ir.Edge{To: ir.NoBlock}, Else: ir.Edge{To: ir.NoBlock}}
		p.Blocks = p.Blocks[:1]
		if err := ir.Check(p); err != nil {
			t.Fatalf("%v\n%s", err, p)
		}
		facts := ir.FactsOf(p)
		for range 4 {
			s := irgen.RandomState(r, opt)
			s.RecordRoom = true
			o := eval.Run(p, s.Machine())
			if o.Exit != eval.Exited {
				continue // a load that was guarded
			}
			for n, v := range values {
				x := word(o.Record[ir.RecordHeader+8*n:])
				u, sx := facts[v][0], facts[v][1]
				if u < 64 || sx < 64 {
					known++
				}
				if u < 64 && x>>u != 0 || uint64(int64(x<<(64-sx))>>(64-sx)) != x {
					t.Fatalf("v%d is %#x, but was said to have %d bits, %d with sign\n%s", v, x, u, sx, p)
				}
			}
		}
	}
	if known < 500 {
		t.Errorf("only %d facts were tested", known)
	}
}

func word(b []byte) (x uint64) {
	for i := range 8 {
		x |= uint64(b[i]) << (8 * i)
	}
	return x
}
