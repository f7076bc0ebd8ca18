package sema

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir/eval"
)

// TestCPlusPlus: references, this, base classes, scoped names; and functions as values.
func TestCPlusPlus(t *testing.T) {
	s, m := sample()
	base := s.addType(structOf("Base", member{"id", ctype.IntT, 0}, member{"kind", ctype.IntT, 0}))
	derived := structOf("Derived", member{"", base, 0}, member{"total", ctype.LongT, 0})
	fields := derived.Fields()
	fields[0].Name, fields[0].Base = "Base", true
	derived.SetFields(fields)
	s.addType(derived)
	ref := &ctype.Type{Kind: ctype.Reference, Size: 8, Elem: ctype.IntT}
	refStruct := &ctype.Type{Kind: ctype.Reference, Size: 8, Elem: derived}
	holder := s.addType(structOf("Holder", member{"r", ref, 0}))
	fn := &ctype.Type{Kind: ctype.Func, Elem: ctype.IntT, Params: []*ctype.Type{ctype.IntT}}

	obj := make([]byte, 32)
	binary.LittleEndian.PutUint32(obj[0:], 7)
	binary.LittleEndian.PutUint32(obj[4:], 8)
	binary.LittleEndian.PutUint64(obj[8:], 9)
	binary.LittleEndian.PutUint64(obj[16:], 0x6000) // a Holder
	m.Mem.(fakeMemory)[0x6000] = obj
	m.Regs[5] = 0x6000
	s.add("this", ctype.PointerTo(derived), inReg(5))
	s.add("r", ref, inReg(5))
	s.add("rs", refStruct, inReg(5))
	s.add("badref", ref, inReg(4))
	s.add("h", ctype.PointerTo(holder), memOpsValue(0x6010))
	s.add("handler", fn, atAddr(0x2000))
	s.in["ns::global"] = s.vars["r"]
	s.args = []*debuginfo.Variable{s.vars["this"], s.vars["r"], s.vars["rs"], s.vars["badref"]}

	for expr, want := range map[string]int64{
		"id": 7, "kind": 8, "total": 9, "this->id": 7, "this->total + id": 16, "r": 7, "r + 1": 8, "rs.kind": 8, "&r": 0x6000, "h->r": 7,
		"ns::global": 7, "sizeof r": 4, "sizeof rs": 16, "(*this).kind": 8, "((Base *)this)->kind": 8, "sizeof(Derived)": 16,
		"handler == (int (*)(int))0x3000": 1, "(long)&handler": 0x3000, "(long)*handler": 0x3000, "(long)handler": 0x3000,
	} {
		r := run(t, compile(t, s, sampleInput(), "", expr), m)
		if got := r.int(0); got != want || r.status(0) != event.OK {
			t.Errorf("%s = %#x (status %d), want %#x", expr, got, r.status(0), want)
		}
	}
	r := run(t, compile(t, s, sampleInput(), "r == 7 && handler", "$args, handler"), m)
	if r.status(0) != event.OK || r.int(1) != 7 || len(r.bytes(2)) != 16 || r.status(3) != event.Unreadable {
		t.Errorf("$args: %+v", r.schema.Fields)
	}
	if got := typeString(r.schema.Fields[4].Type); got != "int (*)(int)" || r.uint(4) != 0x3000 {
		t.Errorf("handler: %s", got)
	}
}

// TestIsType: what decides between a cast and parentheses.
func TestIsType(t *testing.T) {
	s, _ := sample()
	s.addType(typedefOf("i", ctype.IntT)) // hidden by the variable i
	is := (&Input{Scope: s}).isType
	for name, want := range map[string]bool{
		"req_t": true, "req": true, "uint32_t": true, "int": true, "i": false, "count": false, "nope": false, "RED": false, "color": true,
	} {
		if is(name) != want {
			t.Errorf("isType(%q) = %v", name, !want)
		}
	}
}

