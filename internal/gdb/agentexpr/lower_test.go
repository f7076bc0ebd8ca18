package agentexpr_test

import (
	"encoding/binary"
	"reflect"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/eval"
	"github.com/jalon-trace/jalon/internal/ring"
)

// action validates instructions separated by semicolons.
func action(t *testing.T, text string) agentexpr.Action {
	t.Helper()
	list, err := agentexpr.ParseText("0 " + strings.Join(strings.Split(text, "; "), "\n0 "))
	check(t, err)
	e, err := agentexpr.Validate(agentexpr.Encode(list), agentexpr.ForAction)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return agentexpr.Action{Kind: agentexpr.Evaluate, Expr: e}
}

func oneVariable(n int) (agentexpr.Variable, bool) {
	return agentexpr.Variable{Index: 0, Now: n == 2}, n == 1 || n == 2
}

// TestIncrement: GDB's bytecode for "$n = $n + constant" adds atomically; similar bytecode does not. Variable 1
// is initially 41, rax 1.
func TestIncrement(t *testing.T) {
	for _, c := range []struct {
		code string
		add  bool
		want uint64
	}{
		{"getv 1; const8 1; add; ext 64; setv 1; end", true, 42},
		{"getv 1; tracev 1; const8 2; add; ext 64; setv 1; tracev 1; pop; end", true, 43},
		{"getv 1; const8 1; sub; ext 64; setv 1; pop; end", true, 40},
		{"getv 1; const8 255; ext 8; add; ext 64; setv 1; end", true, 40},
		{"getv 1; const8 1; add; ext 32; setv 1; end", false, 42},
		{"getv 1; const8 2; mul; ext 64; setv 1; end", false, 82},
		{"const8 5; const8 1; add; ext 64; setv 1; end", false, 6},
		{"getv 1; const8 1; add; ext 64; setv 1; const8 3; add; setv 1; end", false, 45},
		// The sum is reached by a jump, with other numbers.
		{"const8 7; const8 3; reg 0; if_goto 17; pop; pop; getv 1; const8 5; add; setv 1; pop; end", false, 10},
	} {
		site := &agentexpr.Site{Actions: []agentexpr.Action{action(t, c.code)}}
		p, _, err := agentexpr.Lower(site, &agentexpr.Options{Var: oneVariable})
		check(t, err)
		check(t, ir.Optimize(p))
		m := &eval.Machine{RecordRoom: true, Vars: []uint64{41}}
		m.Regs[0] = 1
		if o := eval.Run(p, m); o.Vars[0] != c.want {
			t.Errorf("%s: %d, want %d\n%s", c.code, o.Vars[0], c.want, p)
		}
		if got := strings.Contains(p.String(), "addvar"); got != c.add {
			t.Errorf("%s: adds %v\n%s", c.code, got, p)
		}
	}
}

// TestTime: $trace_timestamp is collected everywhere, and a number for the kernel
// engine only.
func TestTime(t *testing.T) {
	site := &agentexpr.Site{Actions: []agentexpr.Action{action(t, "getv 2; tracev 2; pop; end")}}
	p, lay, err := agentexpr.Lower(site, &agentexpr.Options{Var: oneVariable})
	check(t, err)
	f := lay.Frame(eval.Run(p, &eval.Machine{RecordRoom: true}).Record)
	if len(f.Blocks) != 1 || !f.Blocks[0].Now || f.Blocks[0].Var != 2 {
		t.Errorf("%+v", f.Blocks)
	}
	site.Actions = []agentexpr.Action{action(t, "getv 2; const8 1; add; end")}
	site.Actions[0].Value = true
	p, lay, err = agentexpr.Lower(site, &agentexpr.Options{Var: oneVariable, Kernel: true})
	check(t, err)
	m := &eval.Machine{RecordRoom: true}
	m.Env[ir.EnvTime] = 5000999
	if f := lay.Frame(eval.Run(p, m).Record); f.Blocks[0].Value != 5001 {
		t.Errorf("%+v", f.Blocks)
	}
}

