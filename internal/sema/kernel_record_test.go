package sema

import (
	"encoding/binary"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/test/testkit"
)

func TestSData(t *testing.T) {
	s, m, rec := recordScope()
	in := kernelInput(ContextRecord)
	in.Kernel.SData = &SData{Type: rec, Fixed: 88, Dynamic: []int64{32, 36, 40, 44}, Text: &event.KernelText{Event: "x"}}
	r := kernelRun(t, s, m, in, "args->word < 0", "$_sdata, word, $sdata")
	f := r.schema.Fields
	head := "\x00\x00\x00\x00" + "\x93\x10\x00\x00" // common_pid is the thread
	for _, i := range []int{0, 2} {
		got, flags := r.counted(f[i].Offset)
		if got != head+string(m.Context[8:119]) || flags != 0 || f[i].Kind != event.SData || f[i].Type != rec || f[i].Text != in.Kernel.SData.Text {
			t.Errorf("%s: %d bytes, flags %d: %x", f[i].Name, len(got), flags, got)
		}
	}
	if f[0].Size != 8+88+4*DefaultStringLimit || f[0].StatusOffset < 0 {
		t.Errorf("%+v", f[0])
	}
	in.StringLimit = 2
	r = kernelRun(t, s, m, in, "", "$_sdata")
	if got, flags := r.counted(r.schema.Fields[0].Offset); len(got) != 96 || flags != 1 {
		t.Errorf("limited: %d bytes, flags %d", len(got), flags)
	}
	in.Kernel.SData.Dynamic = nil
	r = kernelRun(t, s, m, in, "", "$_sdata")
	if got, flags := r.counted(r.schema.Fields[0].Offset); len(got) != 88 || flags != 0 || r.schema.Fields[0].StatusOffset >= 0 {
		t.Errorf("without arrays: %d bytes, flags %d", len(got), flags)
	}
	binary.LittleEndian.PutUint32(m.Context[32:], 500<<16|0xffff)
	in.Kernel.SData.Dynamic, in.StringLimit = []int64{32}, 50_000
	if r = kernelRun(t, s, m, in, "", "$_sdata"); r.status(0) != event.Unreadable {
		t.Errorf("a length that lies: status %d", r.status(0))
	}
}

