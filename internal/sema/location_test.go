package sema

import (
	"encoding/binary"
	"math/rand"
	"slices"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/eval"
	"github.com/jalon-trace/jalon/test/testkit"
)

// interpret is the DWARF machine, executed plainly; ok is false when it fails
// (a read that cannot be done, a division by zero).
func interpret(ops []debuginfo.Op, m *eval.Machine) (top uint64, ok bool) {
	var st []uint64
	pop := func() uint64 { v := st[len(st)-1]; st = st[:len(st)-1]; return v }
	flag := func(b bool) {
		if b {
			st = append(st, 1)
		} else {
			st = append(st, 0)
		}
	}
	for i := 0; i < len(ops); i++ {
		op := ops[i]
		var y, x uint64
		if eff := opEffects[op.Code]; eff == (opEffect{2, 1}) {
			y, x = pop(), pop()
		} else if eff == (opEffect{1, 1}) {
			x = pop()
		}
		switch op.Code {
		case debuginfo.OpConst:
			st = append(st, uint64(op.Arg))
		case debuginfo.OpAddr:
			st = append(st, uint64(op.Arg)+bias)
		case debuginfo.OpReg:
			st = append(st, m.Regs[op.Arg])
		case debuginfo.OpTLS:
			st = append(st, x+fsBase-64)
		case debuginfo.OpDeref:
			buf := make([]byte, 8)
			if m.Mem.Read(x, buf[:op.Arg]) < int(op.Arg) {
				return 0, false
			}
			st = append(st, binary.LittleEndian.Uint64(buf))
		case debuginfo.OpDup:
			st = append(st, st[len(st)-1])
		case debuginfo.OpDrop:
			pop()
		case debuginfo.OpPick:
			st = append(st, st[len(st)-1-int(op.Arg)])
		case debuginfo.OpSwap:
			n := len(st)
			st[n-1], st[n-2] = st[n-2], st[n-1]
		case debuginfo.OpRot:
			n := len(st)
			st[n-3], st[n-2], st[n-1] = st[n-1], st[n-3], st[n-2]
		case debuginfo.OpAbs:
			if int64(x) < 0 {
				x = -x
			}
			st = append(st, x)
		case debuginfo.OpNeg:
			st = append(st, -x)
		case debuginfo.OpNot:
			st = append(st, ^x)
		case debuginfo.OpAnd:
			st = append(st, x&y)
		case debuginfo.OpOr:
			st = append(st, x|y)
		case debuginfo.OpXor:
			st = append(st, x^y)
		case debuginfo.OpAdd:
			st = append(st, x+y)
		case debuginfo.OpAddConst:
			st = append(st, x+uint64(op.Arg))
		case debuginfo.OpSub:
			st = append(st, x-y)
		case debuginfo.OpMul:
			st = append(st, x*y)
		case debuginfo.OpDiv, debuginfo.OpMod:
			if y == 0 {
				return 0, false
			}
			if op.Code == debuginfo.OpMod {
				st = append(st, x%y)
			} else {
				st = append(st, uint64(int64(x)/int64(y)))
			}
		case debuginfo.OpUDiv, debuginfo.OpSMod:
			if y == 0 {
				return 0, false
			}
			if op.Code == debuginfo.OpUDiv {
				st = append(st, x/y)
			} else {
				st = append(st, uint64(int64(x)%int64(y)))
			}
		case debuginfo.OpULt:
			flag(x < y)
		case debuginfo.OpULe:
			flag(x <= y)
		case debuginfo.OpUGt:
			flag(x > y)
		case debuginfo.OpUGe:
			flag(x >= y)
		case debuginfo.OpNone:
			return 0, false
		case debuginfo.OpShl:
			st = append(st, x<<y)
		case debuginfo.OpShr:
			st = append(st, x>>y)
		case debuginfo.OpShra:
			st = append(st, uint64(int64(x)>>y))
		case debuginfo.OpEq:
			flag(x == y)
		case debuginfo.OpNe:
			flag(x != y)
		case debuginfo.OpLt:
			flag(int64(x) < int64(y))
		case debuginfo.OpLe:
			flag(int64(x) <= int64(y))
		case debuginfo.OpGt:
			flag(int64(x) > int64(y))
		case debuginfo.OpGe:
			flag(int64(x) >= int64(y))
		case debuginfo.OpSkip:
			i = int(op.Arg) - 1
		case debuginfo.OpBra:
			if pop() != 0 {
				i = int(op.Arg) - 1
			}
		case debuginfo.OpConvert:
			n := 64 - 8*uint(max(op.Arg, -op.Arg))
			if op.Arg < 0 {
				st = append(st, uint64(int64(x<<n)>>n))
			} else {
				st = append(st, x<<n>>n)
			}
		}
	}
	return st[len(st)-1], true
}

