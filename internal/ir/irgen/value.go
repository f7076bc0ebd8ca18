package irgen

import (
	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/ir"
)

// values makes operands, addresses and loads.
type values struct{ *builder }

// value picks a value of class c.
func (vs *values) value(c ir.Class) ir.Value {
	if c == ir.I64 {
		return vs.int()
	}
	if v := vs.pick(c); v != ir.None && vs.r.Intn(6) != 0 {
		return v
	}
	return vs.floatSource(c)
}

// int picks an integer, mostly an existing one.
func (vs *values) int() ir.Value {
	if v := vs.pick(ir.I64); v != ir.None && vs.r.Intn(6) != 0 {
		return v
	}
	return vs.source()
}

func (vs *values) constant(v int64) ir.Value {
	return vs.def(ir.I64, ir.Instr{Op: ir.Const, Imm: v})
}

// source is a constant or a register.
func (vs *values) source() ir.Value {
	if vs.r.Intn(2) == 0 {
		if vs.r.Intn(8) == 0 {
			return vs.constant(int64(vs.r.Uint64()))
		}
		return vs.constant(edge(vs.r))
	}
	n := int64(vs.r.Intn(16))
	switch vs.r.Intn(24) {
	case 0:
		if !vs.opt.NoRIP {
			n = ir.RegPC
		}
	case 1:
		if !vs.opt.NoFlags {
			n = ir.RegFlags
		}
	case 2:
		if vs.opt.SegBase {
			n = []int64{ir.RegThread, int64(amd64.DwarfGSBase), int64(amd64.InUse)}[vs.r.Intn(3)]
			if vs.r.Intn(2) == 0 {
				n = int64([]arch.Reg{amd64.DwarfES, amd64.DwarfDS, amd64.DwarfFS, amd64.DwarfGS}[vs.r.Intn(4)])
			}
		}
	}
	return vs.reg(n)
}

// second is a second operand: a constant as often as not.
func (vs *values) second() ir.Value {
	if vs.r.Intn(2) == 0 {
		return vs.constant(edge(vs.r))
	}
	return vs.int()
}

// Families of pure operations, from the table of operations.
var (
	integerOps  = family(func(i *ir.OpInfo) bool { return i.A == ir.IntOperand && i.Result == ir.IntResult && !i.Compare })
	compareOps  = family(func(i *ir.OpInfo) bool { return i.A == ir.IntOperand && i.Compare })
	floatOps    = family(func(i *ir.OpInfo) bool { return i.A == ir.FloatOperand && i.Result == ir.SameResult })
	floatTests  = family(func(i *ir.OpInfo) bool { return i.A == ir.FloatOperand && i.Compare })
	fromFloats  = family(func(i *ir.OpInfo) bool { return i.A == ir.FloatOperand && i.Result == ir.IntResult && !i.Compare })
	toFloats    = family(func(i *ir.OpInfo) bool { return i.A == ir.IntOperand && i.Result == ir.FloatResult })
	otherFloats = family(func(i *ir.OpInfo) bool { return i.A == ir.FloatOperand && i.Result == ir.OtherResult })
)

func family(has func(*ir.OpInfo) bool) (list []ir.Op) {
	for op := ir.Invalid + 1; op < ir.NumOps; op++ {
		if info := op.Info(); info.Pure && info.A != ir.NoOperand && has(info) {
			list = append(list, op)
		}
	}
	return list
}

// apply emits one operation of a family, with operands of the classes that the table
// wants. Of float operands and results c is the class that the caller requests.
func (vs *values) apply(ops []ir.Op, c ir.Class) ir.Value {
	op := ops[vs.r.Intn(len(ops))]
	info := op.Info()
	i := ir.Instr{Op: op, W: vs.width(info.Widths)}
	class := ir.I64 // of A
	if info.A == ir.FloatOperand {
		class = c
		if info.Result == ir.OtherResult {
			class = ir.F64 + ir.F32 - c
		}
	}
	i.A = vs.value(class)
	switch info.B {
	case ir.SameOperand:
		i.B = vs.value(class)
	case ir.IntOperand:
		i.B = vs.second()
		if vs.r.Intn(12) == 0 {
			i.A, i.B = i.B, i.A
		}
		if vs.r.Intn(16) == 0 {
			i.B = i.A
		}
	}
	result := c
	if info.Result == ir.IntResult {
		result = ir.I64
	}
	return vs.def(result, i)
}

// width picks one of the widths; 0 when there is none.
func (vs *values) width(of ir.Widths) uint8 {
	var list []uint8
	for w := uint8(0); w <= 8; w++ {
		if of.Has(w) {
			list = append(list, w)
		}
	}
	return list[vs.r.Intn(len(list))]
}

func (vs *values) bin(op ir.Op, w uint8, a, b ir.Value) ir.Value {
	return vs.def(ir.I64, ir.Instr{Op: op, W: w, A: a, B: b})
}

func (vs *values) compare() ir.Value { return vs.apply(compareOps, ir.I64) }

func (vs *values) floatCompare() ir.Value { return vs.apply(floatTests, vs.float()) }

func (vs *values) floatSource(c ir.Class) ir.Value {
	switch vs.r.Intn(3) {
	case 0:
		return vs.def(c, ir.Instr{Op: ir.FReg, Imm: int64(vs.r.Intn(16))})
	case 1:
		return vs.toFloat(c)
	}
	bits := float64Bits(vs.r)
	if c == ir.F32 {
		bits = float32Bits(vs.r)
	}
	return vs.def(c, ir.Instr{Op: ir.FConst, Imm: int64(bits)})
}

func (vs *values) toFloat(c ir.Class) ir.Value {
	if vs.pick(ir.F64+ir.F32-c) != ir.None && vs.r.Intn(3) == 0 {
		return vs.apply(otherFloats, c)
	}
	return vs.apply(toFloats, c)
}
