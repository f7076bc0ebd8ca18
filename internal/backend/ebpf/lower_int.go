package ebpf

import (
	"math"

	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/ir"
)

// integers computes with integers.
type integers struct {
	*planner
	*emitter
	*stubs
	*operands
}

func init() {
	for op := range aluOps {
		lower[op] = (*gen).binary
	}
	lower[ir.Neg], lower[ir.Not] = (*gen).neg, (*gen).not
	lower[ir.SExt], lower[ir.ZExt] = (*gen).sext, (*gen).zext
	lower[ir.BitLen] = (*gen).bitLen
}

// aluOps are the operations that one instruction does. The processor takes
// shift counts modulo the width (RFC 9669, 4.1); x/0 is 0 and x%0 is x.
var aluOps = map[ir.Op]asm.ALUOp{
	ir.Add: asm.Add, ir.Sub: asm.Sub, ir.Mul: asm.Mul, ir.UDiv: asm.Div, ir.URem: asm.Mod,
	ir.And: asm.And, ir.Or: asm.Or, ir.Xor: asm.Xor, ir.Shl: asm.LSh, ir.Shr: asm.RSh, ir.Sar: asm.ArSh,
}

func (ig *integers) binary(in *ir.Instr) {
	a, b := in.A, in.B
	if _, ok := ig.number(a); ok && in.Op.Info().Commutes {
		a, b = b, a
	}
	d := ig.dest(in.Dst)
	if k, ok := ig.small(b, in.W); ok {
		if r := ig.at(a); r.kind == locReg && r.r != d && (in.Op == ir.Add || in.Op == ir.Sub) {
			if in.Op == ir.Sub {
				ig.movImm(d, -int64(k))
			} else {
				ig.movImm(d, int64(k))
			}
			ig.alu(asm.Add, in.W, d, r.r) // see sum
		} else {
			ig.load(d, a)
			ig.binaryImm(in, d, k)
		}
		ig.store(in.Dst, d)
		return
	}
	if ig.at(b).kind == locReg && ig.at(b).r == d && ig.at(a) != ig.at(b) {
		if in.Op.Info().Commutes {
			a, b = b, a
		} else {
			d = scratch
		}
	}
	tmp := scratch
	if d == scratch && ig.at(b).kind != locReg {
		tmp = ig.extra()
	}
	ig.load(d, a)
	ig.alu(aluOps[in.Op], in.W, d, ig.reg(b, tmp))
	ig.store(in.Dst, d)
}

// binaryImm does d = d op k. Numbers that the verifier refuses are done by hand.
func (ig *integers) binaryImm(in *ir.Instr, d asm.Register, k int32) {
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
			ig.movImm(d, 0)
			return
		}
	}
	if k == 0 && (in.Op == ir.URem || in.Op == ir.Shl || in.Op == ir.Shr || in.Op == ir.Sar) {
		if in.W == 4 {
			ig.emit(asm.Mov.Reg32(d, d))
		}
		return
	}
	ig.aluImm(op, in.W, d, k)
}

func (ig *integers) neg(in *ir.Instr) {
	d := ig.dest(in.Dst)
	ig.load(d, in.A)
	ig.aluImm(asm.Neg, in.W, d, 0)
	ig.store(in.Dst, d)
}

func (ig *integers) not(in *ir.Instr) {
	d := ig.dest(in.Dst)
	ig.load(d, in.A)
	ig.aluImm(asm.Xor, in.W, d, -1)
	ig.store(in.Dst, d)
}

// bitLen halves the number six times, without branches, each of which would double what the verifier follows: if the upper
// half is not 0, it is shifted down, and its distance is part of the result.
func (ig *integers) bitLen(in *ir.Instr) {
	d, x, by := ig.dest(in.Dst), scratch, ig.extra()
	ig.load(x, in.A)
	sum := d != scratch // otherwise the parts are added up at the end
	for k := 5; k >= 0; k-- {
		ig.mov(by, x)
		ig.emit(asm.RSh.Imm(by, 1<<k))
		ig.emit(asm.Neg.Imm(by, 0))
		ig.emit(asm.RSh.Imm(by, 63))
		if k > 0 {
			ig.emit(asm.LSh.Imm(by, int32(k)))
		}
		ig.emit(asm.RSh.Reg(x, by))
		switch {
		case !sum:
			ig.emit(asm.StoreMem(asm.R10, ig.area(areaParts)+8*int16(k), by, asm.DWord))
		case k == 5:
			ig.mov(d, by)
		default:
			ig.emit(asm.Add.Reg(d, by))
		}
	}
	for k := int16(0); k < 6 && !sum; k++ {
		ig.emit(asm.LoadMem(by, asm.R10, ig.area(areaParts)+8*k, asm.DWord))
		ig.emit(asm.Add.Reg(x, by))
	}
	if sum {
		ig.emit(asm.Add.Reg(d, x))
	}
	ig.store(in.Dst, d)
}

func (ig *integers) zext(in *ir.Instr) {
	d := ig.dest(in.Dst)
	if in.W == 4 && ig.at(in.A).kind == locReg {
		ig.emit(asm.Mov.Reg32(d, ig.at(in.A).r))
	} else {
		ig.load(d, in.A)
		ig.zeroExtend(d, in.W)
	}
	ig.store(in.Dst, d)
}

func (ig *integers) sext(in *ir.Instr) {
	d := ig.dest(in.Dst)
	ig.load(d, in.A)
	ig.signExtend(d, in.W)
	ig.store(in.Dst, d)
}
