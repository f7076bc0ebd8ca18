package sema

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/eval"
	"github.com/jalon-trace/jalon/internal/ring"
)

// fieldNamed runs a collect list and gives the result with the index of a field.
func collectOne(t *testing.T, s *fakeScope, m *eval.Machine, in Input, list string) result {
	t.Helper()
	return run(t, compile(t, s, in, "", list), m)
}

func TestCollectObjects(t *testing.T) {
	s, m := sample()
	mem := m.Mem.(fakeMemory)
	r := collectOne(t, s, m, sampleInput(), "*p, buf, p->name, p[0].path, i, *bad, buf/x")
	if got, want := string(r.bytes(0)), string(mem[heapAddr][:48]); got != want {
		t.Errorf("*p = %q, want %q", got, want)
	}
	if got := string(r.bytes(1)); got != "abc\x00xyzw" {
		t.Errorf("buf = %q", got)
	}
	if got := string(r.bytes(2)); got != "fulltext" {
		t.Errorf("p->name = %q", got)
	}
	if r.int(4) != -5 {
		t.Errorf("i = %d", r.int(4))
	}
	if r.status(5) != event.Unreadable || r.faultAddr(5) != m.Regs[4] {
		t.Errorf("*bad: status %d, address %#x", r.status(5), r.faultAddr(5))
	}
	f := r.schema.Fields
	if f[6].Show.Letter != 'x' || f[6].Name != "buf/x" || f[1].Name != "buf" || f[0].Name != "*p" || f[5].Name != "*bad" {
		t.Errorf("names or formats: %+v", f)
	}
}

func TestCollectPointersAndStrings(t *testing.T) {
	s, m := sample()
	in := sampleInput()
	in.StringLimit = 8
	r := collectOne(t, s, m, in, `p->path, p->path/s, text/x, str(p->path, 4), bad->path, p->next/s, bytes, (char *)p->next, (char *)0x50fa/s, void_p/s`)
	f := r.schema.Fields
	if r.int(0) != heapAddr+64 {
		t.Errorf("p->path = %#x", r.int(0))
	}
	if got, flags := r.counted(f[0].StrOffset); got != "/etc/pas" || flags != 1 {
		t.Errorf("string of p->path = %q, flags %d", got, flags)
	}
	if f[0].StrSize != 16 || f[0].StatusOffset < 0 || f[0].StrStatusOffset < 0 || f[0].StrStatusOffset == f[0].StatusOffset {
		t.Errorf("p->path: %+v", f[0])
	}
	if got, _ := r.counted(f[1].Offset); got != "/etc/pas" || f[1].Kind != event.Counted || f[1].Show.Letter != 's' || f[1].StrSize != 0 || typeString(f[1].Type) != "char *" || typeString(f[3].Type) != "char *" {
		t.Errorf("p->path/s = %q: %+v", got, f[1])
	}
	if f[2].StrSize != 0 || r.int(2) != dataAddr+8 || f[2].StatusOffset >= 0 {
		t.Errorf("text/x: %+v", f[2])
	}
	if got, flags := r.counted(f[3].Offset); got != "/etc" || flags != 1 {
		t.Errorf("str(p->path, 4) = %q, flags %d", got, flags)
	}
	if r.status(4) != event.Unreadable || r.faultAddr(4) != m.Regs[4]+8 || r.Record[f[4].StrStatusOffset] != 0 {
		t.Errorf("bad->path: status %d at %#x", r.status(4), r.faultAddr(4))
	}
	if f[5].StrSize != 0 || r.int(5) != 0 { // not a char pointer: /s changes nothing
		t.Errorf("p->next/s: %+v", f[5])
	}
	if got, _ := r.counted(f[6].StrOffset); got != "/etc/pas" || typeString(f[6].Type) != "unsigned char *" {
		t.Errorf("bytes: %q %+v", got, f[6])
	}
	if r.status(7) != event.OK || event.Status(r.Record[f[7].StrStatusOffset]) != event.Unreadable || r.Record[f[7].StrOffset] != 0 {
		t.Errorf("null pointer: %+v", f[7])
	}
	if got, flags := r.counted(f[8].Offset); got != "noend!" || flags != 2 {
		t.Errorf("string at the end of memory = %q, flags %d", got, flags)
	}
	if f[9].Kind != event.Fixed || f[9].Size != 8 {
		t.Errorf("void_p/s: %+v", f[9])
	}
}

