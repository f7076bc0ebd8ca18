package irgen

import (
	"math/rand"
	"reflect"
	"testing"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/eval"
	"github.com/jalon-trace/jalon/test/testkit"
)

// TestCoverage holds that Random makes every operation with every width, and
// that the runs see every end and both directions of every kind of edge.
func TestCoverage(t *testing.T) {
	type form struct {
		op ir.Op
		w  uint8
		c  ir.Class
	}
	seen := map[form]int{}
	guarded, safe := map[ir.Op]int{}, map[ir.Op]int{}
	ends := map[eval.End]int{}
	records, faults := 0, 0
	r := rand.New(rand.NewSource(testkit.Seed(t, 1)))
	for n := range 7000 {
		opt := Options{Floats: true, SegBase: true, Walks: true, Maps: true}
		if n >= 5000 {
			opt = Options{Kernel: true, StackIDs: true, NoRegs: n%2 == 0, High: 0xffff900000000000}
		}
		p := Random(r, opt)
		for _, b := range p.Blocks {
			for n := range b.Instrs {
				i := &b.Instrs[n]
				seen[form{i.Op, i.W, p.OpClass(i)}]++
				if i.Op.Info().MayFault {
					if i.Fault == ir.NoBlock {
						safe[i.Op]++
					} else {
						guarded[i.Op]++
					}
				}
			}
		}
		s := RandomState(r, opt)
		o := eval.Run(p, s.Machine())
		ends[o.Exit]++
		if o.Record != nil {
			records++
			for k := ir.RecordHeader; k < len(o.Defined); k++ {
				if !o.Defined[k] {
					faults++
					break
				}
			}
		}
	}
	for op := ir.Invalid + 1; op < ir.NumOps; op++ {
		info := op.Info()
		for w := uint8(0); w <= 16; w++ {
			if info.Widths.Has(w) && seen[form{op, w, ir.I64}]+seen[form{op, w, ir.F64}] == 0 {
				t.Errorf("%v with width %d never appears", op, w)
			}
		}
		if info.A == ir.FloatOperand || info.Result == ir.FloatResult {
			if seen[form{op, 0, ir.F32}] == 0 || seen[form{op, 0, ir.F64}] == 0 {
				t.Errorf("%v does not appear with both float classes", op)
			}
		}
		if info.MayFault && (guarded[op] == 0 || safe[op] == 0) {
			t.Errorf("%v: %d guarded, %d not", op, guarded[op], safe[op])
		}
	}
	if ends[eval.BadAccess] != 0 {
		t.Errorf("%d runs read unguarded what cannot be read", ends[eval.BadAccess])
	}
	if ends[eval.Exited] < 2000 || ends[eval.Full] == 0 || records < 1000 || faults < 100 {
		t.Errorf("ends %v, %d records, %d with bytes not promised", ends, records, faults)
	}
	t.Logf("ends %v, %d records, %d with bytes not promised", ends, records, faults)
}

// TestIntegersOnly holds that the zero Options make no floats.
func TestIntegersOnly(t *testing.T) {
	r := rand.New(rand.NewSource(testkit.Seed(t, 2)))
	for range 500 {
		p := Random(r, Options{NoRIP: true, NoFlags: true})
		for v, c := range p.Classes {
			if c != ir.I64 {
				t.Fatalf("v%d is %v\n%s", v, c, p)
			}
		}
		for _, b := range p.Blocks {
			for _, i := range b.Instrs {
				if i.Op == ir.Reg && i.Imm > 15 {
					t.Fatalf("reads %s", ir.RegName(i.Imm))
				}
			}
		}
	}
}

// TestDeterministic holds that a seed names one program and one state.
func TestDeterministic(t *testing.T) {
	opt := Options{Floats: true, Maps: true}
	build := func() (string, *State) {
		r := rand.New(rand.NewSource(testkit.Seed(t, 7)))
		return Random(r, opt).String(), RandomState(r, opt)
	}
	p1, s1 := build()
	p2, s2 := build()
	if p1 != p2 || !reflect.DeepEqual(s1, s2) {
		t.Error("the same seed gave different results")
	}
}

func BenchmarkRandom(b *testing.B) {
	r := rand.New(rand.NewSource(1))
	for b.Loop() {
		Random(r, Options{Floats: true})
	}
}

func BenchmarkState(b *testing.B) {
	r := rand.New(rand.NewSource(1))
	for b.Loop() {
		RandomState(r, Options{})
	}
}
