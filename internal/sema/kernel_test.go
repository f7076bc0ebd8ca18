package sema

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/eval"
	"github.com/jalon-trace/jalon/internal/ring"
)

// The kernel of these tests.
const (
	contextAddr = 0xffffc90000001000
	taskAddr    = 0xffff888000010000
	cpuBases    = 0xffffffff82000000 // __per_cpu_offset
	cpuZero     = 0xffff888100000000
	cpuOne      = 0xffff888100010000
	kernelText  = 0xffffffff81000000
	kernelData  = 0xffffffff83000000
)

func ctxPiece(off int64) debuginfo.Piece {
	return debuginfo.Piece{Kind: debuginfo.InContext, Ctx: off}
}

func dynamicOf(mark string, elem *ctype.Type) *ctype.Type {
	return &ctype.Type{Kind: ctype.Typedef, Name: mark, Size: 4, Elem: ctype.ArrayOf(elem, -1)}
}

// kernelScope has what all kinds of place share: task_struct, per-CPU and static data.
func kernelScope() (*fakeScope, *eval.Machine) {
	s := newScope()
	s.pc, s.fn, s.cfa = kernelText-bias, "", nil
	task := s.addType(structOf("task_struct", member{"pid", ctype.IntT, 0}, member{"prio", ctype.IntT, 0},
		member{"comm", ctype.ArrayOf(ctype.CharT, 16), 0}, member{"mm", voidPtrT, 0}, member{"load", ctype.DoubleT, 0}))
	s.addType(structOf("pid", member{"level", ctype.UIntT, 0}))
	rq := s.addType(structOf("rq", member{"nr", ctype.UIntT, 0}, member{"curr", ctype.PointerTo(task), 0}))
	s.add("runqueues", rq, memOps(debuginfo.OpConst, 0x40)).Kind = debuginfo.PerCPU
	s.add("scattered", ctype.IntT, debuginfo.Piece{Kind: debuginfo.InRegister}).Kind = debuginfo.PerCPU
	s.add("total", ctype.IntT, atAddr(kernelData-bias)).Kind = debuginfo.Global

	m := &eval.Machine{}
	m.Env = [ir.NumEnv]uint64{
		ir.EnvContext: contextAddr, ir.EnvCPU: 1, ir.EnvTask: taskAddr, ir.EnvPidTgid: 4242<<32 | 4243,
		ir.EnvUidGid: 100<<32 | 1000, ir.EnvCgroup: 77, ir.EnvTime: 123456789,
	}
	copy(m.Comm[:], "worker")
	put := binary.LittleEndian
	tsk := make([]byte, 64)
	put.PutUint32(tsk[0:], 4243)
	put.PutUint32(tsk[4:], 120)
	copy(tsk[8:], "worker")
	put.PutUint64(tsk[32:], 0x3ff8000000000000)
	bases := make([]byte, 16)
	put.PutUint64(bases[0:], cpuZero)
	put.PutUint64(bases[8:], cpuOne)
	zero, one, data := make([]byte, 0x60), make([]byte, 0x60), make([]byte, 16)
	put.PutUint32(zero[0x40:], 5)
	put.PutUint32(one[0x40:], 6)
	put.PutUint64(one[0x48:], taskAddr)
	put.PutUint32(data, 99)
	m.Mem = fakeMemory{taskAddr: tsk, cpuBases: bases, cpuZero: zero, cpuOne: one, kernelData: data, heapAddr: []byte("/etc/passwd\x00")}
	return s, m
}

func kernelInput(c Context) Input {
	return Input{Bias: bias, Place: "place", SiteID: 7, Kernel: &KernelInput{
		Context: c, PerCPU: func() uint64 { return cpuBases },
		Symbol: func(name string) (uint64, bool) { return kernelData, name == "total" },
	}}
}

// setContext gives the machine its context block, in memory too.
func setContext(m *eval.Machine, b []byte) {
	m.Context = b
	m.Mem.(fakeMemory)[contextAddr] = b
}