func TestRepeat(t *testing.T) {
	s, m := sample()
	in := sampleInput()
	in.RepeatLimit = 4
	r := collectOne(t, s, m, in, `p->len@2, p->path[0]@n, p->len@n, p->len@neg, p->len@(n+97), bad->len@n, p->path[0]@(n - 3), p->path[0]@(n/(n-3)), buf@2`)
	f := r.schema.Fields
	if got := r.bytes(0); len(got) != 8 || binary.LittleEndian.Uint32(got) != 4097 || f[0].Kind != event.Fixed || typeString(f[0].Type) != "int [2]" {
		t.Errorf("p->len@2 = % x %+v", got, f[0])
	}
	if got, flags := r.counted(f[1].Offset); got != "/et" || flags != 0 || typeString(f[1].Type) != "char []" || f[1].Kind != event.Counted {
		t.Errorf("p->path[0]@n = %q: %+v", got, f[1])
	}
	if got, _ := r.counted(f[2].Offset); len(got) != 12 {
		t.Errorf("p->len@n has %d bytes", len(got))
	}
	if r.status(3) != event.BadBounds {
		t.Errorf("p->len@neg: status %d", r.status(3))
	}
	if got, flags := r.counted(f[4].Offset); len(got) != 16 || flags != 1 {
		t.Errorf("p->len@(n+97): %d bytes, flags %d", len(got), flags)
	}
	if r.status(5) != event.Unreadable {
		t.Errorf("bad->len@n: status %d", r.status(5))
	}
	if got, flags := r.counted(f[6].Offset); r.status(6) != event.OK || got != "" || flags != 0 {
		t.Errorf("repeat of 0: status %d %q", r.status(6), got)
	}
	if r.status(7) != event.DivideByZero {
		t.Errorf("n/(n-3): status %d", r.status(7))
	}
	if typeString(f[8].Type) != "char [2][8]" || r.status(8) != event.OK || string(r.bytes(8)[:3]) != "abc" {
		t.Errorf("buf@2: %s", typeString(f[8].Type))
	}
}

