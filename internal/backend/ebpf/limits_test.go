package ebpf

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ir"
)

// TestDeep: more values than registers and stack slots at once either compile
// and are right, or are refused in words.
func TestDeep(t *testing.T) {
	m := newMachine(t)
	l, size := layout()
	refused := 0
	for _, n := range []int{5, 9, 10, 12, 20, 40, 58, 64, 80, 300} {
		p := deep(n)
		must(t, ir.Check(p))
		insns, err := Compile(p, Config{Name: mapName, Layout: l, Slack: testSlack, MapSize: size, Features: m.full})
		if err != nil {
			t.Logf("%d values: %v", n, err)
			refused++
			if n < 60 {
				t.Errorf("%d values are refused", n)
			}
			continue
		}
		prog := m.load(insns)
		want := uint64(0)
		for k := n - 1; k >= 0; k-- {
			want = want*3 + 1000*7 + uint64(k)
		}
		if got := m.result(prog, 1000, 7); got != want {
			t.Errorf("%d values: %#x, want %#x", n, got, want)
		}
		prog.Close()
	}
	if refused == 0 {
		t.Error("300 values at once fit: the test does not test the limit")
	}
}

// deep makes n values before it uses the first.
func deep(n int) *ir.Program {
	text := "b0:\nv0 = ctx.8 8\nv1 = ctx.8 16\nv2 = mul.8 v0, v1\nv3 = const 3\nv4 = const 0\n"
	next := 5
	for k := range n {
		text += fmt.Sprintf("v%d = const %d\nv%d = add.8 v2, v%d\n", next, k, next+1, next)
		next += 2
	}
	sum := 4
	for k := n - 1; k >= 0; k-- {
		text += fmt.Sprintf("v%d = mul.8 v%d, v3\nv%d = add.8 v%d, v%d\n", next, sum, next+1, next, 6+2*k)
		sum = next + 1
		next += 2
	}
	text += fmt.Sprintf("reserve 32\nput.8 @24, v%d\ncommit\nexit", sum)
	p, err := ir.Parse(text)
	if err != nil {
		panic(err)
	}
	return p
}

// TestLarge: a condition that jumps over more than 32,767 instructions.
func TestLarge(t *testing.T) {
	m := newMachine(t)
	l, size := layout()
	var text strings.Builder
	text.WriteString("b0:\nv0 = ctx.8 8\nv1 = ctx.8 16\nv2 = slt.8 v0, v1\nbrif v2 -> b2(v0) else b1()\nb1:\n")
	last := 1
	const n = 40000
	for k := range n {
		fmt.Fprintf(&text, "v%d = mul.8 v%d, v0\n", 3+k, last)
		last = 3 + k
	}
	fmt.Fprintf(&text, "jump b2(v%d)\nb2(v%d):\nreserve 32\nput.8 @24, v%d\ncommit\nexit", last, n+3, n+3)
	p, err := ir.Parse(text.String())
	must(t, err)
	must(t, ir.Check(p))
	cfg := Config{Name: mapName, Layout: l, Slack: testSlack, MapSize: size, Features: m.full}
	insns, err := Compile(p, cfg)
	must(t, err)
	prog := m.load(insns)
	defer prog.Close()
	if got := m.result(prog, 5, 6); got != 5 {
		t.Errorf("over the jump: %d", got)
	}
	want := uint64(2)
	for range n {
		want *= 3
	}
	if got := m.result(prog, 3, 2); got != want {
		t.Errorf("without it: %#x, want %#x", got, want)
	}
	cfg.Features.V4 = false
	if _, err := Compile(p, cfg); err == nil {
		t.Error("compiles without long jumps")
	} else {
		t.Log(err)
	}
}

