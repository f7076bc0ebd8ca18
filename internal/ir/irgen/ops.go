package irgen

import (
	"math/rand"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/ir"
)

// step emits an operation or a few.
func (g *gen) step() {
	type choice struct {
		weight int
		f      func()
	}
	choices := []choice{
		{12, func() { g.apply(integerOps, ir.I64) }},
		{3, func() { g.compare() }},
		{1, func() { g.source() }},
		{4, func() { g.load() }},
		{2, func() { g.streq() }},
		{2, g.again},
		{1, g.count},
		{1, g.variable},
	}
	if g.opt.Kernel {
		choices = append(choices, choice{3, func() { g.ctx() }}, choice{2, func() { g.env() }}, choice{1, g.hand})
	}
	if g.opt.Floats {
		choices = append(choices,
			choice{3, func() { g.apply(floatOps, g.float()) }},
			choice{2, func() { g.floatCompare() }},
			choice{2, func() { g.apply(fromFloats, g.float()) }},
			choice{2, func() { g.toFloat(g.float()) }},
			choice{2, func() { g.fload(g.float()) }})
	}
	if g.state == inside {
		choices = append(choices,
			choice{10, g.put},
			choice{2, g.copy}, choice{2, g.copyN}, choice{2, g.copyStr}, choice{2, g.copyMax})
		if g.opt.Floats {
			choices = append(choices, choice{3, g.fput})
		}
		if g.opt.Kernel {
			choices = append(choices, choice{2, g.copyContext}, choice{1, g.copyFrames}, choice{1, g.copyComm})
		} else {
			choices = append(choices, choice{1, g.putReg}, choice{1, g.putOther}, choice{1, g.putX87})
		}
	}
	sum := 0
	for _, c := range choices {
		sum += c.weight
	}
	n := g.r.Intn(sum)
	for _, c := range choices {
		if n -= c.weight; n < 0 {
			c.f()
			return
		}
	}
}

// variable reads or writes a variable of the session.
func (g *gen) variable() {
	n := int64(g.r.Intn(Vars))
	switch g.r.Intn(4) {
	case 0:
		g.emit(ir.Instr{Op: ir.SetVar, Imm: n, A: g.int()})
	case 1:
		g.emit(ir.Instr{Op: ir.AddVar, Imm: n, A: g.int()})
	case 2:
		g.avail = append(g.avail, g.hidden(ir.Instr{Op: ir.FetchAddVar, Imm: n, A: g.int()}))
	default:
		g.avail = append(g.avail, g.hidden(ir.Instr{Op: ir.GetVar, Imm: n}))
	}
}

// value picks a value of class c.
func (g *gen) value(c ir.Class) ir.Value {
	if c == ir.I64 {
		return g.int()
	}
	if v := g.pick(c); v != ir.None && g.r.Intn(6) != 0 {
		return v
	}
	return g.floatSource(c)
}

// int picks an integer, mostly an existing one.
func (g *gen) int() ir.Value {
	if v := g.pick(ir.I64); v != ir.None && g.r.Intn(6) != 0 {
		return v
	}
	return g.source()
}

// pick finds an available value of class c, recent ones more often; None
// when there is none.
func (g *gen) pick(c ir.Class) ir.Value {
	var vs []ir.Value
	for _, v := range g.avail {
		if g.p.Classes[v] == c {
			vs = append(vs, v)
		}
	}
	if len(vs) == 0 {
		return ir.None
	}
	if len(vs) > 4 && g.r.Intn(2) == 0 {
		vs = vs[len(vs)-4:]
	}
	return vs[g.r.Intn(len(vs))]
}

func (g *gen) constant(v int64) ir.Value {
	return g.def(ir.I64, ir.Instr{Op: ir.Const, Imm: v})
}