func TestSpecialItems(t *testing.T) {
	s, m := sample()
	in := sampleInput()
	in.StackLimit = 64
	for i := range 16 {
		if i != 6 && i != 7 {
			m.Regs[i] = uint64(i) << 32
		}
	}
	r := collectOne(t, s, m, in, "$regs, $bt, $ret, $pid, $tid, $comm, $cpu, $time, $xmm1, $rip, $rax/x, $pid + 1")
	f := r.schema.Fields
	word := func(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	for k, name := range []int{0, 1} {
		b := r.bytes(name)
		if word(b, 0) != 0 || word(b, 1) != 3<<32 || word(b, 2) != 2<<32 || word(b, 3) != 1<<32 || word(b, 6) != rbp || word(b, 7) != rsp ||
			word(b, 15) != 15<<32 || word(b, 16) != 0x1000+bias || word(b, 17) != 0x246 {
			t.Errorf("registers of field %d: % x", k, b)
		}
	}
	if f[0].Kind != event.Regs || f[0].Size != 144 || f[1].Kind != event.Stack || f[1].Size != 144+8+64 || f[0].Type != nil {
		t.Errorf("%+v %+v", f[0], f[1])
	}
	if got, _ := r.counted(f[1].Offset + 144); got != string(m.Mem.(fakeMemory)[stackAddr][0x80:0xc0]) {
		t.Errorf("stack copy of %d bytes", len(got))
	}
	if r.uint(2) != 0x401234 || typeString(f[2].Type) != "void (*)()" {
		t.Errorf("$ret = %#x", r.uint(2))
	}
	for i := 3; i < 8; i++ {
		if f[i].Kind != event.Header || f[i].Size != 0 {
			t.Errorf("%s: %+v", f[i].Name, f[i])
		}
	}
	if string(r.bytes(8)) != string(wide(m).XMM[1][:]) || typeString(f[8].Type) != "union vec128" {
		t.Errorf("$xmm1 = % x", r.bytes(8))
	}
	if r.int(11) != 4243 {
		t.Errorf("$pid + 1 = %d", r.int(11))
	}
}

func TestGroups(t *testing.T) {
	s, m := sample()
	in := sampleInput()
	in.AggregateLimit = 100
	big := s.add("big", ctype.ArrayOf(ctype.IntT, 100), onFrame(-0x1000))
	vla := s.add("vla", ctype.ArrayOf(ctype.IntT, -1), onFrame(-0x2000))
	untyped := &debuginfo.Variable{Name: "untyped", Loc: debuginfo.Location{Pieces: []debuginfo.Piece{inReg(0)}}}
	s.args = []*debuginfo.Variable{s.vars["p"], s.vars["gone"]}
	s.locals = []*debuginfo.Variable{s.vars["i"], s.vars["buf"], s.vars["text"], s.vars["entry"], big, vla, untyped, s.vars["bad"]}
	r := collectOne(t, s, m, in, "$args, count, $locals/x")
	var got []string
	for _, f := range r.schema.Fields {
		line := f.Name + " " + f.Group
		if f.Static != event.OK {
			line += " " + f.Reason
		}
		if f.Static == event.OptimisedOut {
			line = "- " + line
		}
		got = append(got, line)
	}
	want := []string{
		"p $args", "- gone $args optimised out", "count ", "i $locals", "buf $locals", "text $locals",
		"- entry $locals its location needs the caller's registers (DW_OP_entry_value)",
		"big $locals 400 bytes: $locals collects at most 100 of one variable; collect big by name",
		"vla $locals the size of int [] is unknown here",
		"untyped $locals the debug information has no type for \"untyped\"", "bad $locals",
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || strings.TrimSpace(got[i]) != strings.TrimSpace(want[i]) {
			t.Errorf("fields:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			break
		}
	}
	if r.int(3) != -5 || r.schema.Fields[3].Show.Letter != 'x' {
		t.Errorf("i = %d", r.int(3))
	}
	s.noDebug = true
	r = collectOne(t, s, m, in, "$args, $rdi")
	if f := r.schema.Fields[0]; f.Static != event.Unsupported || f.Reason == "" {
		t.Errorf("$args without debug info: %+v", f)
	}
}

// TestGroupsDoNotOverflow: many large locals leave room in the record.
func TestGroupsDoNotOverflow(t *testing.T) {
	s, _ := sample()
	for i := range 40 {
		v := *s.add("big", ctype.ArrayOf(ctype.CharT, 4000), onFrame(-4000*i-4000))
		s.locals = append(s.locals, &v)
	}
	delete(s.vars, "big")
	out := compile(t, s, sampleInput(), "", "$locals")
	if last := out.Schema.Fields[39]; last.Static != event.Unsupported || out.Schema.RecordSize > groupLimit+1024 {
		t.Errorf("record of %d bytes, %+v", out.Schema.RecordSize, last)
	}
}

// TestLayout: alignment, status bytes, no overlap.
func TestLayout(t *testing.T) {
	s, _ := sample()
	in := sampleInput()
	in.StackLimit = 100
	out := compile(t, s, in, "i", "p->b, buf[0], i, p->path, *p, $bt, buf[1], x, p->a, $xmm1.v4_float[3], gone == 1 ? 0 : 0"[:strings.Index("p->b, buf[0], i, p->path, *p, $bt, buf[1], x, p->a, $xmm1.v4_float[3], gone", ", gone")])
	used := make([]int, out.Schema.RecordSize)
	claim := func(what string, at, n int) {
		if at < ring.RecHeader || at+n > len(used) {
			t.Errorf("%s: %d bytes at %d in a record of %d", what, n, at, len(used))
			return
		}
		for i := at; i < at+n; i++ {
			if used[i]++; used[i] > 1 {
				t.Errorf("%s: byte %d is used twice", what, i)
			}
		}
	}
	for _, f := range out.Schema.Fields {
		room := f.Size
		if f.StatusOffset >= 0 {
			claim(f.Name+" status", f.StatusOffset, 1)
			room = max(room, 8)
			if f.Offset%8 != 0 {
				t.Errorf("%s may fail and is at %d", f.Name, f.Offset)
			}
		}
		claim(f.Name, f.Offset, room)
		if f.Type != nil && f.Type.IsScalar() && f.Offset%int(f.Type.Strip().Size) != 0 {
			t.Errorf("%s is at %d", f.Name, f.Offset)
		}
		if f.StrSize > 0 {
			claim(f.Name+" string", f.StrOffset, f.StrSize)
		}
		if f.StrStatusOffset >= 0 {
			claim(f.Name+" string status", f.StrStatusOffset, 1)
		}
	}
	if out.Schema.RecordSize%8 != 0 {
		t.Errorf("record of %d bytes", out.Schema.RecordSize)
	}
	if empty := compile(t, s, in, "i", ""); empty.Schema.RecordSize != ring.RecHeader || len(empty.Schema.Fields) != 0 {
		t.Errorf("an empty list gives a record of %d bytes", empty.Schema.RecordSize)
	}
}

// TestConditionFirst: nothing of the record is touched before the condition is
// decided, and && becomes control flow.
func TestConditionFirst(t *testing.T) {
	s, _ := sample()
	out := compile(t, s, sampleInput(), "i < 0 && p->len > 4096 || !count", "*p")
	reserve := -1
	for n, b := range out.Program.Blocks {
		for _, in := range b.Instrs {
			if in.Op == ir.Reserve {
				reserve = n
			}
		}
		if len(b.Params) > 0 && b.Note == "joined" {
			t.Errorf("a 0 or 1 is made in block %d:\n%s", n, out.Program)
		}
	}
	if reserve < 4 {
		t.Errorf("reserve in block %d:\n%s", reserve, out.Program)
	}
}
