package interp

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/check"
	"github.com/jalon-trace/jalon/internal/script/printf"
	"github.com/jalon-trace/jalon/internal/script/types"
)

func TestSpeculate(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{`begin { speculate(1); printf("kept "); } end { printf("first "); commit(1); printf("last\n"); }`, "first kept last\n"},
		{`begin { speculate(1); printf("dropped "); } end { discard(1); commit(1); printf("last\n"); }`, "last\n"},
		{`begin { printf("now "); speculate(1); printf("a"); speculate(2); printf("b"); } begin { printf("other "); } end { commit(2); commit(1); printf("\n"); }`, "now other ba\n"},
		{`begin { speculate(1); printf("a"); } begin { speculate(1); printf("b"); commit(1); printf("c"); }`, "abc"},
		{`begin { speculate(5); printf("lost"); }`, ""},
		{`begin { speculate(5); printf("x"); exit(); } end { printf("end"); }`, "end"},
		{`begin { disable("tick"); } tick=interval:us:10 { printf("never"); exit(); } interval:ms:20 { @n++; if (@n == 2) { exit(); } } end { clear(@n); printf("end"); }`, "end"},
		{`begin { disable("a"); enable("a"); } a=interval:us:10 { printf("once"); disable("a"); } interval:ms:20 { exit(); }`, "once"},
	} {
		if got := output(t, c.src, false); got != c.want {
			t.Errorf("%s: %q, want %q", c.src, got, c.want)
		}
	}
}

// TestSpeculationLimit: a script that never commits does not take all memory, and says so.
func TestSpeculationLimit(t *testing.T) {
	got := output(t, `begin { for ($i : 0..5000) { speculate($i); } speculate(1); for ($i : 0..20000) { printf("%1024d", $i); } } end { discard(1); }`, false)
	if strings.Count(got, "warning: there is no room for more output") != 2 || strings.Count(got, "times") != 2 {
		t.Errorf("%q", got)
	}
}

func TestLabels(t *testing.T) {
	s, err := script.Parse("t", `begin { disable("none"); }`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := check.Check(s, check.Options{}); err == nil || !strings.Contains(err.Error(), `no probe has the label "none"`) {
		t.Error(err)
	}
}

// TestFolded prints stacks as flame graphs need them.
func TestFolded(t *testing.T) {
	s, err := script.Parse("t", `begin { @["x"] = 1; }`)
	if err != nil {
		t.Fatal(err)
	}
	p, err := check.Check(s, check.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	m := New(p, Options{Out: &b, Err: &b, Now: time.Now, Folded: true})
	if err := m.Loop(context.Background(), context.Background(), nil, func() {}); err != nil {
		t.Fatal(err)
	}
	stack := func(k types.Kind) *types.Type { return &types.Type{Kind: k, Stack: types.Stack{Mode: "bpftrace"}} }
	key := types.TupleOf([]*types.Type{types.StringOf(16), stack(types.KStack), stack(types.UStack)})
	tb := &table{Map: &check.Map{Name: "@s", Key: key, Value: types.CountT}, elems: map[string]*cell{}, limit: 10}
	add := func(n uint64, comm string, kernel, user []printf.Frame) {
		k := val{list: []val{{s: comm}, {stack: kernel, s: comm}, {stack: user}}}
		tb.make(k).count = n
	}
	add(3, "a;b", []printf.Frame{{Function: "read"}, {Function: "syscall"}}, []printf.Frame{{Function: "f(int, x)"}, {PC: 0x10}, {Function: "main"}})
	add(2, "a", nil, []printf.Frame{{Function: "main"}})
	m.print(tb, 0, 1)
	m.PrintMaps()
	const want = "a,b;main;0x10;f(int,_x);syscall_[k];read_[k] 3\na;main 2\n@[x]: 1\n"
	if b.String() != want {
		t.Errorf("got %q\nwant %q", b.String(), want)
	}
}

// TestLive prints maps again and again.
func TestLive(t *testing.T) {
	s, err := script.Parse("t", `begin { @x = 1; } interval:us:100 { @x++; if (@x > 1000) { exit(); } }`)
	if err != nil {
		t.Fatal(err)
	}
	p, err := check.Check(s, check.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	m := New(p, Options{Out: &b, Err: &b, Now: time.Now, Live: time.Millisecond, Clear: func() { b.WriteString("<clear>") }})
	if err := m.Loop(context.Background(), context.Background(), nil, func() {}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "<clear>@x: "); n < 5 {
		t.Errorf("%d times: %q", n, b.String())
	}
}
