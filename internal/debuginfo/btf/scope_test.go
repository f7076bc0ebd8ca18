package btf

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/btf/raw"
	"github.com/jalon-trace/jalon/internal/debuginfo/kallsyms"
)

func symbols(t *testing.T, text string) func() (*kallsyms.Table, error) {
	t.Helper()
	tab, err := kallsyms.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return func() (*kallsyms.Table, error) { return tab, nil }
}

// where writes a location in short: r5:32 a register and bits, c16 a context
// offset, [7+8] memory, = a value, !why.
func where(l debuginfo.Location) string {
	var out []string
	for _, p := range l.Pieces {
		s := map[debuginfo.PieceKind]string{debuginfo.InRegister: fmt.Sprint("r", p.Reg), debuginfo.InContext: fmt.Sprint("c", p.Ctx), debuginfo.IsValue: "="}[p.Kind]
		if p.Kind == debuginfo.InMemory {
			s = "["
			for _, o := range p.Expr {
				s += map[debuginfo.OpCode]string{debuginfo.OpReg: "r", debuginfo.OpConst: "", debuginfo.OpAddConst: "+"}[o.Code] + fmt.Sprintf("%#x", o.Arg)
			}
			s += "]"
		}
		if p.BitSize != 0 {
			s += fmt.Sprint(":", p.BitSize)
		}
		out = append(out, s)
	}
	if l.Unavailable != "" {
		out = append(out, "!"+l.Unavailable)
	}
	return strings.Join(out, " ")
}

func lookup(s debuginfo.Scope, name string) string {
	v, err := s.Lookup(name)
	if err != nil {
		return err.Error()
	}
	return where(v.Loc)
}

// funcsKernel has functions of all sorts of parameters and results.
func funcsKernel(t *testing.T) *Kernel {
	t.Helper()
	w, _ := handmade()
	i := w.int("long int", 8, 1, 0, 64)
	n := w.int("unsigned int", 4, 0, 0, 32)
	pair := w.add("pair", uint32(raw.Struct), 2, 12, w.str("a"), i, 0, w.str("b"), n, 64)
	big := w.add("big", uint32(raw.Struct), 3, 24, w.str("a"), i, 0, w.str("b"), i, 64, w.str("c"), i, 128)
	w.add("task_struct", uint32(raw.Struct), 1, 8, w.str("pid"), i, 0)
	unknown := w.add("unknown", kindFwd, 0, 0)
	fn := func(name string, result uint32, params ...uint32) {
		var extra []uint32
		for j, p := range params {
			extra = append(extra, w.str(string(rune('a'+j))), p)
		}
		w.add(name, uint32(raw.Func), 0, w.add("", kindProto, len(params), result, extra...))
	}
	fn("simple", i, n, pair, i)
	fn("nothing", 0)
	fn("gives_pair", pair, i)
	fn("gives_big", big, i)
	fn("many", i, i, i, i, i, i, i, n, i)
	fn("too_many", i, i, i, i, i, i, i, i, i, i, i, i, i, i)
	fn("takes_big", 0, i, big, i)
	fn("takes_unknown", 0, i, unknown, i)
	return w.kernel(t)
}

