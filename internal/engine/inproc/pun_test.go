package inproc

import (
	"math/rand"
	"testing"

	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/test/testkit"
)

// TestStubs fills pages with stubs in random ranges: no stub overlaps another or begins outside its range,
// and a page is full before it refuses a range of its own size.
func TestStubs(t *testing.T) {
	r := rand.New(rand.NewSource(testkit.Seed(t, 1)))
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

// TestBehindPun: the addresses in the trampoline of a punned jump. It ends with copies of instructions that stay in the
// program: they are shown as these, but no thread is moved to them.
func TestBehindPun(t *testing.T) {
	const lo, at, stub = 0x401000, 0x500000, 0x4ff000
	code := []byte{0x01, 0xf7, 0x83, 0xc0, 0x01, 0x8b, 0x00, 0xc3} // add; add; mov (%rax); ret
	plan, err := patch.Make(&patch.Code{Lo: lo, Hi: lo + uint64(len(code)), Bytes: code}, lo, patch.Options{Pun: true, Avoid: 1<<patch.Jump | 1<<patch.JumpMany})
	if err != nil || plan.Tactic != patch.Pun {
		t.Fatal(plan, err)
	}
	p := &placed{plan: plan, at: at, stub: stub}
	hit := []byte{0x90, 0x90, 0x90}
	if p.code, p.pcs, err = plan.Emit(at, func(_, _ uint64) ([]byte, error) { return hit, nil }); err != nil {
		t.Fatal(err)
	}
	p.size = uint64(len(p.code))
	if p.heldEnd() != lo+7 || p.end() != lo+2 {
		t.Errorf("end %#x, held to %#x", p.end(), p.heldEnd())
	}
	var tab tableRef
	tab.add(&tables{origin: p.copies()})
	for _, x := range []struct {
		pc, orig uint64
		copied   bool // of an instruction of the program, which a fault there is shown at
	}{{stub, lo, false}, {at, lo, false}, {at + 3, lo, true}, {at + 5, lo + 2, true}, {at + 8, lo + 5, true}, {at + 10, lo + 7, false}} {
		if w, ok := p.codeAt(x.pc); !ok || !w.Boundary || w.Orig != x.orig || w.Back != (x.orig == lo+7) {
			t.Errorf("%#x: %+v", x.pc, w)
		}
		if to, _ := p.wayBack(x.pc); to != x.orig {
			t.Errorf("a thread at %#x is moved back to %#x, want %#x", x.pc, to, x.orig)
		}
		if o, ok := tab.get().back(x.pc); ok != x.copied || ok && (o.PC != x.orig || o.Lo != o.Hi) {
			t.Errorf("%#x is shown as %+v, %v", x.pc, o, ok)
		}
	}
	l := &patches{in: []*placed{p}}
	for addr, ok := range map[uint64]bool{lo: true, lo + 2: false, lo + 5: false} {
		if pc, got := l.copyOf(addr); got != ok || ok && pc != at+3 {
			t.Errorf("the copy of %#x is %#x, %v", addr, pc, got)
		}
	}
	if l.at(lo+6) != p || l.at(lo+7) != nil {
		t.Error("the patch depends on the bytes of the last instruction that it copies")
	}
	// No thread is moved to a copy: the instructions are in the program, too.
	if mv, err := threadMoves(nil, innerOf([]*placed{p}), []*placed{p}); err != nil || len(mv.blocked) > 0 {
		t.Error(mv, err)
	}
}