// record is a tracepoint's record: common 0-7, a word 8, flags 12 (3 bits, 5
// bits), narrow 14, comm 16 (16 bytes), name 32 and mask 36 (__data_loc), rel 40
// (__rel_loc), raw 44, p 48, args[2] 56, odd 74, d 80, then the arrays.
func recordScope() (*fakeScope, *eval.Machine, *ctype.Type) {
	s, m := kernelScope()
	rec := &ctype.Type{Kind: ctype.Struct, Name: "trace_event_raw_x", Size: 88}
	rec.SetFields([]ctype.Field{
		{Name: "word", Type: ctype.IntT, BitOffset: 64},
		{Name: "low", Type: ctype.UShortT, BitOffset: 96, BitSize: 3},
		{Name: "high", Type: ctype.ShortT, BitOffset: 99, BitSize: 5},
		{Name: "narrow", Type: ctype.ShortT, BitOffset: 14 * 8},
		{Name: "comm", Type: ctype.ArrayOf(ctype.CharT, 16), BitOffset: 16 * 8},
		{Name: "name", Type: dynamicOf("__data_loc", ctype.CharT), BitOffset: 32 * 8},
		{Name: "mask", Type: dynamicOf("__data_loc", ctype.ULongT), BitOffset: 36 * 8},
		{Name: "rel", Type: dynamicOf("__rel_loc", ctype.CharT), BitOffset: 40 * 8},
		{Name: "raw", Type: dynamicOf("__data_loc", ctype.CharT), BitOffset: 44 * 8},
		{Name: "p", Type: ctype.PointerTo(ctype.CharT), BitOffset: 48 * 8},
		{Name: "args", Type: ctype.ArrayOf(ctype.LongT, 2), BitOffset: 56 * 8},
		{Name: "odd", Type: ctype.IntT, BitOffset: 74 * 8},
		{Name: "d", Type: ctype.DoubleT, BitOffset: 80 * 8},
	})
	s.add("args", rec, ctxPiece(0))
	for _, f := range rec.Fields() {
		if f.Name != "args" && f.Name != "comm" && f.BitSize == 0 {
			s.args = append(s.args, s.add(f.Name, f.Type, ctxPiece(f.BitOffset/8)))
		}
	}
	s.add("common_pid", ctype.IntT, ctxPiece(4))
	b := make([]byte, 128)
	put := binary.LittleEndian
	put.PutUint64(b, 0xdeaddeaddeaddead)
	put.PutUint32(b[8:], ^uint32(4))
	put.PutUint16(b[12:], 0x1e<<3|5)
	put.PutUint16(b[14:], 0xfffe)
	copy(b[16:], "swapper/1")
	put.PutUint32(b[32:], 6<<16|88)
	copy(b[88:], "hello\x00")
	put.PutUint32(b[36:], 16<<16|96)
	put.PutUint64(b[96:], 0xff)
	put.PutUint64(b[104:], 3)
	put.PutUint32(b[40:], 4<<16|(112-44))
	copy(b[112:], "rel\x00")
	put.PutUint32(b[44:], 3<<16|116)
	copy(b[116:], "abcdef")
	put.PutUint64(b[48:], heapAddr)
	put.PutUint64(b[56:], 11)
	put.PutUint64(b[64:], 22)
	put.PutUint32(b[74:], 0x12345678)
	put.PutUint64(b[80:], 0x4004000000000000)
	setContext(m, b)
	return s, m, rec
}

// regsScope is a kernel function with pt_regs.
func regsScope() (*fakeScope, *eval.Machine) {
	s, m := kernelScope()
	s.add("count", ctype.ULongT, inReg(1))
	s.add("task", ctype.PointerTo(s.types[ctype.Struct]["task_struct"]), inReg(5))
	s.add("vec", ctype.DoubleT, inReg(18))
	m.Regs[0], m.Regs[1], m.Regs[5] = 0x99, 4096, taskAddr
	m.Regs[ir.RegPC] = kernelText + 1
	m.Regs[ir.RegThread], m.Regs[ir.RegFlags] = fsBase, 0x246
	return s, m
}