func TestEntryAndReturn(t *testing.T) {
	k := funcsKernel(t)
	for _, c := range []struct {
		s    debuginfo.Scope
		name string
		want string
	}{
		{k.EntryScope("simple", ""), "a", "r5"},
		{k.EntryScope("simple", ""), "b", "r4:64 r1:32"},
		{k.EntryScope("simple", ""), "c", "r2"},
		{k.EntryScope("simple", ""), "args", "r5:64 r4:64 r1:64 r2:64"},
		{k.EntryScope("many", ""), "f", "r9"},
		{k.EntryScope("many", ""), "g", "[r0x7+0x8]"},
		{k.EntryScope("many", ""), "h", "[r0x7+0x10]"},
		{k.EntryScope("takes_big", ""), "b", "[r0x7+0x8]"},
		{k.EntryScope("takes_big", ""), "c", "r4"},
		{k.EntryScope("takes_unknown", ""), "a", "r5"},
		{k.EntryScope("takes_unknown", ""), "c", "!the type of parameter b is not known, so its place is not"},
		{k.EntryScope("simple", ""), "curtask", "="},
		{k.ReturnScope("simple", ""), "retval", "r0"},
		{k.ReturnScope("simple", ""), "a", "!it is gone when the function returns: use fexit:simple"},
		{k.ReturnScope("gives_pair", ""), "retval", "r0:64 r1:32"},
		{k.ReturnScope("gives_big", ""), "retval", "[r0x0]"},
		{k.ReturnScope("nothing", ""), "retval", `no variable "retval"`},
		{k.EntryScope("twin", ""), "a", `no variable "a": twin: there are several of that name, with different parameters; arguments can be read as $rdi, $rsi, ...`},
		{k.EntryScope("simple.isra.0", ""), "a", `no variable "a": simple.isra.0: the compiler changed it (.isra.0), so its parameters are not where those of simple are`},
		{k.EntryScope("absent", ""), "a", `no variable "a": the kernel's BTF does not describe absent, so only registers ($rdi, $rsi, ...) are known`},
	} {
		if got := lookup(c.s, c.name); got != c.want {
			t.Errorf("%s: %s: %s, want %s", c.s.FuncName(), c.name, got, c.want)
		}
	}
}

