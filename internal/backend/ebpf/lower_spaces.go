package ebpf

import (
	"math/bits"

	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/unwind"
)

// Numbers of address spaces in keys: see unwind/spaces.go.

// ofProcess adds the process to the number of a stack in r0, if there is a stack.
func (su *surroundings) ofProcess() {
	done, at := su.newLabel(), su.area(areaWord)
	su.jumpIfImm(asm.JLE, 8, asm.R0, NoStack, done)
	su.emit(asm.StoreMem(asm.R10, at, asm.R0, asm.DWord))
	su.pidTgid()
	su.emit(asm.RSh.Imm(asm.R0, 32))
	su.emit(asm.LSh.Imm(asm.R0, 32))
	su.movImm(asm.R1, 1)
	su.emit(asm.LSh.Imm(asm.R1, 32+int32(bits.TrailingZeros64(unwind.SpaceProcess))))
	su.emit(asm.Or.Reg(asm.R0, asm.R1))
	su.emit(asm.LoadMem(asm.R1, asm.R10, at, asm.DWord))
	su.emit(asm.Or.Reg(asm.R0, asm.R1))
	su.bind(done)
}

// again notes that a stack of the process has ended in code without tables: it may have been mapped since they were made.
func (n *interned) again() {
	n.process()
	n.storeImm(asm.R2, unwind.ProcessAgain, 4, 1)
	n.emit(asm.LoadMapValue(asm.R3, 0, 0).WithReference(n.c.UserStacks.Name))
	n.storeImm(asm.R3, unwind.SpaceWanted, 8, 1)
}

// late keeps the number of the address space of a process without tables, and notes the process.
func (n *interned) late() {
	claim, have, counted := n.newLabel(), n.newLabel(), n.newLabel()
	name := n.c.UserStacks.Name
	n.pidTgid()
	n.mov(asm.R1, asm.R0)
	n.emit(asm.RSh.Imm(asm.R1, 32))
	n.keep(walkRow, asm.R1)
	n.lateEntry()
	n.emit(asm.LoadMem(asm.R4, asm.R3, unwind.LateSpace, asm.DWord))
	n.mov(asm.R5, asm.R4)
	n.emit(asm.RSh.Imm(asm.R5, 32))
	n.jumpIf(asm.JNE, 8, asm.R5, asm.R1, claim)
	n.bind(have)
	n.emit(asm.LSh.Imm(asm.R4, 32))
	n.emit(asm.StoreMem(asm.R10, n.own+internSpace, asm.R4, asm.DWord))
	n.bind(counted)
	n.word(asm.R1, walkRow)
	n.lateEntry()
	n.storeImm(asm.R3, unwind.LateWanted, 8, 1)
	n.emit(asm.LoadMapValue(asm.R3, 0, 0).WithReference(name))
	n.movImm(asm.R0, 1)
	n.emit(asm.AddAtomic.Mem(asm.R3, asm.R0, asm.DWord, unwind.SpaceLate))
	n.storeImm(asm.R3, unwind.SpaceWanted, 8, 1)
	n.rare(func() {
		n.bind(claim)
		n.claim(have, counted)
	})
}

// lateEntry makes r3 the entry of the process in r1. It uses r2.
func (n *interned) lateEntry() {
	n.mov(asm.R2, asm.R1)
	n.emit(asm.And.Imm(asm.R2, unwind.Processes-1))
	n.emit(asm.LSh.Imm(asm.R2, int32(bits.TrailingZeros(unwind.LateSize))))
	n.emit(asm.LoadMapValue(asm.R3, 0, uint32(n.c.UserStacks.LateAt())).WithReference(n.c.UserStacks.Name))
	n.emit(asm.Add.Reg(asm.R3, asm.R2))
}

// claim takes the next number for the process in walkRow, and goes to have with it in r4; without one it keeps the process, and goes to
// counted.
func (n *interned) claim(have, counted label) {
	none := n.newLabel()
	name := n.c.UserStacks.Name
	n.call(asm.FnKtimeGetNs)
	n.mov(asm.R5, asm.R0)
	n.word(asm.R1, walkRow)
	n.emit(asm.LoadMapValue(asm.R3, 0, unwind.SpaceNext).WithReference(name))
	n.emit(asm.LoadMem(asm.R4, asm.R3, 0, asm.DWord))
	n.jumpIfImm(asm.JGE, 8, asm.R4, unwind.Spaces, none) // it does not wrap
	n.movImm(asm.R4, 1)
	add := asm.FetchAdd.Mem(asm.R3, asm.R4, asm.DWord, 0)
	add.Constant = int64(asm.FetchAdd >> 8) // see compareExchange
	n.emit(add)
	n.jumpIfImm(asm.JGE, 8, asm.R4, unwind.Spaces, none)
	n.mov(asm.R2, asm.R4)
	n.emit(asm.LSh.Imm(asm.R2, int32(bits.TrailingZeros(unwind.SpaceSize))))
	n.emit(asm.LoadMapValue(asm.R3, 0, uint32(n.c.UserStacks.SpacesAt())).WithReference(name))
	n.emit(asm.Add.Reg(asm.R3, asm.R2))
	n.emit(asm.StoreMem(asm.R3, unwind.SpaceTgid, asm.R1, asm.DWord))
	n.emit(asm.StoreMem(asm.R3, unwind.SpaceTime, asm.R5, asm.DWord))
	n.lateEntry()
	n.mov(asm.R5, asm.R1)
	n.emit(asm.LSh.Imm(asm.R5, 32))
	n.emit(asm.Or.Reg(asm.R4, asm.R5))
	n.emit(asm.StoreMem(asm.R3, unwind.LateSpace, asm.R4, asm.DWord))
	n.jump(have)
	n.bind(none)
	n.emit(asm.LSh.Imm(asm.R1, 32))
	n.movImm(asm.R2, 1)
	n.emit(asm.LSh.Imm(asm.R2, 32+int32(bits.TrailingZeros64(unwind.SpaceProcess))))
	n.emit(asm.Or.Reg(asm.R1, asm.R2))
	n.emit(asm.StoreMem(asm.R10, n.own+internSpace, asm.R1, asm.DWord))
	n.jump(counted)
}