// noFloats holds that nothing of vectors and floating point is in a program.
func noFloats(t testing.TB, out *Output) {
	t.Helper()
	for _, c := range out.Program.Classes {
		if c != ir.I64 {
			t.Fatalf("a floating-point value:\n%s", out.Program)
		}
	}
	for _, b := range out.Program.Blocks {
		for _, in := range b.Instrs {
			switch in.Op {
			case ir.FReg, ir.PutReg, ir.FLoad, ir.FPut:
				t.Fatalf("%v in a kernel program:\n%s", in.Op, out.Program)
			}
		}
	}
}

func kernelRun(t *testing.T, s *fakeScope, m *eval.Machine, in Input, cond, collect string) result {
	t.Helper()
	out := compile(t, s, in, cond, collect)
	noFloats(t, out)
	r := run(t, out, m)
	checkProgram(t, out)
	if again := run(t, out, m); again.Diff(r.Record, r.Counters) != "" {
		t.Fatalf("optimised, it does something else: %s", again.Diff(r.Record, r.Counters))
	}
	return r
}

type kernelValue struct {
	expr string
	want int64
	typ  string
}

func checkValues(t *testing.T, s *fakeScope, m *eval.Machine, in Input, list []kernelValue) {
	t.Helper()
	for _, tt := range list {
		// As a part of an expression it is no item of the record's head.
		out, err := tryCompile(s, in, "", "(0, "+tt.expr+")")
		if err != nil {
			t.Errorf("%s:\n%v", tt.expr, err)
			continue
		}
		noFloats(t, out)
		r := run(t, out, m)
		if f := &out.Schema.Fields[0]; tt.typ == "FAULT" {
			if r.status(0) != event.Unreadable {
				t.Errorf("%s: status %d", tt.expr, r.status(0))
			}
		} else if r.status(0) != event.OK || r.int(0) != tt.want || tt.typ != "" && typeString(f.Type) != tt.typ {
			t.Errorf("%s: status %d, %d (%s), want %d (%s)", tt.expr, r.status(0), r.int(0), typeString(f.Type), tt.want, tt.typ)
		}
		// The same as a condition.
		if tt.typ == "FAULT" {
			continue
		}
		cond := compile(t, s, in, "("+tt.expr+") == "+fmt.Sprint(tt.want), "")
		if c := run(t, cond, m); c.Record == nil {
			t.Errorf("%s == %d is false:\n%s", tt.expr, tt.want, cond.Program)
		}
	}
}