// randomOps makes location expressions, valid and not.
func randomOps(r *rand.Rand) []debuginfo.Op {
	codes := make([]debuginfo.OpCode, 0, len(opEffects))
	for c := debuginfo.OpConst; c <= debuginfo.OpNone; c++ {
		if c != debuginfo.OpEnv { // the kernel engine's
			codes = append(codes, c)
		}
	}
	n := 1 + r.Intn(14)
	list := make([]debuginfo.Op, 0, n)
	for i := range n {
		op := debuginfo.Op{Code: codes[r.Intn(len(codes))]}
		if i < 3 || r.Intn(4) == 0 {
			op.Code = []debuginfo.OpCode{debuginfo.OpConst, debuginfo.OpReg, debuginfo.OpAddr}[r.Intn(3)]
		}
		switch op.Code {
		case debuginfo.OpConst:
			op.Arg = []int64{0, 1, 2, -1, 63, 64, 65, 1 << 62, -1 << 63, 1000, heapAddr, dataAddr}[r.Intn(12)]
		case debuginfo.OpAddr:
			op.Arg = dataAddr - bias + r.Int63n(70)
		case debuginfo.OpReg:
			op.Arg = []int64{0, 5, 6, 7}[r.Intn(4)]
		case debuginfo.OpAddConst:
			op.Arg = r.Int63n(64) - 32
		case debuginfo.OpPick:
			op.Arg = r.Int63n(4)
		case debuginfo.OpDeref:
			op.Arg = 1 << r.Intn(4)
		case debuginfo.OpConvert:
			op.Arg = 1 << r.Intn(4) * int64(1-2*r.Intn(2))
		case debuginfo.OpSkip, debuginfo.OpBra:
			op.Arg = int64(i + 1 + r.Intn(n-i+1))
		}
		list = append(list, op)
	}
	return list
}

// TestLocationsAgainstInterpreter: what location compiles to computes what the
// DWARF machine computes.
func TestLocationsAgainstInterpreter(t *testing.T) {
	s, m := sample()
	r := rand.New(rand.NewSource(testkit.Seed(t, 1)))
	valid, failed, jumps, used := 0, 0, 0, map[debuginfo.OpCode]bool{}
	for range 60_000 {
		list := randomOps(r)
		s.add("v", ctype.ULongT, debuginfo.Piece{Kind: debuginfo.IsValue, Expr: list})
		out, err := tryCompile(s, sampleInput(), "", "v")
		if err != nil {
			continue
		}
		if err := ir.Check(out.Program); err != nil {
			t.Fatalf("%v: %v", list, err)
		}
		valid++
		for _, op := range list {
			used[op.Code] = true
			if op.Code == debuginfo.OpSkip || op.Code == debuginfo.OpBra {
				jumps++
			}
		}
		want, ok := interpret(list, m)
		m.RecordRoom = true
		o := eval.Run(out.Program, m)
		if o.Exit == eval.BadAccess {
			// Malformed: a slot computed from the frame or data that is not there.
			if ok {
				t.Fatalf("%v: an access without guard failed", list)
			}
			continue
		}
		res := result{o, &out.Schema}
		if ok != (res.status(0) == event.OK) {
			t.Fatalf("%v: status %d, the interpreter says %v", list, res.status(0), ok)
		}
		if !ok {
			failed++
		} else if got := res.uint(0); got != want {
			t.Fatalf("%v = %#x, want %#x\n%s", list, got, want, out.Program)
		}
	}
	t.Logf("%d valid expressions, %d failed at the hit, %d jumps", valid, failed, jumps)
	if integers := len(opEffects) - 1 - int(debuginfo.OpFToF-debuginfo.OpObject); valid < 10_000 || failed < 100 || jumps < 1000 || len(used) != integers {
		t.Errorf("the generator is too weak: %d valid, %d failing, %d jumps, %d of %d operations", valid, failed, jumps, len(used), len(opEffects))
	}
}

// TestEveryOpHasAnEffect fails when an operation is added without a rule.
func TestEveryOpHasAnEffect(t *testing.T) {
	for c := debuginfo.OpConst; c <= debuginfo.OpFToF; c++ {
		if _, ok := opEffects[c]; !ok && c != debuginfo.OpObject {
			t.Errorf("location operation %d has no rule", c)
		}
	}
}

