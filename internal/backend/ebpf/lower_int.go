package ebpf

import (
	"math"

	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/ir"
)

// lowerings make the code of each operation (terminators apart). It is filled by
// init, for the functions reach it themselves.
var lowerings map[ir.Op]func(g *gen, in *ir.Instr)

func init() {
	lowerings = map[ir.Op]func(g *gen, in *ir.Instr){
		ir.Neg: (*gen).neg, ir.Not: (*gen).not, ir.SExt: (*gen).sext, ir.ZExt: (*gen).zext,
		ir.SDiv: (*gen).signedDivision, ir.SRem: (*gen).signedDivision,

		ir.Ctx: (*gen).ctx, ir.Reg: (*gen).readReg, ir.Env: (*gen).env,
		ir.Load: (*gen).loadMemory, ir.StrEq: (*gen).streq,

		ir.Reserve: (*gen).reserve, ir.Put: (*gen).put, ir.Commit: (*gen).commit,
		ir.Copy: (*gen).copy, ir.CopyN: (*gen).copyN, ir.CopyStr: (*gen).copyStr, ir.CopyMax: (*gen).copyMax,
		ir.CopyFrames: (*gen).copyFrames, ir.CopyComm: (*gen).copyComm,
		ir.GetVar: (*gen).getVar, ir.SetVar: (*gen).setVar, ir.AddVar: (*gen).addVar, ir.FetchAddVar: (*gen).fetchAddVar,
		ir.Count: (*gen).count, ir.Give: (*gen).give, ir.Take: (*gen).take, ir.Result: (*gen).setResult,
	}
	for op := range aluOps {
		lowerings[op] = (*gen).binary
	}
	for op := range jumps {
		lowerings[op] = (*gen).compare
	}
}

// aluOps are the operations that one instruction does. The processor takes
// shift counts modulo the width (RFC 9669, 4.1); x/0 is 0 and x%0 is x.
var aluOps = map[ir.Op]asm.ALUOp{
	ir.Add: asm.Add, ir.Sub: asm.Sub, ir.Mul: asm.Mul, ir.UDiv: asm.Div, ir.URem: asm.Mod,
	ir.And: asm.And, ir.Or: asm.Or, ir.Xor: asm.Xor, ir.Shl: asm.LSh, ir.Shr: asm.RSh, ir.Sar: asm.ArSh,
}

func (g *gen) alu(op asm.ALUOp, w uint8, d, s asm.Register) {
	if w == 4 {
		g.emit(op.Reg32(d, s))
		return
	}
	g.emit(op.Reg(d, s))
}

func (g *gen) aluImm(op asm.ALUOp, w uint8, d asm.Register, k int32) {
	if w == 4 {
		g.emit(op.Imm32(d, k))
		return
	}
	g.emit(op.Imm(d, k))
}

func (g *gen) binary(in *ir.Instr) {
	a, b := in.A, in.B
	if _, ok := g.number(a); ok && in.Op.Info().Commutes {
		a, b = b, a
	}
	d := g.dest(in.Dst)
	if k, ok := g.small(b, in.W); ok {
		if r := g.at(a); r.kind == locReg && r.r != d && (in.Op == ir.Add || in.Op == ir.Sub) {
			if in.Op == ir.Sub {
				g.movImm(d, -int64(k))
			} else {
				g.movImm(d, int64(k))
			}
			g.alu(asm.Add, in.W, d, r.r) // see sum
		} else {
			g.load(d, a)
			g.binaryImm(in, d, k)
		}
		g.store(in.Dst, d)
		return
	}
	if g.at(b).kind == locReg && g.at(b).r == d && g.at(a) != g.at(b) {
		if in.Op.Info().Commutes {
			a, b = b, a
		} else {
			d = scratch
		}
	}
	tmp := scratch
	if d == scratch && g.at(b).kind != locReg {
		tmp = g.extra()
	}
	g.load(d, a)
	g.alu(aluOps[in.Op], in.W, d, g.reg(b, tmp))
	g.store(in.Dst, d)
}

