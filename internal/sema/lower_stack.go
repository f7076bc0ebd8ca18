package sema

import (
	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/ir"
)

// programStack takes the program's stack in a program of the kernel.
type programStack struct{ *lowerer }

// copyEntered copies the registers with which the thread entered the kernel, and the stack from there.
func (l programStack) copyEntered(to slotID) {
	at := l.in.Kernel.UserRegs()
	task := l.env(ir.EnvTask)
	regs := l.b.Load(8, false, task, at.Stack, ir.NoBlock)
	const kernelThread = 21 // PF_KTHREAD
	thread := l.b.Bin(ir.And, 8, l.b.Bin(ir.Shr, 8, l.b.Load(4, false, task, at.Flags, ir.NoBlock), l.b.Const(kernelThread)), l.b.Const(1))
	program := l.b.Bin(ir.Sub, 8, thread, l.b.Const(1)) // all bits, or none
	sp := ir.None
	for i, r := range processor.Dump {
		off, ok := processor.PtRegs(r)
		if !ok {
			l.put(l.b.Const(0), 8, to.imm(int64(i)*8))
			continue
		}
		v := l.b.Bin(ir.And, 8, l.b.Load(8, false, regs, at.Distance+int64(off), ir.NoBlock), program)
		l.put(v, 8, to.imm(int64(i)*8))
		if r == processor.SP {
			sp = v
		}
	}
	l.lowerer.copy(ir.CopyMax, sp, ir.None, to.imm(regsSize), int64(l.in.StackLimit), ir.NoBlock)
}

// room has slots for the pcs of the program's frames, and, in long records, for a copy of the stack.
func (l programStack) room() fieldSlots {
	fs := l.newSlot(countedHeader+8*int64(l.in.StackFrames), 8)
	fs.copiedSize = regsSize + countedHeader + int64(l.in.StackLimit)
	fs.copied = l.rec.add(slot{size: fs.copiedSize, align: 8, long: true})
	return fs
}

func (l programStack) copy(to slotID) {
	if l.in.Kernel.User {
		l.copyStack(to)
		return
	}
	l.copyEntered(to)
}

// follow follows the program's stack by the tables of its process.
func (l programStack) follow(to slotID) {
	pc, sp, fp := l.regs()
	l.put(pc, 8, to.imm(countedHeader))
	l.b.Emit(ir.Instr{Op: ir.Walk, Dst: ir.None, A: sp, B: fp, Imm: to.imm(0), Aux: 8 * int64(l.in.StackFrames), Fault: ir.NoBlock})
}

// regs are the registers of the program: at places in the kernel those with which the thread entered it.
func (l programStack) regs() (pc, sp, fp ir.Value) {
	if l.in.Kernel.User {
		return l.reg(int64(processor.PC)), l.reg(int64(processor.SP)), l.reg(int64(processor.FP))
	}
	at := l.in.Kernel.UserRegs()
	regs := l.b.Load(8, false, l.env(ir.EnvTask), at.Stack, ir.NoBlock)
	load := func(r arch.Reg) ir.Value {
		off, _ := processor.PtRegs(r)
		return l.b.Load(8, false, regs, at.Distance+int64(off), ir.NoBlock)
	}
	return load(processor.PC), load(processor.SP), load(processor.FP)
}
