package ir_test

import (
	"flag"
	"math/rand"
	"testing"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/eval"
	"github.com/jalon-trace/jalon/internal/ir/irgen"
	"github.com/jalon-trace/jalon/test/testkit"
)

func init() { ir.CheckEach = true }

var propertyRuns = flag.Int("ir.runs", 1500, "random programs for the property tests")

// clone copies a program by way of its text form.
func clone(t testing.TB, p *ir.Program) *ir.Program {
	t.Helper()
	q, err := ir.Parse(p.String())
	if err != nil {
		t.Fatalf("%v\n%s", err, p)
	}
	return q
}

// sameMeaning runs p and its optimised form q in s.
func sameMeaning(t testing.TB, p, q *ir.Program, s *irgen.State) eval.Outcome {
	t.Helper()
	want, got := eval.Run(p, s.Machine()), eval.Run(q, s.Machine())
	diff := ""
	if want.Exit != got.Exit {
		diff = "ends: " + got.Exit.String() + ", want " + want.Exit.String()
	} else {
		diff = want.Diff(got.Record, got.Counters)
	}
	if diff == "" && want.NoRoom == got.NoRoom {
		diff = want.DiffMaps(got.Maps)
	}
	for i, known := range want.Defined {
		if diff == "" && known && !got.Defined[i] {
			diff = "a byte is no longer promised"
		}
	}
	if diff != "" {
		t.Fatalf("%s\nbefore:\n%s\nafter:\n%s", diff, p, q)
	}
	return want
}

// sameMeaningUnlessBad allows anything after an unguarded access to what cannot
// be read: irgen makes none, other programs may.
func sameMeaningUnlessBad(t testing.TB, p, q *ir.Program, s *irgen.State) {
	t.Helper()
	if eval.Run(p, s.Machine()).Exit != eval.BadAccess {
		sameMeaning(t, p, q, s)
	}
}

// TestOptimizeKeepsMeaning is eval(p) == eval(Optimize(p)).
func TestOptimizeKeepsMeaning(t *testing.T) {
	for _, opt := range []irgen.Options{{}, {Floats: true, SegBase: true, Maps: true}, {Blocks: 30, Instrs: 4, Maps: true}} {
		r := rand.New(rand.NewSource(testkit.Seed(t, 1)))
		s := irgen.RandomState(r, opt)
		before, after := 0, 0
		for n := range *propertyRuns {
			p := irgen.Random(r, opt)
			q := clone(t, p)
			if err := ir.Optimize(q); err != nil {
				t.Fatal(err)
			}
			before += size(p)
			after += size(q)
			if n%50 == 0 {
				s = irgen.RandomState(r, opt)
			}
			for range 4 {
				s.Registers(r)
				sameMeaning(t, p, q, s)
			}
		}
		t.Logf("%+v: %d instructions became %d", opt, before, after)
	}
}

func size(p *ir.Program) (n int) {
	for _, b := range p.Blocks {
		n += len(b.Instrs) + 1
	}
	return n
}

// TestEachPassKeepsMeaning runs the passes one at a time on fresh programs,
// which they must not rely on each other to survive.
func TestEachPassKeepsMeaning(t *testing.T) {
	opt := irgen.Options{Floats: true, Maps: true, Blocks: 12, Instrs: 6}
	for _, pass := range ir.Passes {
		t.Run(pass.Name, func(t *testing.T) {
			r := rand.New(rand.NewSource(testkit.Seed(t, 2)))
			s := irgen.RandomState(r, opt)
			worked := 0
			seldom := 20 * *propertyRuns // programs until one that the pass changes, at most
			for n := 0; n < *propertyRuns/5 || worked == 0 && n < seldom && pass.Name != "unreachable"; n++ {
				p := irgen.Random(r, opt)
				q := clone(t, p)
				for pass.Run(q) {
					worked++
					if err := ir.Check(q); err != nil {
						t.Fatalf("%v\nbefore:\n%s\nafter:\n%s", err, p, q)
					}
				}
				for range 3 {
					s.Registers(r)
					sameMeaning(t, p, q, s)
				}
			}
			if worked == 0 && pass.Name != "unreachable" {
				t.Error("never found anything to do")
			}
		})
	}
}

// TestRandomOrder runs the passes in random orders.
func TestRandomOrder(t *testing.T) {
	opt := irgen.Options{Floats: true, Maps: true, Blocks: 12, Instrs: 6}
	r := rand.New(rand.NewSource(testkit.Seed(t, 3)))
	s := irgen.RandomState(r, opt)
	for range *propertyRuns / 3 {
		p := irgen.Random(r, opt)
		q := clone(t, p)
		names := ""
		for range 12 {
			pass := ir.Passes[r.Intn(len(ir.Passes))]
			names += " " + pass.Name
			pass.Run(q)
			if err := ir.Check(q); err != nil {
				t.Fatalf("%v after%s\nbefore:\n%s\nafter:\n%s", err, names, p, q)
			}
		}
		for range 3 {
			s.Registers(r)
			sameMeaning(t, p, q, s)
		}
	}
}

// TestFixpoint holds that Optimize ends because nothing is left to do, not
// because of its bound.
func TestFixpoint(t *testing.T) {
	r := rand.New(rand.NewSource(testkit.Seed(t, 4)))
	unfinished := 0
	for range *propertyRuns / 3 {
		p := irgen.Random(r, irgen.Options{Floats: true, Blocks: 20})
		if err := ir.Optimize(p); err != nil {
			t.Fatal(err)
		}
		text := p.String()
		if err := ir.Optimize(p); err != nil {
			t.Fatal(err)
		}
		if p.String() != text {
			unfinished++
		}
	}
	if unfinished > 0 {
		t.Errorf("%d programs were not finished", unfinished)
	}
}

func BenchmarkOptimize(b *testing.B) {
	ir.CheckEach = false
	defer func() { ir.CheckEach = true }()
	r := rand.New(rand.NewSource(5))
	var texts []string
	for range 64 {
		texts = append(texts, irgen.Random(r, irgen.Options{Floats: true, Blocks: 20, Instrs: 20}).String())
	}
	for n := 0; b.Loop(); n++ {
		b.StopTimer()
		p, _ := ir.Parse(texts[n%len(texts)])
		b.StartTimer()
		if err := ir.Optimize(p); err != nil {
			b.Fatal(err)
		}
	}
}
