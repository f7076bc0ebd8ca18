package sema

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/eval"
	"github.com/jalon-trace/jalon/internal/ir/x86"
)

const (
	dataAddr  = 0x404000 // static data, run-time address (bias 0x1000)
	heapAddr  = 0x5000
	stackAddr = 0x7ffd0000
	rbp       = stackAddr + 0x100
	rsp       = stackAddr + 0x80
	fsBase    = 0x7f0000000000
	bias      = 0x1000
)

// req is the struct of these tests: len 0, path 8, name 16, a 24, b 26.0 (3 bits), next 32, d 40; 48 bytes.
func reqType(s *fakeScope) *ctype.Type {
	next := &ctype.Type{Kind: ctype.Pointer, Size: 8}
	in := structOf("", member{"a", ctype.ShortT, 0}, member{"b", ctype.UShortT, 3}, member{"bs", ctype.ShortT, 4})
	req := structOf("req", member{"len", ctype.IntT, 0}, member{"path", ctype.PointerTo(ctype.CharT), 0},
		member{"name", ctype.ArrayOf(ctype.CharT, 8), 0}, member{"", in, 0}, member{"next", next, 0}, member{"d", ctype.DoubleT, 0})
	next.Elem = req
	return s.addType(req)
}

// wide is the state of m's wide registers.
func wide(m *eval.Machine) *x86.State { return m.Wide.(*x86.State) }

func sample() (*fakeScope, *eval.Machine) {
	s := newScope()
	req := reqType(s)
	s.addType(typedefOf("req_t", req))
	s.addType(enumOf("color", false, ctype.Enumerator{Name: "RED"}, ctype.Enumerator{Name: "GREEN", Value: 1}, ctype.Enumerator{Name: "HUGE", Value: 1 << 40}))
	color := s.types[ctype.Enum]["color"]

	m := &eval.Machine{Wide: &x86.State{}}
	m.Regs[6], m.Regs[7], m.Regs[ir.RegThread], m.Regs[ir.RegFlags] = rbp, rsp, fsBase, 0x246
	m.Regs[0], m.Regs[5], m.Regs[4] = 0x1122334455667788, heapAddr, math.MaxUint64-6
	data, heap, stack, tls := make([]byte, 64), make([]byte, 256), make([]byte, 0x200), make([]byte, 32)
	m.Mem = fakeMemory{dataAddr: data, heapAddr: heap, stackAddr: stack, fsBase - 64: tls}
	put := binary.LittleEndian
	put.PutUint32(data[0:], 77)
	copy(data[8:], "static\x00")
	put.PutUint32(heap[0:], 4097)        // p->len
	put.PutUint64(heap[8:], heapAddr+64) // p->path
	copy(heap[16:], "fulltext")          // p->name, no NUL
	put.PutUint16(heap[24:], 0xfffe)     // p->a
	put.PutUint16(heap[26:], 0x9<<3|5)   // p->b, p->bs = -7
	put.PutUint64(heap[32:], 0)          // p->next
	put.PutUint64(heap[40:], math.Float64bits(2.5))
	copy(heap[64:], "/etc/passwd\x00")
	copy(heap[250:], "noend!")
	put.PutUint32(stack[0x100-20:], ^uint32(4)) // i = -5
	copy(stack[0x100-40:], "abc\x00xyzw")       // buf
	put.PutUint64(stack[0x108:], 0x401234)      // return address
	put.PutUint32(tls[4:], 99)
	copy(wide(m).XMM[1][:], []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0, 0, 0, 0, 0, 0, 0x04, 0x40}) // 1.5, 2.5

	s.add("i", ctype.IntT, onFrame(-20))
	s.add("buf", ctype.ArrayOf(ctype.CharT, 8), onFrame(-40))
	s.add("p", ctype.PointerTo(req), inReg(5))
	s.add("bad", ctype.PointerTo(req), inReg(4))
	s.add("text", ctype.PointerTo(&ctype.Type{Kind: ctype.Const, Size: 1, Elem: ctype.CharT}), memOpsValue(dataAddr+8))
	s.add("count", ctype.IntT, atAddr(dataAddr-bias))
	s.add("c", color, debuginfo.Piece{Kind: debuginfo.IsBytes, Bytes: []byte{1, 0, 0, 0}})
	s.add("x", ctype.DoubleT, inReg(18))
	s.add("tls", ctype.IntT, memOps(debuginfo.OpConst, 4, debuginfo.OpTLS, 0))
	s.add("void_p", ctype.PointerTo(ctype.VoidT), inReg(5))
	s.add("bytes", ctype.PointerTo(ctype.UCharT), memOpsValue(heapAddr+64))
	s.add("n", ctype.UIntT, debuginfo.Piece{Kind: debuginfo.IsValue, Expr: ops(debuginfo.OpConst, 3)})
	s.add("neg", ctype.IntT, debuginfo.Piece{Kind: debuginfo.IsValue, Expr: ops(debuginfo.OpConst, -1)})
	s.add("gone", ctype.IntT).Loc = debuginfo.Location{Unavailable: "optimised out", Elsewhere: []debuginfo.Range{{Lo: 0x1010, Hi: 0x1020}, {Lo: 0x1040, Hi: 0x1041}}}
	s.add("entry", ctype.IntT).Loc = debuginfo.Location{Unavailable: "its location needs the caller's registers (DW_OP_entry_value)"}
	s.add("late", ctype.IntT).Loc = debuginfo.Location{Unavailable: "optimised out: only its value at the function's entry is known (DW_OP_entry_value)"}
	s.in["main.c::count"] = s.add("hidden", ctype.IntT, atAddr(dataAddr-bias))
	delete(s.vars, "hidden")
	s.in["main::count"] = s.in["main.c::count"]
	return s, m
}