func TestKernelRecord(t *testing.T) {
	s, m, _ := recordScope()
	checkValues(t, s, m, kernelInput(ContextRecord), []kernelValue{
		{"args->word", -5, "int"},
		{"args.word", -5, "int"},
		{"word", -5, "int"},
		{"args->low", 5, "unsigned short"},
		{"args->high", -2, "short"},
		{"args->narrow", -2, "short"},
		{"args->args[1]", 22, "long"},
		{"args->args[word + 6]", 22, "long"},
		{"args->odd", 0x12345678, "int"},
		{"*args->p", '/', "char"},
		{"args->comm[0]", 's', "char"},
		{"args->comm == \"swapper/1\"", 1, "int"},
		{"args->comm == \"swapper\"", 0, "int"},
		{"args->name == \"hello\"", 1, "int"},
		{"args->name == \"hell\"", 0, "int"},
		{"args->name == \"hello!\"", 0, "int"},
		{"name != \"hello\"", 0, "int"},
		{"args->rel == \"rel\"", 1, "int"},
		{"args->raw == \"abc\"", 1, "int"},
		{"args->raw == \"abcd\"", 0, "int"},
		{"args->raw == \"abd\"", 0, "int"},
		{"raw == \"\"", 0, "int"},
		{"args->name[1]", 'e', "char"},
		{"args->mask[1]", 3, "unsigned long"},
		{"*args->mask", 0xff, "unsigned long"},
		{"sizeof args->mask", 16, "unsigned long"},
		{"sizeof(args->mask) / sizeof(long)", 2, "unsigned long"},
		{"sizeof args->comm", 16, "unsigned long"},
		{"str(args->name) == \"hello\"", 1, "int"},
		{"str(args->p) == \"/etc/passwd\"", 1, "int"},
		{"(char *)&args->odd - (char *)&args->word", 66, "long"},
		{"(args->p, args->name[0])", 'h', "char"},
		{"sizeof args->d", 8, "unsigned long"},
		{"(1 ? *(&args->word) : 0)", -5, "int"},
	})
	in := kernelInput(ContextRecord)
	r := kernelRun(t, s, m, in, "", "args->name, args->mask, rel, raw, args->comm, args, args->d, d, str(args->name), args->name[0]@3, args->p, comm, pid, $comm, nsecs, (args->args@1)[0], args->odd, args->args[0]@2, $args")
	f := r.schema.Fields
	for i, want := range []string{"hello\x00", "\xff\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00", "rel\x00", "abc"} {
		if got, flags := r.counted(f[i].Offset); got != want || flags != 0 || f[i].Kind != event.Counted {
			t.Errorf("%s = %q, flags %d: %+v", f[i].Name, got, flags, f[i])
		}
	}
	if typeString(f[1].Type) != "unsigned long []" || typeString(f[0].Type) != "char []" {
		t.Errorf("types %s, %s", typeString(f[0].Type), typeString(f[1].Type))
	}
	if got := string(r.bytes(4)); got != "swapper/1\x00\x00\x00\x00\x00\x00\x00" {
		t.Errorf("comm of the record: %q", got)
	}
	if got := string(r.bytes(5)); got != "\x00\x00\x00\x00\x00\x00\x00\x00"+string(m.Context[8:88]) {
		t.Errorf("args = %x", got)
	}
	if r.float(6) != 2.5 || r.float(7) != 2.5 {
		t.Errorf("d = %v, %v", r.float(6), r.float(7))
	}
	if got, _ := r.counted(f[8].Offset); got != "hello" {
		t.Errorf("str(name) = %q", got)
	}
	if got := string(r.bytes(9)); got != "hel" {
		t.Errorf("name[0]@3 = %q", got)
	}
	if got, _ := r.counted(f[10].StrOffset); got != "/etc/passwd" {
		t.Errorf("p = %q", got)
	}
	for i, name := range []string{"comm", "pid", "$comm", "nsecs"} {
		if f[11+i].Kind != event.Header || f[11+i].Name != name {
			t.Errorf("%s: %+v", name, f[11+i])
		}
	}
	if !r.schema.Kernel || r.schema.CommOffset != ring.RecHeader || string(r.Record[24:40]) != string(m.Comm[:]) || r.schema.SiteID != 7 {
		t.Errorf("schema %+v", r.schema)
	}
	if r.int(16) != 0x12345678 || string(r.bytes(17)) != string(m.Context[56:72]) {
		t.Errorf("odd %#x, args@2 %x", r.int(16), r.bytes(17))
	}
	if len(f) != 18+len(s.args) || f[18].Group != "$args" || f[18].Name != "word" {
		t.Errorf("%d fields", len(f))
	}
	in.StringLimit, in.RepeatLimit = 3, 1
	r = kernelRun(t, s, m, in, "", "name, mask")
	for i, want := range []string{"hel", "\xff\x00\x00\x00\x00\x00\x00\x00"} {
		if got, flags := r.counted(r.schema.Fields[i].Offset); got != want || flags != 1 {
			t.Errorf("limited: %q, flags %d", got, flags)
		}
	}
	// A word that lies is a fault, not a wild read.
	binary.LittleEndian.PutUint32(m.Context[32:], 50<<16|120)
	if r = kernelRun(t, s, m, kernelInput(ContextRecord), "", "name"); r.status(0) != event.Unreadable {
		t.Errorf("an array outside of the record: status %d", r.status(0))
	}
}

