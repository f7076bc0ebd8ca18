package ebpf

import (
	"fmt"
	"math/bits"

	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/internal/unwind"
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

func init() {
	lower[ir.StackID] = (*gen).stackID
	lower[ir.UserStack] = (*gen).userStack
}

// stacks are the tables for an ir.StackID, and for an ir.UserStack.
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
	cp.numberOf(in, in.Aux&1*userStack)
	cp.forgotten(in.Dst)
}

// forgotten stores r0, of which the verifier knows other bounds on each way. It would follow all that comes after once for each. It
// knows nothing of a word of the stack that was stored in halves.
func (cp *copies) forgotten(dst ir.Value) {
	at := cp.area(areaWord)
	cp.emit(asm.StoreMem(asm.R10, at, asm.R0, asm.Word))
	cp.emit(asm.RSh.Imm(asm.R0, 32))
	cp.emit(asm.StoreMem(asm.R10, at+4, asm.R0, asm.Word))
	cp.emit(asm.LoadMem(asm.R0, asm.R10, at, asm.DWord))
	cp.store(dst, asm.R0)
}

// numberOf leaves the number of a stack that the kernel follows in r0: 0, NoStack, or at least FirstStack.
func (cp *copies) numberOf(in *ir.Instr, flags int64) {
	none, done := cp.newLabel(), cp.newLabel()
	for _, t := range cp.c.stacks(in) {
		next := cp.newLabel()
		cp.load(asm.R1, cp.an.context())
		cp.emit(asm.LoadMapPtr(asm.R2, 0).WithReference(t.Name))
		cp.movImm(asm.R3, flags)
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
}

// UserStacks are the table of stacks of package ring and what package unwind has behind it (spaces.go), in the value of an array map.
type UserStacks struct {
	Name  string // of the map in the instructions; "" if there is no table: the kernel then follows frame pointers
	Nodes uint32 // a power of two
}

// Size is that of the map's value.
func (u *UserStacks) Size() uint64 { return u.behind() + unwind.SpacesSize }

// behind is where that is which is behind the nodes.
func (u *UserStacks) behind() uint64 { return ring.StacksNodes + 8*uint64(u.Nodes) }

// LateAt is where the entries of processes are, SpacesAt where those of address spaces are.
func (u *UserStacks) LateAt() uint64 { return u.behind() }

// SpacesAt is where the entries of address spaces are.
func (u *UserStacks) SpacesAt() uint64 { return u.behind() + unwind.SpacesAt }

// userStacks reports why stacks of programs cannot be parts of keys.
func (c *Config) userStacks(in *ir.Instr) error {
	switch n := c.UserStacks.Nodes; {
	case c.stacks(in) == nil:
		return fmt.Errorf("the stack: the kernel's programs have no table of stacks")
	case c.UserStacks.Name == "":
		return nil
	case n == 0 || n&(n-1) != 0 || n > ring.StackNodes:
		return fmt.Errorf("a table of %d stacks: not a power of two up to %d", n, ring.StackNodes)
	case in.Aux > 8*maxWalkFrames:
		return fmt.Errorf("a stack of %d frames: the kernel's programs follow at most %d", in.Aux/8, maxWalkFrames)
	}
	return c.Tables.check()
}

// Offsets in areaIntern.
const (
	internNode  = 8 * iota // place of the last frame
	internFirst            // ring.StackFirst before the first frame, then 0
	internBack             // how far the pc that a rule is looked up for is before that of the frame
	internSpace            // number of the address space << 32
	internSize
)

// interned is a walk whose pcs are entered into the table of stacks, by the writer protocol of ring/stacks.go.
type interned struct {
	*walk
	own   int16 // areaIntern
	step  label // takes the pc in walkPC
	entry label // enters the pc in walkPC
	full  label
	nodes uint32
}

func (g *gen) userStack(in *ir.Instr) {
	if g.c.UserStacks.Name == "" {
		g.numberOf(in, userStack)
		g.ofProcess()
		g.forgotten(in.Dst)
		return
	}
	n := &interned{walk: g.newWalk(in), own: g.area(areaIntern), step: g.newLabel(), entry: g.newLabel(), full: g.newLabel(), nodes: g.c.UserStacks.Nodes}
	n.walk.take, n.listed = n.take, n.space
	late, done := g.newLabel(), g.newLabel()
	n.registers()
	g.haveTables()
	g.jumpIfImm(asm.JEq, 8, asm.R0, 0, late)
	n.begin(late)
	n.follow(func() { n.jump(n.entry) })
	n.finish(done)
	g.forgotten(in.Dst)
	g.rare(func() {
		g.bind(late)
		g.numberOf(in, userStack)
		g.jumpIfImm(asm.JLE, 8, asm.R0, NoStack, done)
		g.emit(asm.StoreMem(asm.R10, n.own+internNode, asm.R0, asm.DWord))
		n.late()
		g.emit(asm.LoadMem(asm.R0, asm.R10, n.own+internNode, asm.DWord))
		g.emit(asm.LoadMem(asm.R1, asm.R10, n.own+internSpace, asm.DWord))
		g.emit(asm.Or.Reg(asm.R0, asm.R1))
		g.jump(done)
	})
}

// registers reads the registers from the struct pt_regs at A.
func (n *interned) registers() {
	n.arguments(argument{asm.R3, n.in.A})
	n.keep(walkRow, asm.R3)
	p := n.c.processor()
	for _, x := range []struct {
		to  int16
		reg arch.Reg
	}{{walkPC, p.PC}, {walkSP, p.SP}, {walkFP, p.FP}} {
		off, _ := p.PtRegs(x.reg)
		n.word(asm.R3, walkRow)
		n.emit(asm.Add.Imm(asm.R3, int32(off)))
		n.pointTo(asm.R1, asm.R10, int64(n.at+x.to))
		n.movImm(asm.R2, 8)
		n.call(asm.FnProbeReadKernel) // zeroes what it cannot read
	}
}

// begin makes the pc the first frame. One that cannot be in the table, or is not known (ir.UserStack with 0), goes to late.
func (n *interned) begin(late label) {
	n.word(asm.R3, walkPC)
	n.mov(asm.R1, asm.R3)
	n.emit(asm.RSh.Imm(asm.R1, ring.StackPCBits))
	n.jumpIfImm(asm.JNE, 8, asm.R1, 0, late)
	n.jumpIfImm(asm.JEq, 8, asm.R3, 0, late)
	n.storeImm(asm.R10, n.at+walkI, 8, 8)
	n.storeImm(asm.R10, n.own+internNode, 8, 0)
	n.storeImm(asm.R10, n.own+internBack, 8, 0)
	n.movImm(asm.R1, 1)
	n.emit(asm.LSh.Imm(asm.R1, int32(bits.TrailingZeros64(ring.StackFirst))))
	n.emit(asm.StoreMem(asm.R10, n.own+internFirst, asm.R1, asm.DWord))
}

// space keeps the number of the address space, from the word of the list in r1.
func (n *interned) space() {
	n.mov(asm.R2, asm.R1)
	n.emit(asm.RSh.Imm(asm.R2, unwind.SpaceShift))
	n.emit(asm.LSh.Imm(asm.R2, 32))
	n.emit(asm.StoreMem(asm.R10, n.own+internSpace, asm.R2, asm.DWord))
}

// take enters the caller's pc. The code is there once: after a signal's frame only the next lookup differs.
func (n *interned) take(again label, signal bool) {
	if signal {
		n.storeImm(asm.R10, n.own+internBack, 8, 0)
		n.jump(n.step)
		return
	}
	n.storeImm(asm.R10, n.own+internBack, 8, 1)
	n.bind(n.step)
	n.word(asm.R3, walkPC)
	n.jumpIfImm(asm.JEq, 8, asm.R3, 0, n.ends[unwind.Whole])
	n.word(asm.R2, walkI)
	n.jumpIfImm(asm.JGE, 8, asm.R2, int32(n.in.Aux), n.ends[unwind.Deep])
	n.emit(asm.Add.Imm(asm.R2, 8))
	n.keep(walkI, asm.R2)
	n.mov(asm.R1, asm.R3)
	n.emit(asm.RSh.Imm(asm.R1, ring.StackPCBits))
	n.jumpIfImm(asm.JNE, 8, asm.R1, 0, n.ends[unwind.Damaged]) // last: Linux 6.1 lets a loop be closed by jumps only, and the walk begins at entry
	n.bind(n.entry)
	n.word(asm.R3, walkPC)
	entered := n.newLabel()
	n.enter(entered)
	n.bind(entered)
	n.emit(asm.StoreMem(asm.R10, n.own+internNode, asm.R1, asm.DWord))
	n.storeImm(asm.R10, n.own+internFirst, 8, 0)
	n.word(asm.R3, walkPC)
	n.emit(asm.LoadMem(asm.R1, asm.R10, n.own+internBack, asm.DWord))
	n.emit(asm.Sub.Reg(asm.R3, asm.R1)) // in the call
	n.keep(walkPC, asm.R3)
	n.jump(again)
}

// enter finds or makes the node of the pc in r3, and leaves its place in r1.
func (n *interned) enter(entered label) {
	n.emit(asm.LoadMem(asm.R1, asm.R10, n.own+internNode, asm.DWord))
	n.emit(asm.Mul.Imm(asm.R1, ring.StackParent))
	n.emit(asm.Mov.Reg32(asm.R2, asm.R3))
	mix := uint32(ring.StackMix)
	n.emit(asm.Mul.Imm32(asm.R2, int32(mix)))
	n.emit(asm.RSh.Imm32(asm.R2, int32(32-bits.TrailingZeros32(n.nodes))))
	n.emit(asm.Add.Reg(asm.R1, asm.R2))
	n.emit(asm.LoadMem(asm.R2, asm.R10, n.own+internFirst, asm.DWord))
	n.mov(asm.R4, asm.R3)
	n.emit(asm.LSh.Imm(asm.R4, ring.StackShift))
	n.emit(asm.Or.Reg(asm.R4, asm.R2))
	n.emit(asm.Add.Imm(asm.R4, 1))
	n.node()
	other := n.newLabel()
	n.jumpIf(asm.JNE, 8, asm.R0, asm.R4, other)
	n.rare(func() {
		n.bind(other)
		for d := range ring.StackProbes {
			next := n.newLabel()
			if d > 0 {
				n.emit(asm.Add.Imm(asm.R1, 1))
				n.emit(asm.Add.Imm(asm.R4, 1))
				n.node()
				n.jumpIf(asm.JEq, 8, asm.R0, asm.R4, entered)
			}
			n.jumpIfImm(asm.JNE, 8, asm.R0, 0, next)
			n.emit(compareExchange(asm.R5, asm.R4, 0))
			n.jumpIfImm(asm.JEq, 8, asm.R0, 0, entered)
			n.jumpIf(asm.JEq, 8, asm.R0, asm.R4, entered)
			n.bind(next)
		}
		n.jump(n.full)
	})
}

// node makes r1 a place, r5 a pointer to its node, and r0 what is there.
func (n *interned) node() {
	n.emit(asm.And.Imm(asm.R1, int32(n.nodes-1)))
	n.mov(asm.R2, asm.R1)
	n.emit(asm.LSh.Imm(asm.R2, 3))
	n.emit(asm.LoadMapValue(asm.R5, 0, ring.StacksNodes).WithReference(n.c.UserStacks.Name))
	n.emit(asm.Add.Reg(asm.R5, asm.R2))
	n.emit(asm.LoadMem(asm.R0, asm.R5, 0, asm.DWord))
}

// finish leaves the stack with its address space in r0.
func (n *interned) finish(done label) {
	n.bind(n.end)
	for _, off := range []int16{internNode, internSpace} {
		n.emit(asm.LoadMem(asm.R1, asm.R10, n.own+off, asm.DWord))
		n.emit(asm.Or.Reg(asm.R0, asm.R1))
	}
	n.bind(done)
	n.rare(func() {
		for e, l := range n.ends {
			n.bind(l)
			if unwind.End(e) == unwind.Unknown {
				n.again()
			}
			n.movImm(asm.R0, ring.StackKnown+int64(e)*ring.StackEnd)
			n.jump(n.end)
		}
		n.bind(n.full)
		n.emit(asm.LoadMapValue(asm.R1, 0, 0).WithReference(n.c.UserStacks.Name))
		n.movImm(asm.R0, 1)
		n.emit(asm.AddAtomic.Mem(asm.R1, asm.R0, asm.DWord, 0))
		n.movImm(asm.R0, 0)
		n.jump(done)
	})
}