// binaryImm does d = d op k. Numbers that the verifier refuses are done by hand.
func (g *gen) binaryImm(in *ir.Instr, d asm.Register, k int32) {
	op := aluOps[in.Op]
	switch in.Op {
	case ir.Add:
		if k != math.MinInt32 { // see sum
			op, k = asm.Sub, -k
		}
	case ir.Shl, ir.Shr, ir.Sar:
		k &= int32(in.W)*8 - 1
	case ir.UDiv:
		if k == 0 {
			g.movImm(d, 0)
			return
		}
	}
	if k == 0 && (in.Op == ir.URem || in.Op == ir.Shl || in.Op == ir.Shr || in.Op == ir.Sar) {
		if in.W == 4 {
			g.emit(asm.Mov.Reg32(d, d))
		}
		return
	}
	g.aluImm(op, in.W, d, k)
}

func (g *gen) neg(in *ir.Instr) {
	d := g.dest(in.Dst)
	g.load(d, in.A)
	g.aluImm(asm.Neg, in.W, d, 0)
	g.store(in.Dst, d)
}

func (g *gen) not(in *ir.Instr) {
	d := g.dest(in.Dst)
	g.load(d, in.A)
	g.aluImm(asm.Xor, in.W, d, -1)
	g.store(in.Dst, d)
}

func (g *gen) zext(in *ir.Instr) {
	d := g.dest(in.Dst)
	if in.W == 4 && g.at(in.A).kind == locReg {
		g.emit(asm.Mov.Reg32(d, g.at(in.A).r))
	} else {
		g.load(d, in.A)
		g.zeroExtend(d, in.W)
	}
	g.store(in.Dst, d)
}

func (g *gen) zeroExtend(d asm.Register, w uint8) {
	switch w {
	case 1:
		g.emit(asm.And.Imm(d, 0xff))
	case 2:
		g.emit(asm.And.Imm(d, 0xffff))
	case 4:
		g.emit(asm.Mov.Reg32(d, d))
	}
}

func (g *gen) sext(in *ir.Instr) {
	d := g.dest(in.Dst)
	g.load(d, in.A)
	g.signExtend(d, in.W)
	g.store(in.Dst, d)
}

// signExtend makes 64 bits of the low w bytes of d.
func (g *gen) signExtend(d asm.Register, w uint8) {
	if w == 8 {
		return
	}
	if g.c.Features.V4 {
		op := map[uint8]asm.ALUOp{1: asm.MovSX8, 2: asm.MovSX16, 4: asm.MovSX32}[w]
		g.emit(op.Reg(d, d))
		return
	}
	n := 64 - 8*int32(w)
	g.emit(asm.LSh.Imm(d, n))
	g.emit(asm.ArSh.Imm(d, n))
}

// compare makes 0 or 1.
func (g *gen) compare(in *ir.Instr) {
	// The result is made in the scratch register unless it can be written before
	// the operands are read.
	d := g.dest(in.Dst)
	if g.at(in.A) == g.al.loc[in.Dst] || g.at(in.B) == g.al.loc[in.Dst] || d == scratch || g.comparesScratch(in) {
		g.compareBehind(in)
		return
	}
	yes := g.newLabel()
	g.movImm(d, 1)
	g.compareJump(in, false, yes)
	g.movImm(d, 0)
	g.bind(yes)
	g.store(in.Dst, d)
}

// comparesScratch: an operand has to be loaded into the scratch register.
func (g *gen) comparesScratch(in *ir.Instr) bool {
	for _, v := range [2]ir.Value{in.A, in.B} {
		if _, ok := g.small(v, in.W); !ok && g.at(v).kind != locReg {
			return true
		}
	}
	return false
}

// compareBehind writes the result after the operands have been read.
func (g *gen) compareBehind(in *ir.Instr) {
	yes, done := g.newLabel(), g.newLabel()
	g.compareJump(in, false, yes)
	g.movImm(scratch, 0)
	g.jump(done)
	g.bind(yes)
	g.movImm(scratch, 1)
	g.bind(done)
	g.store(in.Dst, scratch)
}

