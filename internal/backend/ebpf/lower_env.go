package ebpf

import (
	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/ir"
)

// surroundings reads what a program finds at its place: the context, registers, the words of the environment.
type surroundings struct {
	*planner
	*emitter
	*stubs
	*operands
}

func init() {
	lower[ir.Ctx] = (*gen).ctx
	lower[ir.Reg] = (*gen).readReg
	lower[ir.Env] = (*gen).env
	lower[ir.Result] = (*gen).setResult
	lower[ir.Signal] = (*gen).signal
}

// signal sends a signal to what executes the site. The kernel does that before the program goes on.
func (su *surroundings) signal(in *ir.Instr) {
	su.load(asm.R1, in.A)
	if in.Imm == 1 {
		su.call(asm.FnSendSignalThread)
	} else {
		su.call(asm.FnSendSignal)
	}
	su.store(in.Dst, asm.R0)
}

func (su *surroundings) ctx(in *ir.Instr) {
	d := su.dest(in.Dst)
	su.loadContext(d, in.Imm, in.W, in.Signed)
	su.store(in.Dst, d)
}

// loadContext reads w bytes of the context into d. The words of arguments and
// registers are read whole, as the kernel demands of some programs. A word may
// be a typed pointer to the verifier, with which it would forbid arithmetic; the
// conversion to little endian, which no processor instruction is made for, makes
// a plain number of it.
func (su *surroundings) loadContext(d asm.Register, off int64, w uint8, signed bool) {
	base := su.reg(su.an.context(), d)
	if su.c.Context == Record {
		su.emit(asm.LoadMem(d, base, int16(off), sizeOf(w)))
		if signed {
			su.signExtend(d, w)
		}
		return
	}
	su.emit(asm.LoadMem(d, base, int16(off&^7), asm.DWord))
	if su.c.Context == Args {
		su.emit(asm.HostTo(asm.LE, d, asm.DWord))
	}
	shift := 8 * int32(off&7)
	switch {
	case w == 8:
	case signed:
		if up := 64 - 8*int32(w) - shift; up != 0 {
			su.emit(asm.LSh.Imm(d, up))
		}
		su.emit(asm.ArSh.Imm(d, 64-8*int32(w)))
	default:
		if shift != 0 {
			su.emit(asm.RSh.Imm(d, shift))
		}
		if shift+8*int32(w) != 64 {
			su.zeroExtend(d, w)
		}
	}
}

func (su *surroundings) readReg(in *ir.Instr) {
	if in.Imm == ir.RegThread {
		su.fsBase(in)
		return
	}
	d := su.dest(in.Dst)
	off, _ := su.c.processor().PtRegs(arch.Reg(in.Imm)) // supports has refused others
	su.emit(asm.LoadMem(d, su.reg(su.an.context(), d), int16(off), asm.DWord))
	su.store(in.Dst, d)
}

// fsBase reads the thread pointer that the kernel keeps for the thread.
func (su *surroundings) fsBase(in *ir.Instr) {
	off := int64(su.c.Features.FSBase)
	su.call(asm.FnGetCurrentTask)
	if su.c.Features.RdonlyCast != 0 {
		su.load(asm.R1, su.an.zero())
		su.emit(asm.Add.Reg(asm.R1, asm.R0))
		su.emit(asm.LoadMem(asm.R1, asm.R1, int16(off), asm.DWord))
		su.store(in.Dst, asm.R1)
		return
	}
	su.pointTo(asm.R3, asm.R0, off)
	su.pointTo(asm.R1, asm.R10, int64(su.area(areaWord)))
	su.movImm(asm.R2, 8)
	su.call(asm.FnProbeReadKernel)
	d := su.dest(in.Dst)
	su.emit(asm.LoadMem(d, asm.R10, su.area(areaWord), asm.DWord))
	su.store(in.Dst, d)
}

// envHelpers give the words of the environment.
var envHelpers = [ir.NumEnv]asm.BuiltinFunc{
	ir.EnvCPU: asm.FnGetSmpProcessorId, ir.EnvTask: asm.FnGetCurrentTask,
	ir.EnvUidGid: asm.FnGetCurrentUidGid,
	ir.EnvCgroup: asm.FnGetCurrentCgroupId, ir.EnvTime: asm.FnKtimeGetNs,
	ir.EnvJiffies: asm.FnJiffies64,
}

func (g *gen) env(in *ir.Instr) {
	switch {
	case in.Imm != ir.EnvSite:
		g.word(in)
		return
	case g.c.SiteFromCookie:
		g.site()
	default:
		g.movImm(asm.R0, int64(g.c.Layout.SiteID))
	}
	g.store(in.Dst, asm.R0)
}