func TestTrampolines(t *testing.T) {
	k := funcsKernel(t)
	for _, c := range []struct {
		fn, entry, exit string // places of the arguments, args, retval; or the error
	}{
		{"simple", "c0 c8 c24 c0 no variable \"retval\"", "c0 c8 c24 c0 c32"},
		{"nothing", "c0 no variable \"retval\"", "c0 no variable \"retval\""},
		{"many", "c0 c8 c16 c24 c32 c40 c48 c56 c0 no variable \"retval\"", "c0 c8 c16 c24 c32 c40 c48 c56 c0 c64"},
		{"gives_pair", "it returns a struct", ""},
		{"gives_big", "it returns a struct", ""},
		{"too_many", "its parameters take 13 words, more than 12", ""},
		{"takes_big", "parameter b has 24 bytes, more than 16", ""},
		{"takes_unknown", "the type of parameter b is not known", ""},
		{"printk", "it takes a variable number of arguments", ""},
	} {
		for i, scope := range []func(string, string) (debuginfo.Scope, error){k.FentryScope, k.FexitScope} {
			s, err := scope(c.fn, "")
			if c.exit == "" {
				if err == nil || !strings.HasSuffix(err.Error(), c.entry) {
					t.Errorf("%s: %v, want %s", c.fn, err, c.entry)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", c.fn, err)
				continue
			}
			var got []string
			for _, v := range s.Args() {
				got = append(got, where(v.Loc))
			}
			got = append(got, lookup(s, "args"), lookup(s, "retval"))
			if want := []string{c.entry, c.exit}[i]; strings.Join(got, " ") != want {
				t.Errorf("%s: %v, want %s", c.fn, got, want)
			}
		}
	}
	if _, err := k.FentryScope("absent", ""); !errors.As(err, new(*debuginfo.NotFoundError)) {
		t.Errorf("absent: %v", err)
	}
}

func record() *ctype.Type {
	rec := &ctype.Type{Kind: ctype.Struct, Size: 24}
	rec.SetFields([]ctype.Field{
		{Name: "common_pid", Type: ctype.IntT, BitOffset: 32},
		{Name: "comm", Type: ctype.ArrayOf(ctype.CharT, 8), BitOffset: 64},
		{Name: "prio", Type: ctype.IntT, BitOffset: 128},
	})
	return rec
}

func TestRecordScope(t *testing.T) {
	for _, k := range []*Kernel{nil, funcsKernel(t)} {
		s := k.RecordScope("sched:x", record())
		got := []string{lookup(s, "comm"), lookup(s, "prio"), lookup(s, "args"), lookup(s, "common_pid")}
		if want := []string{"c8", "c16", "c0", "!the kernel overwrites the first 8 bytes of the record"}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		if !s.HasDebugInfo() || s.FuncName() != "sched:x" {
			t.Errorf("%v %q", s.HasDebugInfo(), s.FuncName())
		}
	}
}

// TestWithoutBTF: without a kernel, scopes have only C's own types.
func TestWithoutBTF(t *testing.T) {
	var k *Kernel
	for _, s := range []debuginfo.Scope{k.GlobalScope(), k.EntryScope("f", ""), k.ReturnScope("f", "m")} {
		if s.HasDebugInfo() || len(s.Args()) != 0 {
			t.Error("a scope without BTF has debug information")
		}
		if c, err := s.Type(ctype.Typedef, "unsigned long"); err != nil || c != ctype.ULongT {
			t.Errorf("unsigned long: %v", err)
		}
		if _, err := s.Type(ctype.Struct, "task_struct"); !errors.As(err, new(*debuginfo.NotFoundError)) {
			t.Errorf("task_struct: %v", err)
		}
		if _, err := s.Lookup("curtask"); !errors.As(err, new(*debuginfo.NotFoundError)) {
			t.Errorf("curtask: %v", err)
		}
		if _, _, ok := s.Enumerator("X"); ok {
			t.Error("an enumerator without BTF")
		}
		if _, err := s.LookupIn("f", "x"); !errors.As(err, new(*debuginfo.NotFoundError)) {
			t.Errorf("f::x: %v", err)
		}
	}
}

func TestPerCPU(t *testing.T) {
	const notTold = "!the start of per-CPU variables is unknown"
	for _, c := range []struct{ why, symbols, want string }{
		{"zero-based", "0000000000000000 A __per_cpu_start\nffffffff81000000 T _stext\n", "[0x40]"},
		{"not zero-based", "ffffffff83000000 D __per_cpu_start\n", "[-0x7cffffc0]"},
		{"by a variable", "0000000000000140 A hot\nffffffff81000000 T _stext\n", "[0x140]"},
		{"by two that agree", "0000000000000140 A hot\n0000000000000180 A cold\n0000000000000500 A cold\n", "[0x140]"},
		{"by two that do not", "0000000000000140 A hot\n0000000000000500 A cold\n", notTold},
		{"code of that name", "ffffffff81000000 T hot\n", notTold},
		{"none", "ffffffff81000000 T _stext\n", notTold},
	} {
		k := handmadeKernel(t)
		k.Symbols = symbols(t, c.symbols)
		v, err := k.GlobalScope().Lookup("hot")
		if err != nil || v.Kind != debuginfo.PerCPU || v.Type.Name != "int" || !strings.HasPrefix(where(v.Loc), c.want) {
			t.Errorf("%s: %v, %v; want %s", c.why, v, err, c.want)
		}
	}
}

func TestHints(t *testing.T) {
	k := handmadeKernel(t)
	k.Symbols = symbols(t, "ffffffff81000000 T printk\nffffffff82000000 D jiffies\n")
	s := k.GlobalScope()
	for name, want := range map[string]string{
		"jiffies": `no variable "jiffies": the kernel has such a symbol, but its type is unknown; write *(TYPE*)kaddr("jiffies")`,
		"printk":  `no variable "printk": it is a function of the kernel: kaddr("printk") is its address`,
		"hots":    `no variable "hots"`,
	} {
		_, err := s.Lookup(name)
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
		if nf := err.(*debuginfo.NotFoundError).Why(); name == "hots" && !slices.Equal(nf.Nearest, []string{"hot"}) {
			t.Errorf("%s: nearest %v", name, nf.Nearest)
		}
	}
}

func TestSpellings(t *testing.T) {
	w := newWriter(nil)
	for _, n := range []string{"long unsigned int", "unsigned long", "short int", "short", "char"} {
		w.int(n, 1, 0, 0, 8)
	}
	k := w.kernel(t)
	for name, want := range map[string]string{
		"unsigned long": "long unsigned int", "unsigned long int": "long unsigned int", "long unsigned": "long unsigned int",
		"short": "short int", "signed short int": "short int", "char": "char", "long long": "long long", "unsigned": "unsigned int",
	} {
		c := k.Named(name)
		if c == nil || c.Name != want {
			t.Errorf("%s is %v, want %s", name, c, want)
		}
	}
	clang := newWriter(nil)
	clang.int("unsigned long", 8, 0, 0, 64)
	if c := clang.kernel(t).Named("long unsigned int"); c == nil || c.Name != "unsigned long" || c == ctype.ULongT {
		t.Errorf("clang's unsigned long: %v", c)
	}
	if c := k.Named("struct nothing"); c != nil {
		t.Errorf("struct nothing: %v", c)
	}
}
