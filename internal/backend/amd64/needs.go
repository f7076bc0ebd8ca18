package amd64

import (
	x86 "github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/ir"
)

// emitted reports whether instruction in is emitted at its own place.
func (an *analysis) emitted(in *ir.Instr) bool {
	if in.Op.HasEffect() {
		return true
	}
	return !an.folded[in.Dst] && !an.dead[in.Dst] && !an.remat(in.Dst)
}

// inputs are the values that in reads when it is emitted.
func (an *analysis) inputs(in *ir.Instr) []ir.Value {
	m, ok := an.modes[in]
	if !ok {
		return in.Operands()
	}
	var v []ir.Value
	if m.base != ir.None {
		v = append(v, m.base)
	}
	if m.index != ir.None {
		v = append(v, m.index)
	}
	return v
}

// fixedRegs are the registers that in destroys by their hardware role.
func fixedRegs(an *analysis, in *ir.Instr) regSet {
	switch in.Op {
	case ir.SDiv, ir.UDiv, ir.SRem, ir.URem:
		if k, ok := an.constant(in.B); ok && divIsSimple(in.Op, in.W, k) {
			return 0
		}
		return setOf(item(RAX), item(RDX))
	case ir.Shl, ir.Shr, ir.Sar:
		if _, ok := an.constant(in.B); ok {
			return 0
		}
		return setOf(item(RCX))
	case ir.MapSlot:
		if an.p.Maps[in.Aux].Single {
			return 0
		}
		return setOf(item(RAX))
	case ir.MapMax:
		return setOf(item(RAX))
	case ir.Reserve, ir.Ticks:
		return setOf(item(RAX), item(RDX))
	case ir.Intern:
		return setOf(item(RAX))
	case ir.Reg:
		if in.Imm == int64(x86.InUse) {
			return setOf(item(RAX), item(RCX), item(RDX))
		}
	}
	return 0
}

func (an *analysis) readsFSBase() bool {
	for b, blk := range an.p.Blocks {
		for i := range blk.Instrs {
			in := &blk.Instrs[i]
			if an.reach[b] && in.Op == ir.Reg && in.Imm == ir.RegThread && !an.dead[in.Dst] {
				return true
			}
		}
	}
	return false
}

// guards reports whether the program starts with the dead man's switch.
func (pl *planner) guards() bool {
	if pl.an.guarded || pl.cfg.faultingClock() && pl.an.reserves > 0 || pl.cfg.NoTSC && pl.an.ticks {
		return true
	}
	// The thread pointer is read from memory where rdfsbase does not exist.
	return !pl.cfg.Layout.FSGSBASE && (pl.an.reserves > 0 || pl.an.readsFSBase())
}