// source is a constant or a register.
func (g *gen) source() ir.Value {
	if g.r.Intn(2) == 0 {
		if g.r.Intn(8) == 0 {
			return g.constant(int64(g.r.Uint64()))
		}
		return g.constant(edge(g.r))
	}
	n := int64(g.r.Intn(16))
	switch g.r.Intn(24) {
	case 0:
		if !g.opt.NoRIP {
			n = ir.RegPC
		}
	case 1:
		if !g.opt.NoFlags {
			n = ir.RegFlags
		}
	case 2:
		if g.opt.SegBase {
			n = []int64{ir.RegThread, int64(amd64.DwarfGSBase), int64(amd64.InUse)}[g.r.Intn(3)]
			if g.r.Intn(2) == 0 {
				n = int64([]arch.Reg{amd64.DwarfES, amd64.DwarfDS, amd64.DwarfFS, amd64.DwarfGS}[g.r.Intn(4)])
			}
		}
	}
	return g.reg(n)
}

// second is a second operand: a constant as often as not.
func (g *gen) second() ir.Value {
	if g.r.Intn(2) == 0 {
		return g.constant(edge(g.r))
	}
	return g.int()
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
// wants. Of float operands and results c is the class that the caller wants.
func (g *gen) apply(ops []ir.Op, c ir.Class) ir.Value {
	op := ops[g.r.Intn(len(ops))]
	info := op.Info()
	i := ir.Instr{Op: op, W: g.width(info.Widths)}
	class := ir.I64 // of A
	if info.A == ir.FloatOperand {
		class = c
		if info.Result == ir.OtherResult {
			class = ir.F64 + ir.F32 - c
		}
	}
	i.A = g.value(class)
	switch info.B {
	case ir.SameOperand:
		i.B = g.value(class)
	case ir.IntOperand:
		i.B = g.second()
		if g.r.Intn(12) == 0 {
			i.A, i.B = i.B, i.A
		}
		if g.r.Intn(16) == 0 {
			i.B = i.A
		}
	}
	result := c
	if info.Result == ir.IntResult {
		result = ir.I64
	}
	return g.def(result, i)
}

// width picks one of the widths; 0 when there is none.
func (g *gen) width(of ir.Widths) uint8 {
	var list []uint8
	for w := uint8(0); w <= 8; w++ {
		if of.Has(w) {
			list = append(list, w)
		}
	}
	return list[g.r.Intn(len(list))]
}

func (g *gen) bin(op ir.Op, w uint8, a, b ir.Value) ir.Value {
	return g.def(ir.I64, ir.Instr{Op: op, W: w, A: a, B: b})
}

func (g *gen) compare() ir.Value      { return g.apply(compareOps, ir.I64) }
func (g *gen) floatCompare() ir.Value { return g.apply(floatTests, g.float()) }

// again repeats an earlier operation whose operands are still there, so that
// there is something to find for common subexpression elimination.
func (g *gen) again() {
	if len(g.done) == 0 {
		return
	}
	i := g.done[g.r.Intn(len(g.done))]
	if !g.has(i.A) || !g.has(i.B) {
		return
	}
	if i.Fault != ir.NoBlock {
		to, ok := g.faultTarget()
		if !ok {
			return
		}
		i.Fault = to
	}
	g.def(g.p.Classes[i.Dst], i)
}

func (g *gen) has(v ir.Value) bool {
	if v == ir.None {
		return true
	}
	for _, x := range g.avail {
		if x == v {
			return true
		}
	}
	return false
}

func (g *gen) floatSource(c ir.Class) ir.Value {
	switch g.r.Intn(3) {
	case 0:
		return g.def(c, ir.Instr{Op: ir.FReg, Imm: int64(g.r.Intn(16))})
	case 1:
		return g.toFloat(c)
	}
	bits := float64Bits(g.r)
	if c == ir.F32 {
		bits = float32Bits(g.r)
	}
	return g.def(c, ir.Instr{Op: ir.FConst, Imm: int64(bits)})
}

func (g *gen) toFloat(c ir.Class) ir.Value {
	if g.pick(ir.F64+ir.F32-c) != ir.None && g.r.Intn(3) == 0 {
		return g.apply(otherFloats, c)
	}
	return g.apply(toFloats, c)
}

// literal is a text to compare memory with; state.go fills memory with similar texts.
func literal(r *rand.Rand) string {
	if r.Intn(2) == 0 {
		return "abcabcabcabcabcabc"[r.Intn(3):][:r.Intn(15)]
	}
	return randomText(r)
}