// TestRefused: what a site cannot do is said in words.
func TestRefused(t *testing.T) {
	expr := func(text string) []agentexpr.Action { return []agentexpr.Action{action(t, text)} }
	for _, c := range []struct {
		actions []agentexpr.Action
		opt     agentexpr.Options
		want    string
	}{
		{expr("getv 3; pop; end"), agentexpr.Options{Var: oneVariable}, "byte 0: there is no trace state variable 3"},
		{expr("getv 1; pop; end"), agentexpr.Options{}, "byte 0: there is no trace state variable 1"},
		{expr("getv 2; const8 1; add; end"), agentexpr.Options{Var: oneVariable}, "byte 0: the time of the hit can be collected here, not computed with"},
		{expr("const8 1; setv 2; end"), agentexpr.Options{Var: oneVariable}, "byte 2: the time cannot be set"},
		{expr("reg 59; end"), agentexpr.Options{}, "byte 0: register gs_base cannot be read here"},
		{expr("reg 0; end"), agentexpr.Options{Kernel: true}, "byte 0: register rax cannot be read here"},
		{expr("reg 0; const32 70000; trace; end"), agentexpr.Options{}, "byte 8: 70000 bytes of memory; a record holds 65536"},
		{expr("reg 0; trace16 40000; trace16 40000; end"), agentexpr.Options{}, "the actions collect up to 80048 bytes; a record holds 65536"},
		{[]agentexpr.Action{{Kind: agentexpr.CollectStatic}}, agentexpr.Options{}, "there is no static tracepoint here whose data could be collected"},
		{[]agentexpr.Action{{Kind: agentexpr.CollectMemory, Base: 40, Len: 4}}, agentexpr.Options{}, "action 1: register 40 is no base of an address"},
		{[]agentexpr.Action{{Kind: agentexpr.CollectMemory, Base: -1, Len: -4}}, agentexpr.Options{}, "action 1: -4 bytes of memory"},
		{[]agentexpr.Action{{Kind: agentexpr.Evaluate}}, agentexpr.Options{}, "action 1: an action without its expression"},
		{[]agentexpr.Action{{Kind: 9}}, agentexpr.Options{}, "action 1: unknown action 9"},
	} {
		_, _, err := agentexpr.Lower(&agentexpr.Site{Actions: c.actions}, &c.opt)
		if err == nil || strings.TrimPrefix(err.Error(), "agent expression, ") != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	cond := action(t, "reg 0; end").Expr
	if _, _, err := agentexpr.Lower(&agentexpr.Site{Cond: cond}, &agentexpr.Options{}); err == nil {
		t.Error("an expression validated as an action is taken as a condition")
	}
}

// TestPC: rip is what the options say, in masks and in expressions.
func TestPC(t *testing.T) {
	a := action(t, "reg 16; const8 1; add; end")
	a.Value = true
	site := &agentexpr.Site{Actions: []agentexpr.Action{{Kind: agentexpr.CollectRegs, Regs: []int{16}}, a}}
	p, lay, err := agentexpr.Lower(site, &agentexpr.Options{Kernel: true, PtRegs: true, PC: 0x1234})
	check(t, err)
	f := lay.Frame(eval.Run(p, &eval.Machine{RecordRoom: true}).Record)
	if little(f.Regs[0].Data) != 0x1234 || f.Blocks[0].Value != 0x1235 {
		t.Errorf("%+v", f)
	}
	if lay.RecordSize != ring.RecHeader+8 {
		t.Errorf("a record of %d bytes: rip is in it", lay.RecordSize)
	}
}

// TestChain: the addresses of what pointers lead to are counted from the pointers,
// where these are in the record on every way.
func TestChain(t *testing.T) {
	const base = 0x10000
	mem := make(paged, 64)
	for _, p := range []struct{ at, to uint64 }{{0, base + 8}, {24, base + 32}} {
		binary.LittleEndian.PutUint64(mem[p.at:], p.to)
	}
	mem[34] = 7
	for _, c := range []struct {
		code string
		size int // of the record: header, 8 + 8 + 2 bytes, where it failed, and
	}{
		// nothing more: p->b->c, with b at 16 and c of two bytes at 2
		{"const32 65536; trace_quick 8; ref64; const8 16; add; trace_quick 8; ref64; const8 2; add; trace_quick 2; pop; end", 64},
		// two addresses and a mark: a jump leads behind the first pointer
		{"const32 65536; reg 0; if_goto 13; trace_quick 8; ref64; const8 16; add; trace_quick 8; ref64; const8 2; add; trace_quick 2; pop; end", 88},
	} {
		site := &agentexpr.Site{Actions: []agentexpr.Action{action(t, c.code)}}
		p, lay, err := agentexpr.Lower(site, &agentexpr.Options{})
		check(t, err)
		if lay.RecordSize != c.size {
			t.Errorf("%s: a record of %d bytes\n%s", c.code, lay.RecordSize, p)
		}
		for _, optimise := range []bool{false, true} {
			if optimise {
				check(t, ir.Optimize(p))
			}
			for rax := range uint64(2) {
				m, run := &agentexpr.Machine{Mem: mem}, &eval.Machine{RecordRoom: true, Mem: mem}
				m.Regs[0], run.Regs[0] = rax, rax
				want, got := site.Run(m).Frame, lay.Frame(eval.Run(p, run).Record)
				if n := len(want.Blocks); n < 2 || rax == 0 && n != 3 || len(want.Failures) != 0 || !reflect.DeepEqual(got, want) {
					t.Errorf("%s: got %+v, want %+v", c.code, got, want)
				}
			}
		}
	}
}

// paged is memory from 0x10000 on.
type paged []byte

// Read implements agentexpr.Memory.
func (m paged) Read(addr uint64, buf []byte) int {
	if addr -= 0x10000; addr >= uint64(len(m)) {
		return 0
	}
	return copy(buf, m[addr:])
}

// TestTrusted: what is known to be readable is read without a guard, and the record
// has one copy of the register that addresses count from.
func TestTrusted(t *testing.T) {
	site := &agentexpr.Site{Actions: []agentexpr.Action{
		action(t, "reg 6; const8 236; ext 8; add; trace_quick 4; ref32; ext 32; reg 6; const8 232; ext 8; add; trace_quick 4; ref32; ext 32; add; pop; end"),
	}}
	guarded, _, err := agentexpr.Lower(site, &agentexpr.Options{})
	check(t, err)
	trusted, lay, err := agentexpr.Lower(site, &agentexpr.Options{Trusted: func(base, off, size int64) bool { return base == 6 && off < 0 && off+size <= 0 }})
	check(t, err)
	check(t, ir.Optimize(guarded))
	check(t, ir.Optimize(trusted))
	if g, w := strings.Count(guarded.String(), "fault"), strings.Count(trusted.String(), "fault"); g != 2 || w != 0 {
		t.Errorf("%d and %d fault edges\n%s\n%s", g, w, guarded, trusted)
	}
	if len(trusted.Blocks) != 1 || lay.RecordSize != 40 {
		t.Errorf("a record of %d bytes\n%s", lay.RecordSize, trusted)
	}
}
