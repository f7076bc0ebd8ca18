package inproc

import (
	"math/rand"
	"testing"

	"github.com/jalon-trace/jalon/internal/process"
)

// TestStubs fills pages with stubs in random ranges: no stub overlaps another or begins outside its range,
// and a page is full before it refuses a range of its own size.
func TestStubs(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	g := &stubPage{base: 0x7000}
	taken := map[uint64]bool{}
	for range 5000 {
		lo := g.base - 300 + uint64(r.Intn(pageSize+600))
		hi := lo + 1 + uint64(r.Intn(256))
		at, ok := g.take(lo, hi)
		if !ok {
			continue
		}
		if at < lo || at >= hi || at < g.base || at+stubLen > g.base+pageSize {
			t.Fatalf("stub at %#x for [%#x, %#x)", at, lo, hi)
		}
		for a := at; a < at+stubLen; a++ {
			if taken[a] {
				t.Fatalf("byte %#x taken twice", a)
			}
			taken[a] = true
		}
	}
	n := 0
	for {
		at, ok := g.take(g.base, g.base+pageSize)
		if !ok {
			break
		}
		n++
		for a := at; a < at+stubLen; a++ {
			taken[a] = true
		}
	}
	for a, run := g.base, 0; a < g.base+pageSize; a++ {
		if taken[a] {
			run = 0
			continue
		}
		if run++; run == stubLen {
			t.Fatalf("a full page has room at %#x", a-stubLen+1)
		}
	}
}

func TestGaps(t *testing.T) {
	maps := []process.Mapping{
		{Start: 0x400000, End: 0x500000, Path: "/bin/prog"},
		{Start: 0x600000, End: 0x700000, Path: "[heap]"},
		{Start: 0x7f0000000000, End: 0x7f0000010000, Path: "/lib/x.so"},
		{Start: 0x7ffd00000000, End: 0x7ffd00021000, Path: "[stack]"},
	}
	g := newGaps(maps)
	for _, tt := range []struct {
		lo, hi, want uint64
		ok           bool
	}{
		{0x3ff800, 0x3ff900, 0x3ff000, true},
		{0x3ff900, 0x3ffa00, 0, false}, // the page is taken now
		{0x450000, 0x450100, 0, false},
		{0x4fffff, 0x500001, 0x500000, true},
		{0x700000, 0x710000, 0, false},             // the heap grows there
		{0x7ffcffff0000, 0x7ffcffff1000, 0, false}, // the stack grows there
		{0x7f0000010000, 0x7f0000010001, 0x7f0000010000, true},
		{0, 0x100, 0, false},
	} {
		got, ok := g.page(tt.lo, tt.hi)
		if got != tt.want || ok != tt.ok {
			t.Errorf("page(%#x, %#x) = %#x, %v; want %#x, %v", tt.lo, tt.hi, got, ok, tt.want, tt.ok)
		}
	}
}