// TestKernelDecisions: filters, gates, and programs that decide for another.
func TestKernelDecisions(t *testing.T) {
	s, m := regsScope()
	outcome := func(k KernelInput, cond string, given uint64) string {
		t.Helper()
		in := kernelInput(ContextRegs)
		k.Context = ContextRegs
		in.Kernel = &k
		collect := "count"
		if k.Give || k.Gate {
			collect = "count, nothing_of_this_name"
		}
		out := compile(t, s, in, cond, collect)
		checkProgram(t, out)
		m.Given = given
		r := run(t, out, m)
		res := "-"
		if r.Result != nil {
			res = fmt.Sprint(*r.Result)
		}
		return fmt.Sprintf("%v %v given %d result %s", r.Record != nil, r.Counters[:2], r.Given, res)
	}
	for _, tt := range []struct {
		k     KernelInput
		cond  string
		given uint64
		want  string
	}{
		{KernelInput{}, "", 0, "true [0 0] given 0 result -"},
		{KernelInput{Tgid: 4242}, "", 0, "true [0 0] given 0 result -"},
		{KernelInput{Tgid: 4243}, "", 0, "false [0 0] given 0 result -"},
		{KernelInput{Tgid: 4243}, "count == 1", 0, "false [0 0] given 0 result -"},
		{KernelInput{Tgid: 4242, Cgroup: 77}, "count == 4096", 0, "true [0 0] given 0 result -"},
		{KernelInput{Cgroup: 78}, "", 0, "false [0 0] given 0 result -"},
		{KernelInput{Cgroup: 77}, "count == 1", 0, "false [1 0] given 0 result -"},
		{KernelInput{Self: 4242}, "count == 4096", 0, "false [0 0] given 0 result -"},
		{KernelInput{Self: 4243}, "count == 4096", 0, "true [0 0] given 0 result -"},
		{KernelInput{Self: 4242}, "count == 1", 0, "false [1 0] given 0 result -"},
		{KernelInput{Gate: true}, "count == 4096", 0, "false [0 0] given 0 result 1"},
		{KernelInput{Gate: true}, "count == 1", 0, "false [1 0] given 0 result 0"},
		{KernelInput{Gate: true}, "*(int *)8 == 1", 0, "false [0 1] given 0 result 0"},
		{KernelInput{Gate: true, Tgid: 1}, "count == 4096", 0, "false [0 0] given 0 result 0"},
		{KernelInput{Gate: true}, "", 0, "false [0 0] given 0 result 1"},
		{KernelInput{Give: true}, "count == 4096", 0, "false [0 0] given 1 result -"},
		{KernelInput{Give: true}, "count == 1", 0, "false [1 0] given 0 result -"},
		{KernelInput{Give: true, Tgid: 1}, "count == 4096", 0, "false [0 0] given 0 result -"},
		{KernelInput{Take: true}, "", 1, "true [0 0] given 0 result -"},
		{KernelInput{Take: true, Tgid: 1}, "", 1, "true [0 0] given 0 result -"},
		{KernelInput{Take: true, Gate: true}, "", 1, "false [0 0] given 0 result 1"},
		{KernelInput{Take: true, Gate: true}, "", 0, "false [0 0] given 0 result 0"},
		{KernelInput{Take: true}, "", 0, "false [0 0] given 0 result -"},
	} {
		if got := outcome(tt.k, tt.cond, tt.given); got != tt.want {
			t.Errorf("%+v if %s: %s, want %s", tt.k, tt.cond, got, tt.want)
		}
	}
}

// TestKernelOrder: the filters are the first thing, then the condition; only then
// something is copied.
func TestKernelOrder(t *testing.T) {
	s, _, rec := recordScope()
	in := kernelInput(ContextRecord)
	in.Kernel.Tgid, in.Kernel.SData = 4242, &SData{Type: rec, Fixed: 88}
	out := compile(t, s, in, "args->word == 3 && args->name == \"x\"", "$_sdata, $bt, name")
	checkProgram(t, out)
	reserved, conditions := false, 0
	for n, b := range out.Program.Blocks {
		for i, in := range b.Instrs {
			switch info := in.Op.Info(); {
			case n == 0 && i == 0 && (in.Op != ir.Env || in.Imm != ir.EnvPidTgid):
				t.Errorf("first is %v", in.Op)
			case n == 0 && in.Op == ir.Ctx:
				t.Error("the record is read before the filter")
			case in.Op == ir.Reserve:
				reserved = true
			case info.Record && !reserved:
				t.Errorf("%v before the room is reserved", in.Op)
			}
		}
		if !reserved && b.Term.Kind == ir.Branch {
			conditions++
		}
	}
	if conditions < 3 || !reserved {
		t.Errorf("%d branches before the room is reserved:\n%s", conditions, out.Program)
	}
}

