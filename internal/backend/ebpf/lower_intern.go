package ebpf

import (
	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/ir"
)

// StackTable is a table of stacks: a map of type BPF_MAP_TYPE_STACK_TRACE. It has a place for each hash of a stack, so one that
// is taken by another stack leads to the next table.
type StackTable struct {
	Name   string // of the map in the instructions
	Frames int64  // of a stack
	First  uint32 // number of the stack at place 0: at least FirstStack
}

// Numbers of stacks.
const (
	NoStack    = 1 // there is none: a thread of the kernel has no user stack, a program that was interrupted none of the kernel
	FirstStack = 2
)

func init() { lower[ir.StackID] = (*gen).stackID }

// stacks are the tables for an ir.StackID.
func (c *Config) stacks(in *ir.Instr) (list []StackTable) {
	for _, t := range c.Stacks {
		if t.Frames == in.Aux/8 {
			list = append(list, t)
		}
	}
	return list
}

// taken is -EEXIST.
const taken = -17

func (cp *copies) stackID(in *ir.Instr) {
	none, done := cp.newLabel(), cp.newLabel()
	for _, t := range cp.c.stacks(in) {
		next := cp.newLabel()
		cp.load(asm.R1, cp.an.context())
		cp.emit(asm.LoadMapPtr(asm.R2, 0).WithReference(t.Name))
		cp.movImm(asm.R3, in.Aux&1*userStack)
		cp.call(asm.FnGetStackid)
		cp.jumpIfImm(asm.JSLT, 8, asm.R0, 0, next)
		cp.emit(asm.Add.Imm(asm.R0, int32(t.First)))
		cp.jump(done)
		cp.bind(next)
		cp.jumpIfImm(asm.JNE, 8, asm.R0, taken, none)
	}
	cp.movImm(asm.R0, 0)
	cp.jump(done)
	cp.bind(none)
	cp.movImm(asm.R0, NoStack)
	cp.bind(done)
	cp.store(in.Dst, asm.R0)
}
