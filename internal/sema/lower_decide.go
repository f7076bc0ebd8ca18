package sema

import "github.com/jalon-trace/jalon/internal/ir"

// decisions emits what a program in the kernel decides before and beside the condition.
type decisions struct{ *emitter }

// filters emits what decides before the condition.
func (dc *decisions) filters() {
	k := dc.in.Kernel
	if k.Take { // the other program has filtered
		v := dc.b.Def(ir.I64, ir.Instr{Op: ir.Take, A: ir.None, B: ir.None, Fault: ir.NoBlock})
		dc.leaveUnless(v)
		return
	}
	switch {
	case k.Follow:
		dc.leaveUnless(dc.env(ir.EnvFollowed))
	case k.Tgid != 0:
		tgid := dc.b.Bin(ir.Shr, 8, dc.env(ir.EnvPidTgid), dc.b.Const(32))
		dc.leaveUnless(dc.b.Bin(ir.Eq, 8, tgid, dc.b.Const(int64(k.Tgid))))
	}
	if k.Cgroup != 0 {
		dc.leaveUnless(dc.b.Bin(ir.Eq, 8, dc.env(ir.EnvCgroup), dc.b.Const(int64(k.Cgroup))))
	}
}

// leaveSelf skips hits of process tgid. It comes after the condition, which is usually false and costs less
// than reading the process number.
func (dc *decisions) leaveSelf(tgid int) {
	hitTgid := dc.b.Bin(ir.Shr, 8, dc.env(ir.EnvPidTgid), dc.b.Const(32))
	dc.leaveUnless(dc.b.Bin(ir.Ne, 8, hitTgid, dc.b.Const(int64(tgid))))
}

// leaveUnless ends the hit, uncounted, when v is zero.
func (dc *decisions) leaveUnless(v ir.Value) {
	on, out := dc.b.NewBlock("ours"), dc.b.NewBlock("not ours")
	dc.b.Branch(v, on, out)
	dc.b.Start(out)
	dc.decline()
	dc.b.Exit()
	dc.b.Start(on)
}

// decides ends a program that only decides, with v; false when it is none.
func (dc *decisions) decides(v int64) bool {
	switch k := dc.in.Kernel; {
	case k.Give:
		dc.b.Emit(ir.Instr{Op: ir.Give, A: dc.b.Const(v)})
	case k.Gate:
		dc.b.Emit(ir.Instr{Op: ir.Result, A: dc.b.Const(v)})
	default:
		return false
	}
	dc.b.Exit()
	return true
}

// decline is the result of a gate for hits that do not pass. A program that gives a word gives none: the
// other program takes 0 then.
func (dc *decisions) decline() {
	if k := dc.in.Kernel; k != nil && k.Gate {
		dc.b.Emit(ir.Instr{Op: ir.Result, A: dc.b.Const(0)})
	}
}