// signedDivision leaves division to the processor where the instruction set
// has it. MIN/-1 is done as a negation: kernels before 6.12 let the processor
// trap there.
func (g *gen) signedDivision(in *ir.Instr) {
	if !g.c.Features.V4 {
		g.divideUnsigned(in)
		return
	}
	d := g.dest(in.Dst)
	if k, ok := g.small(in.B, in.W); ok {
		g.load(d, in.A)
		g.divideImm(in, d, k)
		g.store(in.Dst, d)
		return
	}
	if g.at(in.B) == g.al.loc[in.Dst] && g.at(in.A) != g.at(in.B) {
		d = scratch
	}
	tmp := scratch
	if d == scratch && g.at(in.B).kind != locReg {
		tmp = g.extra()
	}
	g.load(d, in.A)
	b := g.reg(in.B, tmp)
	if b == d { // x/x
		b = scratch
		g.mov(b, d)
	}
	one, done := g.newLabel(), g.newLabel()
	g.jumpIfImm(asm.JEq, in.W, b, -1, one)
	g.alu(signedOps[in.Op], in.W, d, b)
	g.bind(done)
	g.store(in.Dst, d)
	g.rare(func() {
		g.bind(one)
		g.divideImm(in, d, -1)
		g.jump(done)
	})
}

var signedOps = map[ir.Op]asm.ALUOp{ir.SDiv: asm.SDiv, ir.SRem: asm.SMod}

// divideImm does d = d op k.
func (g *gen) divideImm(in *ir.Instr, d asm.Register, k int32) {
	switch {
	case k == -1 && in.Op == ir.SDiv:
		g.aluImm(asm.Neg, in.W, d, 0)
	case k == -1, k == 0 && in.Op == ir.SDiv:
		g.movImm(d, 0)
	case k == 0:
		if in.W == 4 {
			g.emit(asm.Mov.Reg32(d, d))
		}
	default:
		g.aluImm(signedOps[in.Op], in.W, d, k)
	}
}

// divideUnsigned divides the absolute values and gives the result its sign:
// that of the product for a quotient, that of A for a remainder. r1 to r3 are
// free (see calls).
func (g *gen) divideUnsigned(in *ir.Instr) {
	g.arguments(argument{asm.R1, in.A}, argument{asm.R2, in.B})
	if in.W == 4 {
		g.signExtend(asm.R1, 4)
		g.signExtend(asm.R2, 4)
	}
	g.mov(asm.R3, asm.R1)
	op := asm.Mod
	if in.Op == ir.SDiv {
		g.emit(asm.Xor.Reg(asm.R3, asm.R2))
		op = asm.Div
	}
	g.negateIf(asm.R1, asm.R1)
	g.negateIf(asm.R2, asm.R2)
	g.emit(op.Reg(asm.R1, asm.R2))
	g.negateIf(asm.R1, asm.R3)
	if in.W == 4 {
		g.emit(asm.Mov.Reg32(asm.R1, asm.R1))
	}
	g.store(in.Dst, asm.R1)
}

// negateIf negates d when sign is negative.
func (g *gen) negateIf(d, sign asm.Register) {
	positive := g.newLabel()
	g.jumpIfImm(asm.JSGE, 8, sign, 0, positive)
	g.emit(asm.Neg.Imm(d, 0))
	g.bind(positive)
}

// argument is a value wanted in a register for a call.
type argument struct {
	r asm.Register
	v ir.Value
}

// arguments loads several registers at once.
func (g *gen) arguments(as ...argument) {
	var ms []move
	for _, a := range as {
		m := move{to: loc{kind: locReg, r: a.r}, from: g.at(a.v)}
		if k, ok := g.number(a.v); ok {
			m.number = k
		}
		ms = append(ms, m)
	}
	g.moves(ms)
}
