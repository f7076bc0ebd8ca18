package agentexpr_test

import (
	"math/rand"
	"os"
	"strconv"
	"testing"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/agentexpr/axgen"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/eval"
	"github.com/jalon-trace/jalon/internal/ir/irgen"
	"github.com/jalon-trace/jalon/test/testkit"
)

func envInt(name string, def int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return def
}

// TestLowered runs random tracepoints by the interpreter and their programs, as
// lowered and after the passes, by the evaluator. JALON_AX_RUNS sets how many
// tracepoints. (The backends have tests of the same kind.)
func TestLowered(t *testing.T) {
	runs, seed := envInt("JALON_AX_RUNS", 1500), testkit.Seed(t, 1)
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewSource(seed))
	var state *irgen.State
	ir.CheckEach = true
	defer func() { ir.CheckEach = false }()
	var hits, misses, faults, blocks, failures, steps, exprs int
	for n := range runs {
		if n%64 == 0 {
			state = irgen.RandomState(r, irgen.Options{})
		}
		opt := axgen.Options{Steps: 1 + r.Intn(60)}
		s := axgen.Site(r, opt)
		exprs += axgen.Count(s)
		p, lay, err := agentexpr.Lower(s, axgen.Lowering(opt))
		if err != nil {
			t.Fatalf("run %d: %v\n%s", n, err, describe(s))
		}
		if err := ir.Check(p); err != nil {
			t.Fatalf("run %d: %v\n%s%s", n, err, describe(s), p)
		}
		for range 3 {
			state.Registers(r)
			state.RecordRoom = true
			for _, optimised := range []bool{false, true} {
				if optimised {
					if err := ir.Optimize(p); err != nil {
						t.Fatal(err)
					}
				}
				m := axgen.Machine(state.Machine())
				want := s.Run(m)
				got := eval.Run(p, state.Machine())
				if got.Exit == eval.BadAccess {
					t.Fatalf("run %d: bad access\n%s%s", n, describe(s), p)
				}
				if d := axgen.Diff(&want, m, lay, got.Record, got.Counters, got.Vars); d != "" {
					t.Fatalf("run %d, optimised %v: %s\n%s%s", n, optimised, d, describe(s), p)
				}
				steps += want.Steps
				switch {
				case want.CondFail != nil:
					faults++
				case want.Frame == nil:
					misses++
				default:
					hits++
					blocks += len(want.Frame.Blocks)
					failures += len(want.Frame.Failures)
				}
			}
		}
	}
	t.Logf("%d tracepoints with %d expressions: %d hits with %d blocks and %d failed actions, %d false, %d conditions failed, %d steps", runs, exprs, hits, blocks, failures, misses, faults, steps)
	if min(hits, misses, faults, blocks, failures) == 0 {
		t.Error("something never happened")
	}
}

func describe(s *agentexpr.Site) string {
	text := ""
	if s.Cond != nil {
		text += "condition\n" + agentexpr.Text(s.Cond.Insns)
	}
	for i, a := range s.Actions {
		text += "action " + strconv.Itoa(i) + "\n"
		if a.Expr != nil {
			text += agentexpr.Text(a.Expr.Insns)
		}
	}
	return text
}