func memOpsValue(v int) debuginfo.Piece {
	return debuginfo.Piece{Kind: debuginfo.IsValue, Expr: ops(debuginfo.OpConst, v)}
}

func sampleInput() Input {
	return Input{
		Bias: bias, Pid: 4242, AtEntry: true, TLSOffset: func() (int64, error) { return -64, nil },
		LineOf: func(a uint64) (string, int) { return "main.c", int(a>>4) - 0x100 + 8 },
	}
}

// TestValues: expressions and their integer values in C or GDB.
func TestValues(t *testing.T) {
	s, m := sample()
	for _, tt := range []struct {
		expr string
		want int64
		typ  string
	}{
		// Names.
		{"i", -5, "int"},
		{"count", 77, "int"},
		{"'main.c'::count", 77, "int"},
		{"main::count", 77, "int"},
		{"::RED", 0, "enum color"},
		{"c", 1, "enum color"},
		{"GREEN", 1, "enum color"},
		{"GREEN + 0", 1, "int"},
		{"HUGE - 1", 1<<40 - 1, "unsigned long"},
		{"RED - 2 < 0", 1, "int"},
		{"c - 2 < 0", 0, "int"},
		{"tls", 99, "int"},
		{"true", 1, "_Bool"},
		{"false + 0", 0, "int"},
		{"NULL == 0", 1, "int"},
		{"p != nullptr", 1, "int"},
		{"n", 3, "unsigned int"},
		// Members.
		{"p->len", 4097, "int"},
		{"(*p).len", 4097, "int"},
		{"p.len", 4097, "int"},
		{"p->a", -2, "short"},
		{"p->b", 5, "unsigned short"},
		{"p->bs", -7, "short"},
		{"p->bs * 2", -14, "int"},
		{"p->b - 6 < 0", 1, "int"},
		{"p->path[0] == 47", 1, "int"},
		{"p->next == 0", 1, "int"},
		{"p->name[7]", 't', "char"},
		{"&p->path - (char **)p", 1, "long"},
		{"(long)&((struct req *)0)->path", 8, "long"},
		{"p[0].len", 4097, "int"},
		{"*&p->len", 4097, "int"},
		{"(&*p)->len", 4097, "int"},
		{"((req_t *)void_p)->len", 4097, "int"},
		// Pointers.
		{"p + 1", heapAddr + 48, "struct req *"},
		{"1 + p", heapAddr + 48, "struct req *"},
		{"void_p + 1", heapAddr + 1, "void *"},
		{"p - 1", heapAddr - 48, "struct req *"},
		{"(p + 3) - p", 3, "long"},
		{"*(int *)p", 4097, "int"},
		{"*(char *)&i", -5, "char"},
		{"&i", rbp - 20, "int *"},
		{"&count", dataAddr, "int *"},
		{"p == 0x5000", 1, "int"},
		{"p > 100", 1, "int"},
		{"bad > p", 1, "int"},
		{"buf + 1", rbp - 39, "char *"},
		{"*buf", 'a', "char"},
		{"buf[i + 6]", 'b', "char"},
		{"&buf[2]", rbp - 38, "char *"},
		{"&buf", rbp - 40, "char (*)[8]"},
		{"*(long (*)[2])p == 0", 0, ""},
		{"(long)p", heapAddr, "long"},
		{"(char)(long)p", 0, "char"},
		{"(int *)3 - (int *)1", 0, "long"},
		// Sizeof does not evaluate.
		{"sizeof(struct req)", 48, "unsigned long"},
		{"sizeof *p", 48, "unsigned long"},
		{"sizeof buf", 8, "unsigned long"},
		{"sizeof gone", 4, "unsigned long"},
		{"sizeof(char *)", 8, "unsigned long"},
		{"sizeof \"abc\"", 4, "unsigned long"},
		{"sizeof(int [3])", 12, "unsigned long"},
		{"sizeof bad->len", 4, "unsigned long"},
		{"sizeof(int (*)(int, char *))", 8, "unsigned long"},
		{"sizeof(uint16_t)", 2, "unsigned long"},
		{"sizeof(void)", 1, "unsigned long"},
		// Text.
		{"p->path == \"/etc/passwd\"", 1, "int"},
		{"p->path == \"/etc\"", 0, "int"},
		{"p->path != \"/etc\"", 1, "int"},
		{"\"static\" == text", 1, "int"},
		{"p->name == \"fulltext\"", 1, "int"},
		{"p->name == \"fulltex\"", 0, "int"},
		{"p->name == \"fulltextX\"", 0, "int"},
		{"buf == \"abc\"", 1, "int"},
		{"buf == \"abcd\"", 0, "int"},
		{"buf == \"\"", 0, "int"},
		{"str(void_p + 64) == \"/etc/passwd\"", 1, "int"},
		{"str(p->path, 4) == \"/etc\"", 1, "int"},
		{"str(p->path, 4) == \"/et\"", 0, "int"},
		{"str(p->path, 4) == \"/etc/\"", 0, "int"},
		{"bytes == \"/etc/passwd\"", 1, "int"},
		{"\"a\" == \"a\"", 1, "int"},
		{"str($rdi + 64) == \"/etc/passwd\"", 1, "int"},
		{"!(text == \"static\")", 0, "int"},
		// Registers.
		{"$rax", 0x1122334455667788, "int64_t"},
		{"$eax", 0x55667788, "int32_t"},
		{"$ax", 0x7788, "int16_t"},
		{"$al", -0x78, "int8_t"},
		{"$ah", 0x77, "int8_t"},
		{"$rsp", rsp, "void *"},
		{"$sp", rsp, "void *"},
		{"$fp", rbp, "void *"},
		{"$rip", 0x1000 + bias, "void (*)()"},
		{"$pc", 0x1000 + bias, "void (*)()"},
		{"$eflags & 0x40", 0x40, "int"},
		{"$fs_base", fsBase, "long"},
		{"*(int *)($rsp + 0x6c)", -5, "int"},
		{"$rdi == p", 1, "int"},
		{"$xmm1.v2_int64[0]", 0x3ff8000000000000, "int64_t"},
		{"$xmm1.v16_int8[7]", 0x3f, "int8_t"},
		{"$xmm1.v2_int64[1]", 0x4004000000000000, "int64_t"},
		{"$xmm1.v8_int16[7]", 0x4004, "int16_t"},
		{"$xmm1.v2_double[0] == x", 1, "int"},
		{"arg0", heapAddr, "unsigned long"},
		{"$arg1 == (long)bad", 1, "int"},
		{"$ret", 0x401234, "void (*)()"},
		{"$pid + 1", 4243, "int"},
		// Control.
		{"i ? 1 : 2u", 1, "unsigned int"},
		{"p ? p->len : 0", 4097, "int"},
		{"bad && bad->len == 3 || 1", 0, "FAULT"},
		{"i && p->len || bad->len", 1, "int"},
		{"0 && bad->len", 0, "int"},
		{"1 ? i : bad->len", -5, "int"},
		{"(1 ? *p : *bad).len", 4097, "int"},
		{"(i, count)", 77, "int"},
		{"((void)i, 3)", 3, "int"},
		{"p ? NULL : p", 0, "struct req *"},
		{"!p", 0, "int"},
		{"!!x", 1, "int"},
		{"x > 1 && x < 2", 1, "int"},
		{"(int)x", 1, "int"},
		{"(unsigned char)300", 44, "unsigned char"},
		// Repeat as an array.
		{"(p->len@4)[1]", 0, "int"},
		{"(*p@2)[0].len", 4097, "int"},
		{"sizeof(i@3)", 12, "unsigned long"},
	} {
		out, err := tryCompile(s, sampleInput(), "", tt.expr)
		if err != nil {
			t.Errorf("%s:\n%v", tt.expr, err)
			continue
		}
		if err := ir.Check(out.Program); err != nil {
			t.Errorf("%s: %v", tt.expr, err)
			continue
		}
		r := run(t, out, m)
		if tt.typ == "FAULT" {
			if r.status(0) != event.Unreadable {
				t.Errorf("%s: status %d", tt.expr, r.status(0))
			}
			continue
		}
		if r.status(0) != event.OK {
			t.Errorf("%s: status %d at %#x", tt.expr, r.status(0), r.faultAddr(0))
			continue
		}
		if got := r.int(0); got != tt.want && tt.typ != "" {
			t.Errorf("%s = %d (%#x), want %d", tt.expr, got, got, tt.want)
		}
		if got := typeString(r.schema.Fields[0].Type); got != tt.typ && tt.typ != "" {
			t.Errorf("%s has type %s, want %s", tt.expr, got, tt.typ)
		}
	}
}

