package ebpf

import (
	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/ir"
)

func init() {
	for op := range jumps {
		lower[op] = (*gen).compare
	}
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

// jumps are the jumps that are taken when a comparison holds, the opposite ones,
// and those with the operands changed over.
var jumps = map[ir.Op]struct{ op, not, swapped, notSwapped asm.JumpOp }{
	ir.Eq:  {asm.JEq, asm.JNE, asm.JEq, asm.JNE},
	ir.Ne:  {asm.JNE, asm.JEq, asm.JNE, asm.JEq},
	ir.SLt: {asm.JSLT, asm.JSGE, asm.JSGT, asm.JSLE},
	ir.SLe: {asm.JSLE, asm.JSGT, asm.JSGE, asm.JSLT},
	ir.ULt: {asm.JLT, asm.JGE, asm.JGT, asm.JLE},
	ir.ULe: {asm.JLE, asm.JGT, asm.JGE, asm.JLT},
}

// compareJump jumps when the comparison in holds, or, with invert, does not.
func (g *gen) compareJump(in *ir.Instr, invert bool, to label) {
	j := jumps[in.Op]
	a, b := in.A, in.B
	op := j.op
	_, swap := g.number(a)
	switch {
	case swap && invert:
		op = j.notSwapped
	case swap:
		op = j.swapped
	case invert:
		op = j.not
	}
	if swap {
		a, b = b, a
	}
	ra := g.reg(a, scratch)
	if k, ok := g.small(b, in.W); ok {
		g.jumpIfImm(op, in.W, ra, k, to)
		return
	}
	tmp := scratch
	if ra == scratch && g.at(b).kind != locReg {
		tmp = g.extra()
	}
	g.jumpIf(op, in.W, ra, g.reg(b, tmp), to)
}
