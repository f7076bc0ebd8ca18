package amd64

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/agentexpr/axgen"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/eval"
	"github.com/jalon-trace/jalon/internal/ir/irgen"
	"github.com/jalon-trace/jalon/test/testkit"
)

// axTrial is a tracepoint in GDB's bytecode.
type axTrial struct {
	*trial
	site   *agentexpr.Site
	layout *agentexpr.Layout
}

// TestAgentExpressions runs random tracepoints in GDB's bytecode as machine code
// and compares with the interpreter of the bytecode, and with the evaluator.
// JALON_AX_RUNS sets the number of tracepoints, each run in a few states.
func TestAgentExpressions(t *testing.T) {
	runs, seed := envInt("JALON_AX_RUNS", 4000), testkit.Seed(t, 1)
	r := rand.New(rand.NewSource(seed))
	state := irgen.RandomState(r, irgen.Options{SegBase: true})
	e := startExecutor(t, state.Base, state.Mem[:])
	done, exprs, cases, records := 0, 0, 0, 0
	for done < runs {
		state = irgen.RandomState(r, irgen.Options{SegBase: true})
		e.setMemory(state.Mem[:])
		trials, sites, n := axBatch(t, e, r, state, runs-done)
		done, exprs = done+sites, exprs+n
		if err := e.run(); err != nil {
			t.Fatalf("%v\n%s", err, trials[min(int(e.word(8)), len(trials)-1)].describe())
		}
		for i, tr := range trials {
			out := e.output(i)
			err := tr.verify(out)
			if err == nil {
				err = tr.verifyFrame(out)
			}
			if err != nil {
				t.Fatalf("case %d (seed %d): %v\n%s", cases+i, seed, err, tr.describe())
			}
			if out.RecLen > 0 {
				records++
			}
		}
		cases += len(trials)
	}
	t.Logf("%d tracepoints with %d expressions, %d runs, %d records (seed %d)", done, exprs, cases, records, seed)
}

func axBatch(t *testing.T, e *executor, r *rand.Rand, state *irgen.State, most int) (trials []*axTrial, sites, exprs int) {
	e.reset()
	for sites < most && len(trials)+statesPerProgram <= maxCases {
		opt := axgen.Options{Steps: 1 + r.Intn(60)}
		s := axgen.Site(r, opt)
		low, cfg := axgen.Lowering(opt), randomConfig(r, e.nextAddr())
		low.GSBase, low.AVX, low.InUse = cfg.Layout.FSGSBASE, cfg.Layout.AVX, cfg.Layout.XGETBV1
		p, lay, err := agentexpr.Lower(s, low)
		if err != nil {
			t.Fatal(err)
		}
		if r.Intn(3) != 0 {
			if err := ir.Optimize(p); err != nil {
				t.Fatal(err)
			}
		}
		tr := &trial{p: p, cfg: cfg}
		if r.Intn(3) == 0 {
			tr.cfg.ColdAddr = e.coldAddr()
		}
		if tr.code, err = compile(p, tr.cfg, randomTuning(r)); err != nil {
			t.Fatalf("%v\n%s", err, tr.describe())
		}
		more, ok := tr.inStates(e, r, state)
		if !ok {
			break
		}
		for _, x := range more {
			trials = append(trials, &axTrial{x, s, lay})
		}
		exprs += axgen.Count(s)
		sites++
	}
	return trials, sites, exprs
}

// verifyFrame compares what the reader makes of the record with what the
// interpreter collects.
func (tr *axTrial) verifyFrame(out *caseOut) error {
	if tr.off || tr.dead && tr.code.guarded || !tr.state.RecordRoom {
		return nil // verify has compared it with the evaluator
	}
	lost := tr.lostPointers(out)
	if lost != nil {
		tr.state.X87 = withoutPointers(tr.state.X87)
	}
	m := axgen.Machine(tr.state.Machine())
	want := tr.site.Run(m)
	if want.Frame != nil {
		want.Frame.Regs = slices.DeleteFunc(want.Frame.Regs, func(x agentexpr.RegValue) bool {
			return slices.Contains(tr.layout.Missing, x.Num)
		})
	}
	rec, err := tr.record(out)
	if err != nil {
		return err
	}
	for _, at := range lost {
		if at < len(rec) {
			rec[at] = 0
		}
	}
	if d := axgen.Diff(&want, m, tr.layout, rec, out.Counters, out.Vars[:]); d != "" {
		return fmt.Errorf("interpreter: %s", d)
	}
	if got := eval.Run(tr.p, tr.state.Machine()); got.Exit != eval.Exited {
		return fmt.Errorf("the evaluator ends with %v", got.Exit)
	}
	return nil
}