// TestPlainChar: a char has the sign that it has in the program; a wider type of that name is another language's.
func TestPlainChar(t *testing.T) {
	for _, tt := range []struct {
		char *ctype.Type
		want int64
	}{
		{nil, -56},
		{ctype.CharT, -56},
		{unsignedCharT, 200},
		{&ctype.Type{Kind: ctype.Char, Name: "char", Size: 4}, -56},
	} {
		s, m := sample()
		if tt.char != nil {
			s.types[ctype.Typedef] = map[string]*ctype.Type{"char": tt.char}
		}
		for _, x := range []string{"(char)200", `'\xc8'`, "(char)(i + 205)"} {
			if got := run(t, compile(t, s, sampleInput(), "", x), m).int(0); got != tt.want {
				t.Errorf("%s with %+v = %d, want %d", x, tt.char, got, tt.want)
			}
		}
	}
}

func TestFloatValues(t *testing.T) {
	s, m := sample()
	for expr, want := range map[string]float64{
		"x": 1.5, "p->d": 2.5, "x * 2": 3, "x + p->d": 4, "-x": -1.5, "(float)x": 1.5, "$xmm1.v2_double[0] + 1": 2.5,
		"$xmm1.v2_double[1]": 2.5, "$xmm1.v4_float[3]": 2.0625, "i / 2.0": -2.5, "1.5f * i": -7.5, "i ? x : 1": 1.5, "(double)(unsigned)-1": 4294967295,
	} {
		r := run(t, compile(t, s, sampleInput(), "", expr), m)
		if got := r.float(0); got != want {
			t.Errorf("%s = %v, want %v", expr, got, want)
		}
	}
}

