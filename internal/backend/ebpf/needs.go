package ebpf

import "github.com/jalon-trace/jalon/internal/ir"

// What instructions need beside their operands: the context, the pointer to
// address 0, the record; and whether they call, which destroys r1 to r5.

// direct reports whether loads are done by the program itself.
func (an *analysis) direct() bool {
	return an.c.Space == Kernel && an.c.Features.RdonlyCast != 0
}

func (an *analysis) needsContext(in *ir.Instr) bool {
	switch in.Op {
	case ir.Ctx, ir.CopyFrames, ir.StackID, ir.UserStack:
		return true
	case ir.Walk:
		return an.c.Tables.Name == ""
	case ir.Reg:
		return in.Imm != ir.RegThread
	case ir.Env:
		return in.Imm == ir.EnvContext || in.Imm == ir.EnvSite && an.c.SiteFromCookie
	case ir.Count, ir.Reserve, ir.Give, ir.Take:
		return an.c.SiteFromCookie
	case ir.Commit:
		return an.c.SiteFromCookie && an.overwrites()
	}
	_, ok := an.contextCopy(in)
	return ok
}

func (an *analysis) needsZero(in *ir.Instr) bool {
	switch in.Op {
	case ir.Load, ir.StrEq:
		return an.direct()
	case ir.CopyComm:
		return an.commFromTask()
	case ir.Reg:
		return in.Imm == ir.RegThread && an.c.Features.RdonlyCast != 0
	}
	return false
}

// commFromTask: the thread's name is read out of its task_struct.
func (an *analysis) commFromTask() bool {
	return an.c.Features.RdonlyCast != 0 && an.c.Features.TaskComm >= 0
}

func needsRecord(in *ir.Instr) bool {
	return in.Op.Info().Record
}

// headerKnown: the first word of all records is one number.
func (an *analysis) headerKnown() bool {
	return len(an.sizes) == 1 && !an.c.SiteFromCookie
}

// calls reports whether in destroys r1 to r5.
func (an *analysis) calls(in *ir.Instr) bool {
	switch in.Op {
	case ir.Load:
		return !an.direct()
	case ir.SDiv, ir.SRem:
		return !an.c.Features.V4
	case ir.Env:
		return in.Imm != ir.EnvContext
	case ir.Reg:
		return in.Imm == ir.RegThread
	case ir.StrEq, ir.Reserve, ir.CopyN, ir.CopyStr, ir.CopyMax, ir.CopyFrames, ir.CopyComm, ir.Walk, ir.StackID, ir.UserStack, ir.Count, ir.Give, ir.Take, ir.Signal:
		return true
	case ir.Copy:
		_, ok := an.contextCopy(in)
		return !ok
	case ir.Commit:
		return an.overwrites()
	case ir.MapSlot, ir.MapFind:
		return !an.p.Maps[in.Aux].Single
	case ir.KeyText:
		return true
	}
	return an.onCell(in)
}

// keepsA: A is needed after a call that the instruction makes, for the fault edge, a repeated load or to
// store it.
func keepsA(in *ir.Instr) bool {
	return in.Op.Info().Reads || in.Op == ir.Give
}

// emitted reports whether code is made for in at its own place.
func (an *analysis) emitted(in *ir.Instr) bool {
	if !in.Removable() {
		return true
	}
	return an.uses[in.Dst] > 0 && !an.known[in.Dst] && !an.fused[in.Dst]
}

// inputs are the values that in reads.
func (an *analysis) inputs(in *ir.Instr) []ir.Value {
	if _, ok := an.contextCopy(in); ok {
		return nil
	}
	if v, ok := an.pidTgid[in]; ok {
		return []ir.Value{v}
	}
	return in.Operands()
}
