package sema

import (
	"maps"
	"slices"

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

// userStack is the stack of the program at a place of the kernel engine, of at most n frames; 0: as many as are recorded.
func userStack(vs *values, n int) ir.Value {
	if v, has := vs.followed[n]; has {
		return v
	}
	if n <= 0 {
		n = vs.in.StackFrames
	}
	if n <= 0 || n > maxWalked {
		n = maxWalked
	}
	regs := ir.None
	switch where := vs.in.Kernel.UserRegs; {
	case vs.in.FramePointers:
	case vs.in.Kernel.User:
		regs = vs.env(ir.EnvContext)
	case where != nil && where() != nil:
		at := where()
		regs = vs.b.Bin(ir.Add, 8, vs.b.Load(8, false, vs.env(ir.EnvTask), at.Stack, ir.NoBlock), vs.b.Const(at.Distance))
	}
	if regs == ir.None {
		regs = vs.b.Const(0) // frame pointers are followed
	}
	return vs.b.Def(ir.I64, ir.Instr{Op: ir.UserStack, A: regs, B: ir.None, Aux: 8 * int64(n), Fault: ir.NoBlock})
}

// follow follows the stacks once that several keys have, if it is certain that one of them is needed.
func (l *lowerer) follow(list []*action) {
	uses, certain, depth := map[int]int{}, map[int]bool{}, 0
	for _, a := range list {
		switch {
		case a.Map == nil && a.Do == Begin:
			depth++
		case a.Map == nil && a.Do == End:
			depth--
		case a.Map == nil && a.Do == Leave:
			depth = len(list) // what comes after is not certain
		}
		for _, k := range a.key {
			if k.user {
				uses[k.Frames]++
				certain[k.Frames] = certain[k.Frames] || depth == 0 && a.cond == nil
			}
		}
	}
	var found map[int]ir.Value
	for _, n := range slices.Sorted(maps.Keys(uses)) {
		if uses[n] > 1 && certain[n] {
			if found == nil {
				found = map[int]ir.Value{}
			}
			found[n] = userStack(l.values, n)
		}
	}
	l.followed = found
}
