package ebpf

import (
	"fmt"
	"math/bits"

	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/unwind"
)

// Tables is the shared area of package unwind: the value of an array map.
type Tables struct {
	Name string // of the map in the instructions
	// Size is a power of two: as many bytes may be addressed, and the value has TablesSlack more.
	Size uint64
	// MM is the offset of the memory's description in struct task_struct, Pages that of the number of pages of code in struct
	// mm_struct.
	MM, Pages int32
	// Uprobes is the offset in struct mm_struct of the pointer to the kernel's page for uprobes, which counts as code; 0: it is not known.
	Uprobes int32
}

// TablesSlack is how many bytes behind the tables a program may read.
const TablesSlack = 64

func (t *Tables) check() error {
	if t.Name == "" {
		return fmt.Errorf("the stack: there are no tables of processes to follow it; copy it (--stack copy)")
	}
	if t.Size < unwind.SharedLists || t.Size&(t.Size-1) != 0 || t.Size > 1<<29 {
		return fmt.Errorf("the tables of processes: %d bytes are no power of two between %d and %d", t.Size, unwind.SharedLists, 1<<29)
	}
	return nil
}

// process makes r2 the slot of the current process, whose number is in r1.
func (su *surroundings) process() {
	su.pidTgid()
	su.emit(asm.RSh.Imm(asm.R0, 32))
	su.mov(asm.R1, asm.R0)
	su.emit(asm.And.Imm(asm.R0, unwind.Processes-1))
	su.emit(asm.LSh.Imm(asm.R0, int32(bits.TrailingZeros(unwind.ProcessSize))))
	su.emit(asm.LoadMapValue(asm.R2, 0, 0).WithReference(su.c.Tables.Name))
	su.emit(asm.Add.Reg(asm.R2, asm.R0))
}

// haveTables leaves in r0 whether the tables in the slot of the current process are those of its code.
func (su *surroundings) haveTables() {
	out, same, at := su.newLabel(), su.newLabel(), su.area(areaTables)
	word := func(off int32) { // follows a pointer in r0
		su.pointTo(asm.R3, asm.R0, int64(off))
		su.pointTo(asm.R1, asm.R10, int64(at+8))
		su.movImm(asm.R2, 8)
		su.call(asm.FnProbeReadKernel) // zeroes what it cannot read
		su.emit(asm.LoadMem(asm.R0, asm.R10, at+8, asm.DWord))
	}
	su.process()
	su.movImm(asm.R0, 0)
	su.emit(asm.LoadMem(asm.R3, asm.R2, unwind.ProcessTgid, asm.Word))
	su.jumpIf(asm.JNE, 8, asm.R3, asm.R1, out)
	su.emit(asm.LoadMem(asm.R3, asm.R2, unwind.ProcessStale, asm.Word))
	su.jumpIfImm(asm.JNE, 8, asm.R3, 0, out)
	su.emit(asm.LoadMem(asm.R3, asm.R2, unwind.ProcessPages, asm.DWord))
	su.jumpIfImm(asm.JEq, 8, asm.R3, 0, out)
	su.emit(asm.StoreMem(asm.R10, at, asm.R3, asm.DWord))
	su.call(asm.FnGetCurrentTask)
	word(su.c.Tables.MM)
	su.emit(asm.StoreMem(asm.R10, at+16, asm.R0, asm.DWord))
	word(su.c.Tables.Pages)
	su.emit(asm.LoadMem(asm.R1, asm.R10, at, asm.DWord))
	su.emit(asm.Sub.Reg(asm.R0, asm.R1))
	su.jumpIfImm(asm.JEq, 8, asm.R0, 0, same)
	su.mov(asm.R1, asm.R0)
	su.movImm(asm.R0, 0)
	su.jumpIfImm(asm.JNE, 8, asm.R1, 1, out)
	if su.c.Tables.Uprobes != 0 { // the page more is the kernel's, if there is one
		su.emit(asm.LoadMem(asm.R0, asm.R10, at+16, asm.DWord))
		word(su.c.Tables.Uprobes)
		su.mov(asm.R1, asm.R0)
		su.movImm(asm.R0, 0)
		su.jumpIfImm(asm.JNE, 8, asm.R1, 0, same)
	}
	su.jump(out)
	su.bind(same)
	su.movImm(asm.R0, 1)
	su.bind(out)
}

// sharedList finds the list of the process's modules.
func (w *walk) sharedList() {
	w.process()
	w.emit(asm.LoadMem(asm.R1, asm.R2, unwind.ProcessList, asm.DWord))
	if w.listed != nil {
		w.listed()
	}
	w.mov(asm.R2, asm.R1)
	w.emit(asm.RSh.Imm(asm.R1, unwind.ListShift))
	w.keep(walkList, asm.R1)
	w.emit(asm.And.Imm(asm.R2, 1<<unwind.ListShift-1))
	w.emit(asm.StoreMem(asm.R10, w.at+walkCount, asm.R2, asm.Word))
	w.storeImm(asm.R10, w.at+walkCount+4, 4, 0)
}

// search reads the last module of the list that begins at or before the pc. The list is in the order of addresses.
func (w *walk) search() {
	w.movImm(asm.R4, 0) // the number of a module that begins there, or of the first
	for step := int32(maxWalkModules / 2); step > 0; step /= 2 {
		w.mov(asm.R3, asm.R4)
		w.emit(asm.Add.Imm(asm.R3, step))
		w.word(asm.R5, walkCount)
		w.emit(asm.Sub.Imm(asm.R5, 1))
		w.emit(asm.Sub.Reg(asm.R5, asm.R3)) // negative: there are not so many
		w.element()
		w.emit(asm.LoadMem(asm.R2, asm.R1, unwind.ModuleLo, asm.DWord))
		w.word(asm.R1, walkPC)
		w.emit(asm.Sub.Reg(asm.R1, asm.R2)) // negative: it begins behind the pc
		w.emit(asm.Or.Reg(asm.R5, asm.R1))
		w.emit(asm.ArSh.Imm(asm.R5, 63))
		w.emit(asm.Xor.Imm(asm.R5, -1))
		w.emit(asm.And.Imm(asm.R5, step))
		w.emit(asm.Add.Reg(asm.R4, asm.R5))
	}
	w.mov(asm.R3, asm.R4)
	w.element()
	w.copyShared(walkModule, unwind.ModuleRules+8)
}

// element makes r1 point to the module whose number is in r3.
func (w *walk) element() {
	w.emit(asm.Mul.Imm(asm.R3, unwind.ModuleSize))
	w.word(asm.R1, walkList)
	w.emit(asm.Add.Reg(asm.R3, asm.R1))
	w.pointShared()
}

// pointShared makes r1 point to the offset in r3.
func (w *walk) pointShared() {
	w.emit(asm.And.Imm(asm.R3, int32(w.c.Tables.Size-1)))
	w.emit(asm.LoadMapValue(asm.R1, 0, 0).WithReference(w.c.Tables.Name))
	w.emit(asm.Add.Reg(asm.R1, asm.R3))
}

// copyShared copies n bytes from r1. It stores halves of words: of a word that was stored whole the verifier remembers what
// comparisons say about it, and would follow the loops again for each.
func (w *walk) copyShared(to, n int16) {
	for k := int16(0); k < n; k += 4 {
		w.emit(asm.LoadMem(asm.R2, asm.R1, k, asm.Word))
		w.emit(asm.StoreMem(asm.R10, w.at+to+k, asm.R2, asm.Word))
	}
}
