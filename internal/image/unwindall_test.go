package image

import (
	"testing"

	"github.com/jalon-trace/jalon/internal/debuginfo"
)

func TestEvalOps(t *testing.T) {
	f := &frame{}
	f.reg[7], f.known[7] = 0x1000, true
	sn := &snapshot{sp: 0x1000, stack: []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, 0, 0, 0, 0}}
	initial := uint64(50)
	op := func(c debuginfo.OpCode, arg int64) debuginfo.Op { return debuginfo.Op{Code: c, Arg: arg} }
	for _, tt := range []struct {
		name    string
		ops     []debuginfo.Op
		initial *uint64
		want    uint64
		ok      bool
	}{
		{"nothing", nil, nil, 0, false},
		{"initial", nil, &initial, 50, true},
		{"register", []debuginfo.Op{op(debuginfo.OpReg, 7), op(debuginfo.OpAddConst, 8)}, nil, 0x1008, true},
		{"unknown register", []debuginfo.Op{op(debuginfo.OpReg, 6)}, nil, 0, false},
		{"no such register", []debuginfo.Op{op(debuginfo.OpReg, 99)}, nil, 0, false},
		{"negative register", []debuginfo.Op{op(debuginfo.OpReg, -1)}, nil, 0, false},
		{"address", []debuginfo.Op{op(debuginfo.OpAddr, 0x10)}, nil, 0x400010, true},
		{"deref", []debuginfo.Op{op(debuginfo.OpReg, 7), op(debuginfo.OpAddConst, 8), op(debuginfo.OpDeref, 8)}, nil, 9, true},
		{"deref outside", []debuginfo.Op{op(debuginfo.OpConst, 8), op(debuginfo.OpDeref, 8)}, nil, 0, false},
		{"narrow deref", []debuginfo.Op{op(debuginfo.OpReg, 7), op(debuginfo.OpDeref, 4)}, nil, 0, false},
		{"dup and mul", []debuginfo.Op{op(debuginfo.OpConst, 7), op(debuginfo.OpDup, 0), op(debuginfo.OpMul, 0)}, nil, 49, true},
		{"order of sub", []debuginfo.Op{op(debuginfo.OpConst, 7), op(debuginfo.OpConst, 2), op(debuginfo.OpSub, 0)}, nil, 5, true},
		{"signed ge", []debuginfo.Op{op(debuginfo.OpConst, -1), op(debuginfo.OpConst, 0), op(debuginfo.OpGe, 0)}, nil, 0, true},
		{"empty stack", []debuginfo.Op{op(debuginfo.OpAdd, 0)}, nil, 0, false},
		{"one operand", []debuginfo.Op{op(debuginfo.OpConst, 1), op(debuginfo.OpAdd, 0)}, nil, 0, false},
		{"long shift", []debuginfo.Op{op(debuginfo.OpConst, 1), op(debuginfo.OpConst, 64), op(debuginfo.OpShl, 0)}, nil, 0, true},
	} {
		if got, ok := evalOps(tt.ops, f, sn, 0x400000, tt.initial); got != tt.want || ok != tt.ok {
			t.Errorf("%s: %#x, %v; want %#x, %v", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}