func TestTypeString(t *testing.T) {
	c := &ctype.Type{Kind: ctype.Const, Size: 1, Elem: ctype.CharT}
	fn := &ctype.Type{Kind: ctype.Func, Elem: ctype.PointerTo(c), Params: []*ctype.Type{ctype.IntT}, Variadic: true}
	loop := &ctype.Type{Kind: ctype.Pointer, Size: 8}
	loop.Elem = loop
	for _, tt := range []struct {
		t    *ctype.Type
		want string
	}{
		{ctype.PointerTo(c), "const char *"},
		{&ctype.Type{Kind: ctype.Const, Elem: ctype.PointerTo(ctype.CharT)}, "char * const"},
		{ctype.PointerTo(fn), "const char *(*)(int, ...)"},
		{ctype.ArrayOf(ctype.ArrayOf(ctype.IntT, 4), 3), "int [3][4]"},
		{ctype.PointerTo(ctype.ArrayOf(ctype.IntT, 4)), "int (*)[4]"},
		{&ctype.Type{Kind: ctype.Reference, Elem: ctype.IntT}, "int &"},
		{structOf(""), "struct {...}"},
		{&ctype.Type{Kind: ctype.Pointer}, "void *"},
	} {
		if got := typeString(tt.t); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
	if got := typeString(loop); len(got) > 200 {
		t.Errorf("a cyclic type is written as %q", got)
	}
}

// FuzzCompile: whatever parses is compiled to a valid program or diagnosed, and
// the program runs.
func FuzzCompile(f *testing.F) {
	for _, text := range diagnosed {
		f.Add(text, true)
	}
	for _, text := range []string{"i < 3 && p->len / i", "*p, $args, $bt", "p->path/s, buf@2", "x ? p->d : i", "str(p->path, 3) == \"abc\"", "$xmm1.v4_float[2]", "'main.c'::count@n"} {
		f.Add(text, false)
	}
	s, m := sample()
	s.args = []*debuginfo.Variable{s.vars["p"], s.vars["gone"]}
	g := newWorldForFuzz(s)
	f.Fuzz(func(t *testing.T, text string, cond bool) {
		var out *Output
		var err error
		if cond {
			out, err = tryCompile(g, sampleInput(), text, "i")
		} else {
			out, err = tryCompile(g, sampleInput(), "", text)
		}
		if err != nil {
			_ = err.Error()
			return
		}
		checkProgram(t, out)
		mm := *m
		mm.RecordRoom = true
		if o := eval.Run(out.Program, &mm); o.Exit == eval.BadAccess {
			t.Fatalf("%q: an access without guard failed\n%s", text, out.Program)
		}
	})
}

// FuzzCompileKernel: the same at every kind of place of the kernel engine.
func FuzzCompileKernel(f *testing.F) {
	for i, group := range kernelDiagnosed {
		for _, text := range group.list {
			f.Add(text, strings.HasPrefix(text, "if "), uint8(i))
		}
	}
	for i, text := range []string{"args->name, mask, args->rel == \"rel\", $_sdata", "prev->comm, arg0@3, pair", "$regs, $bt, $ubt, count, retval", "comm, $comm == \"x\", per_cpu(runqueues, n).curr->comm", "args, args->comm, sizeof args->mask / 2, args->args[word]"} {
		f.Add(text, false, uint8(i))
		f.Add(text, true, uint8(i))
	}
	f.Fuzz(func(t *testing.T, text string, cond bool, kind uint8) {
		s, m, rec := recordScope()
		s.add("count", ctype.ULongT, inReg(1))
		s.add("vec", ctype.DoubleT, inReg(18))
		s.add("slot", ctype.IntT, onFrame(-20))
		in := kernelInput(Context(kind % 4))
		in.Kernel.SData = &SData{Type: rec, Fixed: 88, Dynamic: []int64{32, 36, 40, 44}}
		in.Kernel.User, in.Kernel.Return, in.Kernel.Gate = kind&4 != 0, kind&8 != 0, kind&16 != 0
		in.AtEntry = kind&32 != 0
		text = strings.TrimPrefix(text, "if ")
		condition, collect := "", text
		if cond {
			condition, collect = text, "word"
		}
		out, err := tryCompile(s, in, condition, collect)
		if err != nil {
			_ = err.Error()
			return
		}
		noFloats(t, out)
		checkProgram(t, out)
		m.RecordRoom = true
		if o := eval.Run(out.Program, m); o.Exit == eval.BadAccess {
			t.Fatalf("%q: an access without guard failed\n%s", text, out.Program)
		}
	})
}

// newWorldForFuzz adds objects of unusual kinds, all of them in memory that is there.
func newWorldForFuzz(s *fakeScope) *fakeScope {
	s.add("ld", longDoubleT, onFrame(-64))
	s.add("opaque", ctype.PointerTo(&ctype.Type{Kind: ctype.Struct, Name: "opaque", Incomplete: true}), inReg(0))
	s.add("regarr", ctype.ArrayOf(ctype.IntT, 2), inReg(0))
	s.add("m", ctype.ArrayOf(ctype.ArrayOf(ctype.ShortT, 2), 3), onFrame(-64))
	return s
}