func TestKernelWords(t *testing.T) {
	s, m := kernelScope()
	in := kernelInput(ContextNone)
	checkValues(t, s, m, in, []kernelValue{
		{"pid", 4242, "int"},
		{"$pid", 4242, "int"},
		{"tid", 4243, "int"},
		{"$tid", 4243, "int"},
		{"cpu", 1, "unsigned int"},
		{"$cpu + 1", 2, "unsigned int"},
		{"uid", 1000, "unsigned int"},
		{"gid", 100, "unsigned int"},
		{"$gid", 100, ""},
		{"cgroup", 77, "unsigned long"},
		{"$cgroup", 77, ""},
		{"nsecs", 123456789, "unsigned long"},
		{"$time", 123456789, ""},
		{"curtask->prio", 120, "int"},
		{"$task->pid", 4243, "int"},
		{"$curtask->pid", 4243, "int"},
		{"comm == \"worker\"", 1, "int"},
		{"$comm == \"work\"", 0, "int"},
		{"comm[0]", 'w', "char"},
		{"$task->mm == 0", 1, "int"},
		{"this_cpu(runqueues).nr", 6, "unsigned int"},
		{"this_cpu(runqueues.nr)", 6, "unsigned int"},
		{"per_cpu(runqueues, 0).nr", 5, "unsigned int"},
		{"per_cpu(runqueues, cpu).curr->pid", 4243, "int"},
		{"this_cpu(runqueues).curr == curtask", 1, "int"},
		{"per_cpu(runqueues, 9).nr", 0, "FAULT"},
		{"per_cpu(runqueues, -1).nr", 0, "FAULT"},
		{"sizeof runqueues", 16, ""},
		{"sizeof(this_cpu(runqueues))", 16, ""},
		{"&this_cpu(runqueues).nr", cpuOne + 0x40 - 1<<64, "unsigned int *"},
		{"total", 99, "int"},
		{"*(int *)kaddr(\"total\")", 99, "int"},
		{"kaddr(\"total\") + 1", kernelData + 1 - 1<<64, "unsigned long"},
		{"&total", kernelData - 1<<64, "int *"},
		{"((struct task_struct *)0)->pid", 0, "FAULT"},
		{"sizeof(struct task_struct)", 40, ""},
	})
	// A variable of the program's hides the word.
	s.add("pid", ctype.IntT, memOpsValue(3))
	checkValues(t, s, m, in, []kernelValue{{"pid", 3, "int"}, {"$pid", 4242, "int"}})
	r := kernelRun(t, s, m, in, "", "pid, uid, $task->comm, $task->load, $uid/x, *$task, total, this_cpu(runqueues)")
	f := r.schema.Fields
	if f[0].Kind != event.Fixed || r.int(0) != 3 || r.int(1) != 1000 || string(r.bytes(2)[:7]) != "worker\x00" || r.float(3) != 1.5 || r.int(6) != 99 {
		t.Errorf("%+v %x", f, r.Record)
	}
	if f[6].StatusOffset >= 0 || f[7].StatusOffset >= 0 || f[2].StatusOffset < 0 {
		t.Errorf("guards: %+v", f)
	}
	process, is := (&Input{Scope: s}).isType, (&Input{Scope: s, Kernel: &KernelInput{}}).isType
	if is("pid") || !is("task_struct") || is("comm") || !is("int") || is("nothing") {
		t.Error("isType in the kernel")
	}
	if delete(s.vars, "pid"); !process("pid") || is("pid") {
		t.Error("the struct pid is a type, and the word pid hides it in the kernel only")
	}
	other := newScope()
	other.add("task_struct", ctype.IntT, inReg(0))
	if (&Input{Scope: s, Kernel: &KernelInput{Other: other}}).isType("task_struct") || !(&Input{Scope: s, Kernel: &KernelInput{Other: newScope()}}).isType("task_struct") {
		t.Error("a variable of another scope hides the type")
	}
	// The type of the task may come from elsewhere.
	delete(s.types[ctype.Struct], "task_struct")
	in.Kernel.Task = structOf("task_struct", member{"pid", ctype.IntT, 0})
	checkValues(t, s, m, in, []kernelValue{{"$task->pid", 4243, "int"}})
	s.add("curtask", ctype.PointerTo(ctype.CharT), debuginfo.Piece{Kind: debuginfo.IsValue, Expr: ops(debuginfo.OpEnv, ir.EnvTask)})
	checkValues(t, s, m, in, []kernelValue{{"$task == curtask", 1, "int"}, {"*curtask", 4243&0xff - 256, "char"}})
}

