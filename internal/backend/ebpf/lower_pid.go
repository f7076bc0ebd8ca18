package ebpf

import "github.com/cilium/ebpf/asm"

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
