package show

import (
	"math"
	"math/rand"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/script/printf"
	"github.com/jalon-trace/jalon/test/testkit"
)

// TestRealIndexes: each value is in the range of its index, for all k.
func TestRealIndexes(t *testing.T) {
	r := rand.New(rand.NewSource(testkit.Seed(t, 1)))
	values := []float64{0, math.Copysign(0, -1), 5e-324, 1, 1.5, 2, math.Nextafter(2, 0), 1e300, math.Inf(1), 0x1p-32, math.Nextafter(0x1p-32, 0), 0x1p64, math.Nextafter(0x1p64, 0)}
	for range 2000 {
		values = append(values, math.Ldexp(r.Float64(), r.Intn(140)-60))
	}
	for k := range uint(6) {
		last := (realHigh-realLow)<<k + 2
		for _, x := range values {
			i := RealIndex(x, k)
			if i < 1 || i > last || x < realBound(i-1, k).Real() || i < last && x >= realBound(i, k).Real() {
				t.Fatalf("k %d: %g has the index %d: [%g, %g)", k, x, i, realBound(i-1, k).Real(), realBound(i, k).Real())
			}
			if x > 0 && RealIndex(-x, k) != 0 {
				t.Fatalf("%g has the index %d", -x, RealIndex(-x, k))
			}
		}
	}
}

func TestReals(t *testing.T) {
	counts := make([]uint64, 110)
	for _, x := range []float64{-1, 0, 0.3, 0.3, 3, 1500} {
		counts[RealIndex(x, 0)]++
	}
	h := RealHist(counts, 0, 1)
	var b strings.Builder
	h.text(&b)
	var labels []string
	for _, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		label, _, _ := strings.Cut(line, " |")
		labels = append(labels, strings.Join(strings.Fields(label), " "))
	}
	const want = "(..., 0) 1;[0, 0.25) 1;[0.25, 0.5) 2;[0.5, 1) 0;[1, 2) 0;[2, 4) 1;[4, 8) 0;[8, 16) 0;[16, 32) 0;[32, 64) 0;[64, 128) 0;[128, 256) 0;[256, 512) 0;[512, 1K) 0;[1K, 2K) 1"
	if got := strings.Join(labels, ";"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	h = RealHist(counts[:RealIndex(0.3, 0)+1], 0, 1)
	if got, want := h.json(), `[{"max": 0, "count": 1},{"min": 0, "max": 0.25, "count": 1},{"min": 0.25, "max": 0.5, "count": 2}]`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	m := Map{Elems: []Elem{{Value: printf.Float(2, 64), Order: RealOrder(2)}, {Value: printf.Float(-3, 64), Order: RealOrder(-3)}, {Value: printf.Float(0.5, 64), Order: RealOrder(0.5)}, {Value: printf.Float(-2, 64), Order: RealOrder(-2)}}}
	m.Sort(3)
	b.Reset()
	m.Text(&b)
	if got := b.String(); got != "[null]: -2\n[null]: 0.5\n[null]: 2\n" {
		t.Errorf("in order: %s", got)
	}
}