// TestContextBits: members of any size at any place in the context block, by
// aligned reads that stay inside of the variable.
func TestContextBits(t *testing.T) {
	seed := testkit.Seed(t, 7)
	r := rand.New(rand.NewSource(seed))
	scalars := []*ctype.Type{ctype.CharT, ctype.UCharT, ctype.ShortT, ctype.UShortT, ctype.IntT, ctype.UIntT, ctype.LongT, ctype.ULongT, ctype.BoolT, ctype.DoubleT, ctype.FloatT}
	checked := 0
	for round := range 1500 {
		block := make([]byte, 256)
		r.Read(block)
		s, m := kernelScope()
		setContext(m, block)
		base, size := int64(r.Intn(64)), int64(1+r.Intn(100))
		if round%2 == 0 {
			base &^= 7
		}
		st := &ctype.Type{Kind: ctype.Struct, Name: "random", Size: size}
		var fields []ctype.Field
		for i := range 6 {
			f := ctype.Field{Name: fmt.Sprintf("m%d", i), Type: scalars[r.Intn(len(scalars))]}
			room := size*8 - f.Type.Size*8
			if room < 0 {
				f.Type, room = ctype.CharT, size*8-8
			}
			f.BitOffset = r.Int63n(room+1) &^ 7
			if f.Type.IsInteger() && f.Type.Kind != ctype.Bool && r.Intn(2) == 0 {
				f.BitSize = 1 + r.Int63n(f.Type.Size*8)
				f.BitOffset = r.Int63n(size*8 - f.BitSize + 1)
			}
			fields = append(fields, f)
		}
		st.SetFields(fields)
		s.add("v", st, ctxPiece(base))
		s.add("w", st, debuginfo.Piece{Kind: debuginfo.InContext, Ctx: base, BitSize: size * 8 / 2 &^ 7}, debuginfo.Piece{Kind: debuginfo.InContext, Ctx: base + size/2, BitSize: size*8 - size*8/2&^7})
		for i, f := range fields {
			for _, v := range []string{"v", "w"} {
				out := compile(t, s, kernelInput(ContextArgs), "", fmt.Sprintf("%s.m%d", v, i))
				noFloats(t, out)
				for _, b := range out.Program.Blocks {
					for _, in := range b.Instrs {
						if in.Op == ir.Ctx && (in.Imm < base || in.Imm+int64(in.W) > base+size) {
							t.Fatalf("seed %d, round %d: a read at %d of the variable at %d, %d bytes:\n%s", seed, round, in.Imm, base, size, out.Program)
						}
					}
				}
				bits := f.BitSize
				if bits == 0 {
					bits = f.Type.Size * 8
				}
				want := bitsFrom(block[base:], f.BitOffset, bits)
				if isSigned(f.Type) && bits < 64 {
					want = uint64(int64(want<<(64-bits)) >> (64 - bits))
				}
				if n := uint(f.Type.Size * 8); n < 64 {
					want &= 1<<n - 1
				}
				if got := run(t, out, m).uint(0); got != want {
					t.Fatalf("seed %d, round %d: %s.%s (%s at %d, %d bits) = %#x, want %#x:\n%s", seed, round, v, f.Name, typeString(f.Type), f.BitOffset, f.BitSize, got, want, out.Program)
				}
				checked++
			}
		}
	}
	if checked < 15_000 {
		t.Errorf("%d members checked", checked)
	}
}

func TestNames(t *testing.T) {
	for _, tt := range []struct{ expr, want string }{
		{"next->prio < 100 && prev->mm", "next prev"},
		{"args->flags & 64", "args->flags"},
		{"args.flags + args->mode == args->flags", "args->flags args->mode"},
		{"*args", "args"},
		{"str(args->p, n) == \"x\"", "args->p n"},
		{"'a.c'::x + ::y + $rax * $pid", "a.c::x ::y $rax $pid"},
		{"(x ? y[i] : -z), (char)q, sizeof w, sizeof(int), p@n, a = b, i++, f.g(h)", "x y i z q w p n a b f h"},
		{"this_cpu(rq).nr + per_cpu(rq2, c) + kaddr(\"s\") + 1 + 'c' + 2.0", "rq rq2 c"},
	} {
		x, err := lang.ParseExpr(tt.expr)
		if err != nil {
			t.Errorf("%s: %v", tt.expr, err)
			continue
		}
		n := newNamer(&Input{Scope: newScope()})
		n.expr(x)
		if got := strings.Trim(fmt.Sprint(n.All), "[]"); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.expr, got, tt.want)
		}
	}
}