// word is a word of the environment that the kernel has.
func (su *surroundings) word(in *ir.Instr) {
	if in.Imm == ir.EnvContext {
		d := su.dest(in.Dst)
		su.load(d, su.an.context())
		su.emit(asm.HostTo(asm.LE, d, asm.DWord)) // see loadContext
		su.store(in.Dst, d)
		return
	}
	switch in.Imm {
	case ir.EnvPidTgid:
		su.pidTgid()
	case ir.EnvFollowed:
		su.followed()
	case ir.EnvTables:
		su.haveTables()
	default:
		su.call(envHelpers[in.Imm])
	}
	su.store(in.Dst, asm.R0)
}

func (su *surroundings) setResult(in *ir.Instr) {
	if su.an.late[in] {
		su.result = in.A
		return
	}
	if !su.an.slotResult {
		return // a later one replaces it
	}
	su.emit(asm.StoreMem(asm.R10, su.area(areaResult), su.reg(in.A, scratch), asm.DWord))
}

// Bytes is the value of an array map: as many bytes.
type Bytes struct {
	Name string // of the map in the instructions
	Size int
}

// followed leaves the byte of the current process in r0; 0 for a number outside the table.
func (su *surroundings) followed() {
	out := su.newLabel()
	su.call(asm.FnGetCurrentPidTgid)
	su.emit(asm.RSh.Imm(asm.R0, 32))
	su.emit(asm.Mov.Reg(asm.R1, asm.R0))
	su.movImm(asm.R0, 0)
	su.jumpIfImm(asm.JGE, 8, asm.R1, int32(su.c.Followed.Size), out)
	su.emit(asm.LoadMapValue(asm.R2, 0, 0).WithReference(su.c.Followed.Name))
	su.emit(asm.Add.Reg(asm.R2, asm.R1))
	su.emit(asm.LoadMem(asm.R0, asm.R2, 0, asm.Byte))
	su.bind(out)
}

// Namespace has the locations of the numbers of threads and processes in a PID namespace: those of a thread
// in its struct pid (task->thread_pid), those of its process in that of the thread group
// (task->signal->pids[PIDTYPE_TGID]). The members of struct upid are relative to the one of this namespace.
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
func (su *surroundings) pidTgid() {
	ns := su.c.Features.Namespace
	if ns == nil {
		su.call(asm.FnGetCurrentPidTgid)
		return
	}
	at := su.area(areaPid)
	const number, task, tmp = 0, 8, 16 // of the area
	read := func(to int16, size int64, from asm.Register, off int64) {
		su.pointTo(asm.R3, from, off)
		su.pointTo(asm.R1, asm.R10, int64(at+to))
		su.movImm(asm.R2, size)
		su.call(asm.FnProbeReadKernel) // zeroes what it cannot read
	}
	// next follows a pointer that was read.
	next := func(to int16, size int64, off int32) {
		su.emit(asm.LoadMem(asm.R3, asm.R10, at+tmp, asm.DWord))
		read(to, size, asm.R3, int64(off))
	}
	out := su.newLabel()
	su.storeImm(asm.R10, at+number, 8, 0)
	su.call(asm.FnGetCurrentTask)
	su.emit(asm.StoreMem(asm.R10, at+task, asm.R0, asm.DWord))
	read(tmp, 8, asm.R0, int64(ns.ThreadPid))
	next(number, 4, ns.Level)
	su.emit(asm.LoadMem(asm.R1, asm.R10, at+number, asm.DWord))
	su.storeImm(asm.R10, at+number, 8, 0)
	su.jumpIfImm(asm.JLT, 8, asm.R1, int32(ns.Depth), out)
	su.emit(asm.LoadMem(asm.R3, asm.R10, at+tmp, asm.DWord))
	read(number, 8, asm.R3, int64(ns.Numbers+ns.Ns))
	su.emit(asm.LoadMem(asm.R1, asm.R10, at+number, asm.DWord))
	su.storeImm(asm.R10, at+number, 8, 0)
	su.movImm(asm.R2, int64(ns.Address))
	su.jumpIf(asm.JNE, 8, asm.R1, asm.R2, out)
	next(number, 4, ns.Numbers+ns.Nr)
	su.emit(asm.LoadMem(asm.R3, asm.R10, at+task, asm.DWord))
	read(tmp, 8, asm.R3, int64(ns.Signal))
	next(tmp, 8, ns.Pids)
	next(number+4, 4, ns.Numbers+ns.Nr)
	su.bind(out)
	su.emit(asm.LoadMem(asm.R0, asm.R10, at+number, asm.DWord))
}