func TestKernelRegisters(t *testing.T) {
	s, m := regsScope()
	in := kernelInput(ContextRegs)
	in.AtEntry, in.Kernel.Return = true, true
	checkValues(t, s, m, in, []kernelValue{
		{"count", 4096, "unsigned long"},
		{"task->prio", 120, "int"},
		{"arg0", taskAddr - 1<<64, "unsigned long"},
		{"$arg1", 0, ""},
		{"$rax", 0x99, ""},
		{"$al", 0x99 - 256, ""},
		{"retval", 0x99, "unsigned long"},
		{"$retval", 0x99, "unsigned long"},
		{"$rip", kernelText + 1 - 1<<64, ""},
		{"$fs_base", fsBase, "long"},
		{"sizeof $xmm0", 16, ""},
		{"((struct task_struct *)arg0)->pid", 4243, "int"},
	})
	r := kernelRun(t, s, m, in, "count > 4095", "$regs, $bt, $ubt, count")
	f := r.schema.Fields
	if b := r.bytes(0); binary.LittleEndian.Uint64(b) != 0x99 || binary.LittleEndian.Uint64(b[16*8:]) != kernelText+1 || binary.LittleEndian.Uint64(b[17*8:]) != 0x246 {
		t.Errorf("$regs = %x", b)
	}
	if f[1].Kind != event.KernelFrames || f[2].Kind != event.UserFrames || f[1].Size != 8+8*127 || f[1].StatusOffset >= 0 {
		t.Errorf("frames: %+v", f[1:3])
	}
	s.add("retval", ctype.IntT, inReg(0))
	checkValues(t, s, m, in, []kernelValue{{"retval", 0x99, "int"}, {"$retval", 0x99, "int"}})
	in.StackLimit = 33
	if out := compile(t, s, in, "", "$bt"); out.Schema.Fields[0].Size != 8+32 {
		t.Errorf("%d bytes of frames", out.Schema.Fields[0].Size)
	}
	// The return address at the entry needs no frame information.
	m.Regs[7] = rsp
	m.Mem.(fakeMemory)[rsp] = []byte{1, 2, 0, 0, 0, 0, 0, 0}
	checkValues(t, s, m, in, []kernelValue{{"$ret", 0x201, ""}})
	// Stack slots are not trusted.
	s.cfa = ops(debuginfo.OpReg, 6, debuginfo.OpAddConst, 16)
	s.add("slot", ctype.IntT, onFrame(-20))
	if r := kernelRun(t, s, m, in, "", "slot"); r.status(0) != event.Unreadable {
		t.Errorf("slot: status %d", r.status(0))
	}
}

