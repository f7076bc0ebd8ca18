package ebpf

import (
	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/ir"
)

// comparisons compares integers.
type comparisons struct {
	*planner
	*emitter
	*stubs
	*operands
}

func init() {
	for op := range jumps {
		lower[op] = (*gen).compare
	}
}

// compare makes 0 or 1.
func (cm *comparisons) compare(in *ir.Instr) {
	// The result is made in the scratch register unless it can be written before
	// the operands are read.
	d := cm.dest(in.Dst)
	if cm.at(in.A) == cm.al.loc[in.Dst] || cm.at(in.B) == cm.al.loc[in.Dst] || d == scratch || cm.comparesScratch(in) {
		cm.compareBehind(in)
		return
	}
	yes := cm.newLabel()
	cm.movImm(d, 1)
	cm.compareJump(in, false, yes)
	cm.movImm(d, 0)
	cm.bind(yes)
	cm.store(in.Dst, d)
}

// comparesScratch: an operand has to be loaded into the scratch register.
func (cm *comparisons) comparesScratch(in *ir.Instr) bool {
	for _, v := range [2]ir.Value{in.A, in.B} {
		if _, ok := cm.small(v, in.W); !ok && cm.at(v).kind != locReg {
			return true
		}
	}
	return false
}

// compareBehind writes the result after the operands have been read.
func (cm *comparisons) compareBehind(in *ir.Instr) {
	yes, done := cm.newLabel(), cm.newLabel()
	cm.compareJump(in, false, yes)
	cm.movImm(scratch, 0)
	cm.jump(done)
	cm.bind(yes)
	cm.movImm(scratch, 1)
	cm.bind(done)
	cm.store(in.Dst, scratch)
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
func (cm *comparisons) compareJump(in *ir.Instr, invert bool, to label) {
	j := jumps[in.Op]
	a, b := in.A, in.B
	op := j.op
	_, swap := cm.number(a)
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
	ra := cm.reg(a, scratch)
	if k, ok := cm.small(b, in.W); ok {
		cm.jumpIfImm(op, in.W, ra, k, to)
		return
	}
	tmp := scratch
	if ra == scratch && cm.at(b).kind != locReg {
		tmp = cm.extra()
	}
	cm.jumpIf(op, in.W, ra, cm.reg(b, tmp), to)
}