// TestConditions: the three ways a condition ends.
func TestConditions(t *testing.T) {
	s, m := sample()
	for _, tt := range []struct {
		cond                string
		record, miss, fault bool
	}{
		{"i < 0", true, false, false},
		{"i > 0", false, true, false},
		{"p->len > 4096 && p->path[0] == 47", true, false, false},
		{"p->len < 4096 || p->path[0] == 46", false, true, false},
		{"bad->len", false, false, true},
		{"p->next->len", false, false, true},
		{"!bad->len", false, false, true},
		{"count / (i + 5)", false, false, true},
		{"count % (i + 6)", false, true, false},
		{"p->next && p->next->len", false, true, false},
		{"p->next == 0 || p->next->len", true, false, false},
		{"(i < 0 ? p : bad)->len", true, false, false},
		{"x == 1.5", true, false, false},
		{"x", true, false, false},
		{"x - x", false, true, false},
		{"!(i < 0 && count)", false, true, false},
		{"1", true, false, false},
		{"0", false, true, false},
		{"$pid == 4242", true, false, false},
		{"(i, 0)", false, true, false},
		{"i < 0 ? count == 77 : bad->len", true, false, false},
	} {
		out := compile(t, s, sampleInput(), tt.cond, "i")
		r := run(t, out, m)
		if (r.Record != nil) != tt.record || (r.Counters[0] == 1) != tt.miss || (r.Counters[1] == 1) != tt.fault {
			t.Errorf("%s: record %v, counters %v", tt.cond, r.Record != nil, r.Counters)
		}
	}
}

