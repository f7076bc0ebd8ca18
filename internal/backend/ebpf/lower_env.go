package ebpf

import (
	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/ir"
)

func init() {
	lower[ir.Ctx] = (*gen).ctx
	lower[ir.Reg] = (*gen).readReg
	lower[ir.Env] = (*gen).env
	lower[ir.Result] = (*gen).setResult
}

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

// Namespace says where the numbers of threads and processes in a PID namespace are:
// those of a thread in its struct pid (task->thread_pid), those of its process in that
// of the thread group (task->signal->pids[PIDTYPE_TGID]). The members of struct upid
// count from the one of this namespace.
type Namespace struct {
	Depth             int    // of the namespace below the first one
	Address           uint64 // of its struct pid_namespace
	ThreadPid, Signal int32  // in struct task_struct
	Pids              int32  // the element for thread groups, in struct signal_struct
	Level, Numbers    int32  // in struct pid; Numbers of this namespace's struct upid
	Nr, Ns            int32  // in struct upid
}

// pidTgid leaves the process's number << 32 | the thread's in r0. In a namespace they
// are 0 for threads that have no numbers in it.
func (g *gen) pidTgid() {
	ns := g.c.Features.Namespace
	if ns == nil {
		g.call(asm.FnGetCurrentPidTgid)
		return
	}
	at := g.area(areaPid)
	const number, task, tmp = 0, 8, 16 // of the area
	read := func(to int16, size int64, from asm.Register, off int64) {
		g.pointTo(asm.R3, from, off)
		g.pointTo(asm.R1, asm.R10, int64(at+to))
		g.movImm(asm.R2, size)
		g.call(asm.FnProbeReadKernel) // zeroes what it cannot read
	}
	// next follows a pointer that was read.
	next := func(to int16, size int64, off int32) {
		g.emit(asm.LoadMem(asm.R3, asm.R10, at+tmp, asm.DWord))
		read(to, size, asm.R3, int64(off))
	}
	out := g.newLabel()
	g.storeImm(asm.R10, at+number, 8, 0)
	g.call(asm.FnGetCurrentTask)
	g.emit(asm.StoreMem(asm.R10, at+task, asm.R0, asm.DWord))
	read(tmp, 8, asm.R0, int64(ns.ThreadPid))
	next(number, 4, ns.Level)
	g.emit(asm.LoadMem(asm.R1, asm.R10, at+number, asm.DWord))
	g.storeImm(asm.R10, at+number, 8, 0)
	g.jumpIfImm(asm.JLT, 8, asm.R1, int32(ns.Depth), out)
	g.emit(asm.LoadMem(asm.R3, asm.R10, at+tmp, asm.DWord))
	read(number, 8, asm.R3, int64(ns.Numbers+ns.Ns))
	g.emit(asm.LoadMem(asm.R1, asm.R10, at+number, asm.DWord))
	g.storeImm(asm.R10, at+number, 8, 0)
	g.movImm(asm.R2, int64(ns.Address))
	g.jumpIf(asm.JNE, 8, asm.R1, asm.R2, out)
	next(number, 4, ns.Numbers+ns.Nr)
	g.emit(asm.LoadMem(asm.R3, asm.R10, at+task, asm.DWord))
	read(tmp, 8, asm.R3, int64(ns.Signal))
	next(tmp, 8, ns.Pids)
	next(number+4, 4, ns.Numbers+ns.Nr)
	g.bind(out)
	g.emit(asm.LoadMem(asm.R0, asm.R10, at+number, asm.DWord))
}