// TestManyLoads: a long chain of guarded loads and comparisons whose values are
// all used at the end does not take the verifier's patience.
func TestManyLoads(t *testing.T) {
	m := newMachine(t)
	const n = 200
	for _, f := range []Features{m.full, {FSBase: -1, TaskComm: -1}} {
		var text strings.Builder
		v := 3
		fmt.Fprintf(&text, "b0:\nv0 = ctx.8 8\nv1 = const 77\nv2 = const 0\njump b1(v2)\n")
		for k := range n {
			fmt.Fprintf(&text, "b%d(v%d):\nv%d = load.8 v0+%d fault b%d\nv%d = eq.8 v%d, v1\nbrif v%d -> b%d(v1) else b%d()\n",
				3*k+1, v, v+1, 8*k, 3*n+2, v+2, v+1, v+2, 3*n+2, 3*k+2)
			fmt.Fprintf(&text, "b%d:\nv%d = streq v%d, \"none\" fault b%d\nv%d = add.8 v%d, v%d\njump b%d(v%d)\n", 3*k+2, v+3, 0, 3*k+3, v+4, v, v+1, 3*k+4, v+4)
			fmt.Fprintf(&text, "b%d(v%d):\njump b%d(v%d)\n", 3*k+3, v+5, 3*k+4, v+5)
			v += 6
		}
		fmt.Fprintf(&text, "b%d(v%d):\nreserve 32\nput.8 @24, v%d\ncommit\nexit\nb%d(v%d):\ncount 1\nexit", 3*n+1, v, v, 3*n+2, v+1)
		cfg := m.config()
		cfg.Features = f
		p := m.program(text.String(), cfg)
		want := uint64(0)
		for k := range n {
			binary.LittleEndian.PutUint64(m.highMem[8*k:], uint64(k%3)*1000) // one in three is zero
			want += uint64(k%3) * 1000
		}
		if got := m.result(p, m.highAt, 0); got != want {
			t.Errorf("%d, want %d", got, want)
		}
		info, err := p.Info()
		must(t, err)
		seen, _ := info.VerifiedInstructions()
		t.Logf("%d instructions verified", seen)
		p.Close()
	}
}

// TestManyPasses: the verifier follows a loop that follows several pointers, each of which may be unreadable, a few times, and not once
// for each combination of what it knows of them.
func TestManyPasses(t *testing.T) {
	m := newMachine(t)
	const n, most = 30, 8000
	for _, f := range []Features{m.full, {FSBase: -1, TaskComm: -1}} {
		var text strings.Builder
		fmt.Fprintf(&text, "b0:\nv0 = ctx.8 8\nv1 = const 0\njump b1(v0, v0, v0)\n")
		v, next := 2, func(block int) int { return 7*block + 1 }
		for k := range n {
			b := next(k)
			p, q, r, a, c := v, v+1, v+2, v+3, v+5
			fmt.Fprintf(&text, "b%d(v%d, v%d, v%d):\nv%d = load.8 v%d+8 fault b%d\njump b%d(v%d)\n", b, p, q, r, a, p, b+1, b+2, a)
			fmt.Fprintf(&text, "b%d(v%d):\njump b%d(v1)\n", b+1, v+4, b+2)
			fmt.Fprintf(&text, "b%d(v%d):\nv%d = load.8 v%d+16 fault b%d\njump b%d(v%d)\n", b+2, c, v+6, q, b+3, b+4, v+6)
			fmt.Fprintf(&text, "b%d(v%d):\njump b%d(v1)\n", b+3, v+7, b+4)
			fmt.Fprintf(&text, "b%d(v%d):\nv%d = load.8 v%d+24 fault b%d\nv%d = eq.8 v%d, v%d\nbrif v%d -> b%d(v%d, v%d, v%d) else b%d(v%d, v%d, v%d)\n",
				b+4, v+8, v+9, r, b+5, v+10, c, v+8, v+10, next(k+1), c, v+8, v+9, b+6, q, r, p)
			fmt.Fprintf(&text, "b%d(v%d):\njump b%d(v1, v%d, v%d)\n", b+5, v+11, b+6, c, v+8)
			fmt.Fprintf(&text, "b%d(v%d, v%d, v%d):\njump b%d(v%d, v%d, v%d)\n", b+6, v+12, v+13, v+14, next(k+1), v+12, v+13, v+14)
			v += 15
		}
		fmt.Fprintf(&text, "b%d(v%d, v%d, v%d):\nreserve 32\nput.8 @24, v%d\ncommit\nexit\n", next(n), v, v+1, v+2, v+1)
		cfg := m.config()
		cfg.Features = f
		p := m.program(text.String(), cfg)
		for k := range n {
			for off := 8; off <= 24; off += 8 {
				binary.LittleEndian.PutUint64(m.highMem[32*k+off:], m.highAt+32*uint64(k+1))
			}
		}
		if got, want := m.result(p, m.highAt, 0), m.highAt+32*n; got != want {
			t.Errorf("%#x, want %#x", got, want)
		}
		info, err := p.Info()
		must(t, err)
		seen, known := info.VerifiedInstructions()
		t.Logf("%d instructions verified", seen)
		if known && seen > most {
			t.Errorf("the verifier followed %d instructions, more than %d", seen, most)
		}
		p.Close()
	}
}
