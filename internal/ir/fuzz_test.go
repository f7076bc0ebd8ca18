package ir_test

import (
	"math/rand"
	"testing"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/irgen"
)

// FuzzParse: any text is a program or an error. A parsed program is printed so that parsing gives the same
// program; a program that Check accepts runs, and Optimize keeps its meaning.
func FuzzParse(f *testing.F) {
	r := rand.New(rand.NewSource(1))
	for range 20 {
		f.Add(irgen.Random(r, irgen.Options{Floats: true, SegBase: true, Maps: true, Blocks: 4, Instrs: 5}).String(), int64(1))
	}
	for _, text := range accepted {
		f.Add(text, int64(2))
	}
	f.Fuzz(func(t *testing.T, text string, seed int64) {
		p, err := ir.Parse(text)
		if err != nil {
			return
		}
		written := p.String()
		q, err := ir.Parse(written)
		if err != nil {
			t.Fatalf("%v\n%s", err, written)
		}
		if q.String() != written {
			t.Fatalf("wrote\n%s\nthen\n%s", written, q)
		}
		if ir.Check(p) != nil {
			return
		}
		if err := ir.Optimize(q); err != nil {
			t.Fatal(err)
		}
		s := irgen.RandomState(rand.New(rand.NewSource(seed)), irgen.Options{})
		sameMeaningUnlessBad(t, p, q, s)
	})
}

// FuzzOptimize: random programs by seed, and then the same with damage.
func FuzzOptimize(f *testing.F) {
	for seed := range int64(20) {
		f.Add(seed, uint8(seed))
	}
	f.Fuzz(func(t *testing.T, seed int64, form uint8) {
		r := rand.New(rand.NewSource(seed))
		opt := irgen.Options{Floats: form&1 != 0, SegBase: form&2 != 0, Blocks: 1 + int(form>>3), Instrs: 8}
		p := irgen.Random(r, opt)
		for range form >> 2 & 1 {
			damage(r, p)
		}
		if ir.Check(p) != nil {
			return
		}
		q := clone(t, p)
		if err := ir.Optimize(q); err != nil {
			t.Fatal(err)
		}
		sameMeaningUnlessBad(t, p, q, irgen.RandomState(r, opt))
	})
}