// TestFragments: values and structs in several pieces, some of them missing.
func TestFragments(t *testing.T) {
	s, m := sample()
	pair := s.addType(structOf("pair", member{"a", ctype.LongT, 0}, member{"b", ctype.IntT, 0}, member{"c", ctype.ShortT, 0}, member{"f", ctype.UIntT, 5}))
	reg := func(n int, bits int64) debuginfo.Piece {
		return debuginfo.Piece{Kind: debuginfo.InRegister, Reg: n, BitSize: bits}
	}
	missing := func(bits int64) debuginfo.Piece {
		return debuginfo.Piece{Kind: debuginfo.IsMissing, BitSize: bits}
	}
	m.Regs[3] = 0xabcd_0000_ffff_fff0 // b = -16, c = 0
	m.Regs[8] = 0x0055_8001
	s.add("two", pair, reg(0, 64), reg(3, 32), reg(8, 32), missing(64))
	s.add("holes", pair, missing(64), reg(3, 32), reg(8, 16), missing(48))
	s.add("none", pair, missing(64), missing(32), debuginfo.Piece{Kind: debuginfo.InRegister, Reg: 33, BitSize: 48}, missing(48))
	s.add("mixed", pair, reg(0, 64), func() debuginfo.Piece { p := onFrame(-20); p.BitSize = 32; return p }(), reg(8, 32))
	s.add("wide", pair, reg(0, 0)) // 8 bytes for 20: the rest is missing
	s.add("inxmm", pair, reg(18, 128), missing(64))
	s.add("bits", ctype.IntT,
		debuginfo.Piece{Kind: debuginfo.InRegister, Reg: 0, BitOffset: 4, BitSize: 12}, debuginfo.Piece{Kind: debuginfo.InRegister, Reg: 3, BitSize: 20})
	s.add("nothing", ctype.IntT, missing(32))
	s.add("st0", longDoubleT, reg(33, 128))
	for _, tt := range []struct {
		expr string
		want int64
		err  string
	}{
		{"two.a", 0x1122334455667788, ""},
		{"two.b", -16, ""},
		{"two.c", -32767, ""},
		{"two.f", 0x55 & 31, ""},
		{"two", 0, ""},
		{"holes.b", -16, ""},
		{"holes.c + 1", -32766, ""},
		{"holes.a", 0, "this part of \"holes\" is optimised out here"},
		{"holes", 0, ""},
		{"none", 0, "variable \"none\" is optimised out here"},
		{"mixed.b", -5, ""},
		{"mixed", 0, ""},
		{"wide.a", 0x1122334455667788, ""},
		{"wide", 0, "variable \"wide\" is optimised out here"},
		{"inxmm.a", 0x3ff8000000000000, ""},
		{"inxmm.b", 0, ""},
		{"bits", 0x778 | canonical(0xffff0<<12, ctype.IntT), ""},
		{"nothing", 0, "variable \"nothing\" is optimised out here"},
		{"st0", 0, "variable \"st0\" has no value here: it is in register 33, which is not available"},
		{"two == two", 0, "an operand of == cannot be struct pair"},
		{"two % 2", 0, "an operand of % cannot be struct pair"},
		{"&two.b", 0, "\"two\" is not in memory here: it has no address"},
		{"inxmm.c == 0", 0, "only the low 8 bytes of a vector register can be used in arithmetic"},
	} {
		if tt.expr == "two" {
			s.vars["two"].Loc.Pieces[3] = debuginfo.Piece{Kind: debuginfo.IsBytes, Bytes: make([]byte, 8), BitSize: 64}
		}
		out, err := tryCompile(s, sampleInput(), "", tt.expr)
		if err == nil && len(out.Missing) > 0 { // the field has the reason
			if got := out.Missing[0].Msg; got != tt.err {
				t.Errorf("%s: %s, want %s", tt.expr, got, tt.err)
			}
			continue
		}
		if tt.err != "" {
			if err == nil || firstLine(err) != "error: "+tt.err {
				t.Errorf("%s: %v, want %s", tt.expr, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s:\n%v", tt.expr, err)
			continue
		}
		res := run(t, out, m)
		if res.status(0) != event.OK {
			t.Errorf("%s: status %d", tt.expr, res.status(0))
			continue
		}
		if f := res.schema.Fields[0]; f.Type.IsAggregate() {
			a := binary.LittleEndian.Uint64(res.bytes(0))
			b := int32(binary.LittleEndian.Uint32(res.bytes(0)[8:]))
			c := binary.LittleEndian.Uint16(res.bytes(0)[12:])
			if tt.expr == "holes" {
				if want := []event.Gap{{From: 0, To: 64}, {From: 112, To: 128}}; !slices.Equal(f.Gaps, want) || b != -16 || c != 0x8001 {
					t.Errorf("holes = % x, gaps %v, want %v", res.bytes(0), f.Gaps, want)
				}
				continue
			}
			if len(f.Gaps) > 0 {
				t.Errorf("%s has the gaps %v", tt.expr, f.Gaps)
			}
			if a != m.Regs[0] || c != 0x8001 || tt.expr == "two" && b != -16 || tt.expr == "mixed" && b != -5 {
				t.Errorf("%s = % x", tt.expr, res.bytes(0))
			}
		} else if got := res.int(0); tt.want != 0 && got != tt.want {
			t.Errorf("%s = %#x, want %#x", tt.expr, got, tt.want)
		}
	}
}

func firstLine(err error) string {
	s := err.Error()
	for i := range s {
		if s[i] == '\n' {
			return s[:i]
		}
	}
	return s
}