// TestSafeAccesses: what the frame and the module's data give needs no guard.
func TestSafeAccesses(t *testing.T) {
	s, _ := sample()
	for expr, guarded := range map[string]bool{
		"i": false, "count": false, "buf": false, "buf[3]": false, "buf == \"abc\"": false, "p": false, "$ret": false, "i / 2": false,
		"buf[i]": true, "p->len": true, "tls": true, "*&i": false, "*(buf + 2)": false, "buf[9]": true, "i@2": true, "i@1": false,
		"*(long *)&i": true, "count + i": false,
	} {
		out := compile(t, s, sampleInput(), "", expr)
		if got := out.Schema.Fields[0].StatusOffset >= 0; got != guarded {
			t.Errorf("%s: guarded is %v, want %v", expr, got, guarded)
		}
	}
	// Without a rule that says so, rbp is no frame base.
	s.cfa = ops(debuginfo.OpReg, 7, debuginfo.OpAddConst, 8)
	if out := compile(t, s, sampleInput(), "", "i"); out.Schema.Fields[0].StatusOffset < 0 {
		t.Error("a slot below rbp is taken for readable though the CFA is counted from rsp")
	}
}

func TestTLSWithoutOffset(t *testing.T) {
	s, _ := sample()
	in := sampleInput()
	in.TLSOffset = func() (int64, error) {
		return 0, errors.New("the library's thread-local storage is allocated dynamically")
	}
	_, err := tryCompile(s, in, "", "tls")
	want := `error: variable "tls" has no value here: the library's thread-local storage is allocated dynamically
  --> collect:1:1
   |
 1 | tls
   | ^^^`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}