func TestKernelArgs(t *testing.T) {
	s, m := kernelScope()
	task := ctype.PointerTo(s.types[ctype.Struct]["task_struct"])
	pair := s.addType(structOf("pair", member{"a", ctype.LongT, 0}, member{"b", ctype.IntT, 0}, member{"c", ctype.CharT, 0}))
	s.args = []*debuginfo.Variable{
		s.add("prev", task, ctxPiece(8)), s.add("state", ctype.UIntT, ctxPiece(16)), s.add("pair", pair, ctxPiece(24)),
		s.add("narrow", ctype.SCharT, ctxPiece(0)),
	}
	s.add("split", pair, debuginfo.Piece{Kind: debuginfo.InContext, Ctx: 24, BitSize: 64}, debuginfo.Piece{Kind: debuginfo.InContext, Ctx: 32, BitSize: 64})
	s.add("wide", ctype.ArrayOf(ctype.CharT, 32), debuginfo.Piece{Kind: debuginfo.InContext, Ctx: 0, BitSize: 128}, debuginfo.Piece{Kind: debuginfo.InContext, Ctx: 24, BitSize: 128})
	b := make([]byte, 48)
	put := binary.LittleEndian
	put.PutUint64(b, 0xffffffffffffffff)
	put.PutUint64(b[8:], taskAddr)
	put.PutUint64(b[16:], 0xdeadbeef00000002)
	put.PutUint64(b[24:], 11)
	put.PutUint64(b[32:], 0x41_0000000c)
	setContext(m, b)
	in := kernelInput(ContextArgs)
	checkValues(t, s, m, in, []kernelValue{
		{"prev->pid", 4243, "int"},
		{"prev->comm == \"worker\"", 1, ""},
		{"state", 2, "unsigned int"},
		{"pair.a", 11, "long"},
		{"pair.b", 12, "int"},
		{"pair.c", 'A', "char"},
		{"narrow", -1, "signed char"},
		{"arg1", taskAddr - 1<<64, "unsigned long"},
		{"arg0 == -1", 1, ""},
		{"$arg2 & 0xff", 2, ""},
		{"split.a", 11, ""},
		{"split.b + split.c", 77, ""},
		{"(&pair)->b", 12, ""},
		{"wide[0]", -1, ""},
		{"wide[16]", 11, ""},
	})
	r := kernelRun(t, s, m, in, "", "pair, split, wide, $args, prev/x")
	if string(r.bytes(0)) != string(b[24:40]) || string(r.bytes(1)) != string(b[24:40]) || string(r.bytes(2)) != string(b[:16])+string(b[24:40]) {
		t.Errorf("pair %x, split %x, wide %x", r.bytes(0), r.bytes(1), r.bytes(2))
	}
}

// TestKernelUser: a site in user code: addresses are counted from the instruction pointer.
func TestKernelUser(t *testing.T) {
	s, m := sample()
	m.Env[ir.EnvPidTgid] = 4242<<32 | 4243
	in := sampleInput()
	in.Bias, in.AtEntry, in.TLSOffset = 0, true, func() (int64, error) { return -64, nil }
	in.Kernel = &KernelInput{Context: ContextRegs, User: true}
	const moved = 0x555500000000
	m.Regs[ir.RegPC] = 0x1000 + moved
	mem := m.Mem.(fakeMemory)
	mem[dataAddr-bias+moved] = mem[dataAddr]
	delete(mem, dataAddr)
	checkValues(t, s, m, in, []kernelValue{
		{"count", 77, "int"},
		{"'main.c'::count", 77, "int"},
		{"&count", dataAddr - bias + moved, "int *"},
		{"i", -5, "int"},
		{"buf[1]", 'b', ""},
		{"p->len", 4097, ""},
		{"tls", 99, "int"},
		{"$rip", 0x1000 + moved, ""},
		{"p->path == \"/etc/passwd\"", 1, ""},
		{"$pid", 4242, ""},
		{"bad->len", 0, "FAULT"},
		{"arg0", heapAddr, ""},
		{"$ret", 0x401234, ""},
		{"p->bs", -7, ""},
	})
	r := kernelRun(t, s, m, in, "", "p->d, count, i, $bt, *p")
	if f := r.schema.Fields; r.float(0) != 2.5 || f[1].StatusOffset < 0 || f[2].StatusOffset < 0 || f[3].Kind != event.Stack {
		t.Errorf("%+v", f)
	}
	in.Kernel.Return = true
	if _, err := tryCompile(s, in, "", "count"); err == nil || !strings.Contains(err.Error(), "where its data lie is not known") {
		t.Errorf("static data at a return: %v", err)
	}
	in.Kernel.Fixed = true
	mem[dataAddr-bias] = mem[dataAddr-bias+moved]
	checkValues(t, s, m, in, []kernelValue{{"count", 77, ""}, {"retval", 0x1122334455667788, "unsigned long"}})
}
