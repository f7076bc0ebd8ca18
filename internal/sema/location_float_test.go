package sema

import (
	"math"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/eval"
)

// TestFloatLocations: values that are computed in floating point. xmm1 is 1.5 (see sample).
func TestFloatLocations(t *testing.T) {
	op := func(c debuginfo.OpCode, arg int64) debuginfo.Op { return debuginfo.Op{Code: c, Arg: arg} }
	double := func(v float64) debuginfo.Op { return op(debuginfo.OpConst, int64(math.Float64bits(v))) }
	single := func(v float32) debuginfo.Op { return op(debuginfo.OpConst, int64(math.Float32bits(v))) }
	xmm1 := op(debuginfo.OpVector, 18)
	for _, c := range []struct {
		name string
		ops  []debuginfo.Op
		want uint64
	}{
		{"register", []debuginfo.Op{xmm1}, math.Float64bits(1.5)},
		{"sum", []debuginfo.Op{xmm1, double(2.25), op(debuginfo.OpFAdd, 8)}, math.Float64bits(3.75)},
		{"difference", []debuginfo.Op{xmm1, double(2.25), op(debuginfo.OpFSub, 8)}, math.Float64bits(-0.75)},
		{"product", []debuginfo.Op{single(3), single(-0.5), op(debuginfo.OpFMul, 4)}, uint64(math.Float32bits(-1.5))},
		{"quotient", []debuginfo.Op{single(1), single(3), op(debuginfo.OpFDiv, 4)}, uint64(math.Float32bits(1 / float32(3)))},
		{"less", []debuginfo.Op{xmm1, double(2), op(debuginfo.OpFLt, 8)}, 1},
		{"greater", []debuginfo.Op{xmm1, double(2), op(debuginfo.OpFGt, 8)}, 0},
		{"at least", []debuginfo.Op{xmm1, double(1.5), op(debuginfo.OpFGe, 8)}, 1},
		{"no number is at most", []debuginfo.Op{xmm1, double(math.NaN()), op(debuginfo.OpFLe, 8)}, 0},
		{"no number is unlike", []debuginfo.Op{xmm1, double(math.NaN()), op(debuginfo.OpFNe, 8)}, 1},
		{"zeros are equal", []debuginfo.Op{single(0), single(float32(math.Copysign(0, -1))), op(debuginfo.OpFEq, 4)}, 1},
		{"from a signed word", []debuginfo.Op{op(debuginfo.OpConst, -3), op(debuginfo.OpSToF, 8)}, math.Float64bits(-3)},
		{"from an unsigned word", []debuginfo.Op{op(debuginfo.OpConst, -1), op(debuginfo.OpUToF, 4)}, uint64(math.Float32bits(1 << 64))},
		{"to a word", []debuginfo.Op{double(-7.9), op(debuginfo.OpFToS, 8)}, ^uint64(6)},
		{"to a float", []debuginfo.Op{xmm1, op(debuginfo.OpFToF, 4)}, uint64(math.Float32bits(1.5))},
		{"to a double", []debuginfo.Op{single(0.25), op(debuginfo.OpFToF, 8)}, math.Float64bits(0.25)},
	} {
		s, m := sample()
		s.add("v", ctype.ULongT, debuginfo.Piece{Kind: debuginfo.IsValue, Expr: c.ops})
		out, err := tryCompile(s, sampleInput(), "", "v")
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if err := ir.Check(out.Program); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		m.RecordRoom = true
		res := result{eval.Run(out.Program, m), &out.Schema}
		if res.status(0) != event.OK || res.uint(0) != c.want {
			t.Errorf("%s: status %d, %#x, want %#x", c.name, res.status(0), res.uint(0), c.want)
		}
	}
}

// TestFloatLocationErrors: malformed ones, and those in the kernel, have no value.
func TestFloatLocationErrors(t *testing.T) {
	for _, c := range []struct {
		op     debuginfo.Op
		kernel bool
		want   string
	}{
		{debuginfo.Op{Code: debuginfo.OpVector, Arg: 3}, false, "malformed"},
		{debuginfo.Op{Code: debuginfo.OpSToF, Arg: 16}, false, "malformed"},
		{debuginfo.Op{Code: debuginfo.OpVector, Arg: 18}, true, "not available in the kernel"},
	} {
		st := &site{in: &Input{}}
		if c.kernel {
			st.in.Kernel = &KernelInput{}
		}
		why := st.invalidExpr([]debuginfo.Op{{Code: debuginfo.OpConst}, c.op})
		if !strings.Contains(why, c.want) {
			t.Errorf("%v: %q, want %q", c.op, why, c.want)
		}
	}
}
