package ebpf

import (
	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/maps"
)

func init() {
	lower[ir.MapAdd] = mapAdd
	lower[ir.MapCount] = mapCount
	lower[ir.MapMax] = mapMax
}

// onCell reports whether in changes a cell: both operands are needed behind the call that gives the CPU.
func (an *analysis) onCell(in *ir.Instr) bool {
	return in.Op.OnMap() && in.Op.Info().B != ir.NoOperand && in.Op.Info().Result == ir.NoResult && an.p.Maps[in.Aux].Cells
}

// cell makes r1 point to this CPU's cell of a slot, or goes to none. Others interrupt a program on its CPU, or a thread moves to
// another meanwhile: cells are changed with a lock. So CPUs may share a set.
func cell(g *gen, in *ir.Instr, none label) {
	tab := &g.c.Maps[in.Aux]
	g.jumpIfImm(asm.JEq, 8, g.reg(in.A, scratch), 0, none)
	more := g.cpuOffset(uint32(tab.Sets-1), tab.SetStride())
	g.tablePointer(asm.R1, in, tab.CellsAt()-maps.HeaderSize)
	if more {
		g.emit(asm.Add.Reg(asm.R1, asm.R0))
	}
	g.emit(asm.Add.Reg(asm.R1, g.reg(in.A, scratch)))
}

func mapAdd(g *gen, in *ir.Instr) {
	if !g.an.onCell(in) {
		g.ofSlot(in, func(slot asm.Register) {
			g.emit(asm.AddAtomic.Mem(slot, g.reg(in.B, scratch), asm.DWord, g.valueAt(in)))
		})
		return
	}
	none := g.newLabel()
	cell(g, in, none)
	g.load(scratch, in.B)
	g.emit(asm.AddAtomic.Mem(asm.R1, scratch, asm.DWord, 8*int16(in.Imm)))
	g.bind(none)
}

func mapCount(g *gen, in *ir.Instr) {
	none := g.newLabel()
	cell(g, in, none)
	g.load(asm.R2, in.B)
	g.jumpIfImm(asm.JGE, 8, asm.R2, int32(g.c.Maps[in.Aux].Words), none)
	g.emit(asm.LSh.Imm(asm.R2, 3))
	g.emit(asm.Add.Reg(asm.R1, asm.R2))
	g.movImm(scratch, 1)
	g.emit(asm.AddAtomic.Mem(asm.R1, scratch, asm.DWord, 0))
	g.bind(none)
}

// mapMax gives up a value that others have changed as often as a Reserve may be interrupted. That is counted.
func mapMax(g *gen, in *ir.Instr) {
	none, off := g.newLabel(), 8*int16(in.Imm)
	cell(g, in, none)
	g.load(asm.R2, in.B)
	g.emit(asm.LoadMem(asm.R0, asm.R1, off, asm.DWord))
	for range tries {
		g.jumpIf(asm.JLE, 8, asm.R2, asm.R0, none)
		g.mov(asm.R3, asm.R0)
		g.emit(compareExchange(asm.R1, asm.R2, off))
		g.jumpIf(asm.JEq, 8, asm.R0, asm.R3, none)
	}
	g.tablePointer(asm.R1, in, maps.Full)
	g.movImm(asm.R0, 1)
	g.emit(asm.AddAtomic.Mem(asm.R1, asm.R0, asm.DWord, 0))
	g.bind(none)
}
