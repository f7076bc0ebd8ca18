package ebpf

import (
	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/ir"
)

func (g *gen) ctx(in *ir.Instr) {
	d := g.dest(in.Dst)
	g.loadContext(d, in.Imm, in.W, in.Signed)
	g.store(in.Dst, d)
}

// loadContext reads w bytes of the context into d. The words of arguments and
// registers are read whole, as the kernel demands of some programs. A word may
// be a typed pointer to the verifier, with which it would forbid arithmetic; the
// conversion to little endian, which no processor instruction is made for, makes
// a plain number of it.
func (g *gen) loadContext(d asm.Register, off int64, w uint8, signed bool) {
	base := g.reg(g.an.context(), d)
	if g.c.Context == Record {
		g.emit(asm.LoadMem(d, base, int16(off), sizeOf(w)))
		if signed {
			g.signExtend(d, w)
		}
		return
	}
	g.emit(asm.LoadMem(d, base, int16(off&^7), asm.DWord))
	if g.c.Context == Args {
		g.emit(asm.HostTo(asm.LE, d, asm.DWord))
	}
	shift := 8 * int32(off&7)
	switch {
	case w == 8:
	case signed:
		if up := 64 - 8*int32(w) - shift; up != 0 {
			g.emit(asm.LSh.Imm(d, up))
		}
		g.emit(asm.ArSh.Imm(d, 64-8*int32(w)))
	default:
		if shift != 0 {
			g.emit(asm.RSh.Imm(d, shift))
		}
		if shift+8*int32(w) != 64 {
			g.zeroExtend(d, w)
		}
	}
}

func (g *gen) readReg(in *ir.Instr) {
	if in.Imm == ir.RegThread {
		g.fsBase(in)
		return
	}
	d := g.dest(in.Dst)
	off, _ := g.c.processor().PtRegs(arch.Reg(in.Imm)) // supports has refused others
	g.emit(asm.LoadMem(d, g.reg(g.an.context(), d), int16(off), asm.DWord))
	g.store(in.Dst, d)
}

// fsBase reads the thread pointer that the kernel keeps for the thread.
func (g *gen) fsBase(in *ir.Instr) {
	off := int64(g.c.Features.FSBase)
	g.call(asm.FnGetCurrentTask)
	if g.c.Features.RdonlyCast != 0 {
		g.load(asm.R1, g.an.zero())
		g.emit(asm.Add.Reg(asm.R1, asm.R0))
		g.emit(asm.LoadMem(asm.R1, asm.R1, int16(off), asm.DWord))
		g.store(in.Dst, asm.R1)
		return
	}
	g.pointTo(asm.R3, asm.R0, off)
	g.pointTo(asm.R1, asm.R10, int64(g.area(areaWord)))
	g.movImm(asm.R2, 8)
	g.call(asm.FnProbeReadKernel)
	d := g.dest(in.Dst)
	g.emit(asm.LoadMem(d, asm.R10, g.area(areaWord), asm.DWord))
	g.store(in.Dst, d)
}

// envHelpers give the words of the environment.
var envHelpers = [ir.NumEnv]asm.BuiltinFunc{
	ir.EnvCPU: asm.FnGetSmpProcessorId, ir.EnvTask: asm.FnGetCurrentTask,
	ir.EnvUidGid: asm.FnGetCurrentUidGid,
	ir.EnvCgroup: asm.FnGetCurrentCgroupId, ir.EnvTime: asm.FnKtimeGetNs,
	ir.EnvJiffies: asm.FnJiffies64,
}

func (g *gen) env(in *ir.Instr) {
	if in.Imm == ir.EnvContext {
		d := g.dest(in.Dst)
		g.load(d, g.an.context())
		g.emit(asm.HostTo(asm.LE, d, asm.DWord)) // see loadContext
		g.store(in.Dst, d)
		return
	}
	if in.Imm == ir.EnvPidTgid {
		g.pidTgid()
	} else {
		g.call(envHelpers[in.Imm])
	}
	g.store(in.Dst, asm.R0)
}

func (g *gen) setResult(in *ir.Instr) {
	if g.an.late[in] {
		g.result = in.A
		return
	}
	if !g.an.slotResult {
		return // a later one replaces it
	}
	g.emit(asm.StoreMem(asm.R10, g.area(areaResult), g.reg(in.A, scratch), asm.DWord))
}
