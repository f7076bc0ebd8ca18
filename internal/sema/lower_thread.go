package sema

import (
	"math"

	"github.com/jalon-trace/jalon/internal/ir"
)

// The thread in a key of a map that both engines use (Map.Both).

// unlisted is an address that no program can read, in the half of the kernel.
const unlisted = math.MinInt64 >> 16

// threadNumber emits the number of the thread at a hit in a process, from the table of ThreadNumbers. A thread that is not listed there makes a load that
// cannot be made: so it comes to the tracer, which lists it, and looks again.
func threadNumber(vs *values) ir.Value {
	b := vs.b
	m := ThreadNumbers()
	table, pointer, zero := vs.tableOf(m), vs.reg(ir.RegThread), b.Const(0)
	number := b.NewBlock("number of the thread", ir.I64)
	look := func(missing ir.BlockID) {
		slot := b.Def(ir.I64, ir.Instr{Op: ir.MapFind, Aux: table, A: pointer, B: zero, Fault: ir.NoBlock})
		listed := b.NewBlock("listed")
		b.BranchTo(b.Def(ir.I64, ir.Instr{Op: ir.MapHas, Aux: table, A: slot, B: ir.None, Fault: ir.NoBlock}), ir.Edge{To: listed}, ir.Edge{To: missing}, false)
		b.Start(listed)
		b.Jump(number, b.Def(ir.I64, ir.Instr{Op: ir.MapGet, Aux: table, A: slot, B: ir.None, Fault: ir.NoBlock}))
	}
	ask, again := b.NewBlock("not listed"), b.NewBlock("perhaps listed now", ir.I64)
	look(ask)
	b.Start(ask)
	b.Jump(number, b.Load(8, false, b.Const(unlisted), 0, again))
	b.Start(again)
	look(vs.traps.at(vs.emitter, trapNoThread))
	b.Start(number)
	return b.Param(number, 0)
}
