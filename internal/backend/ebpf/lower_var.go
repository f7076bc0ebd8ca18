package ebpf

import (
	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/ir"
)

func init() {
	lower[ir.GetVar] = (*gen).getVar
	lower[ir.SetVar] = (*gen).setVar
	lower[ir.AddVar] = (*gen).addVar
	lower[ir.FetchAddVar] = (*gen).fetchAddVar
}

// variable makes d point to variable n of the session.
func (g *gen) variable(d asm.Register, n int64) {
	g.mapPointer(d, g.c.Layout.Variables+8*uint64(n))
}

func (g *gen) getVar(in *ir.Instr) {
	d := g.dest(in.Dst)
	g.variable(d, in.Imm)
	g.emit(asm.LoadMem(d, d, 0, asm.DWord))
	g.store(in.Dst, d)
}

func (g *gen) setVar(in *ir.Instr) {
	if k, ok := g.small(in.A, 8); ok {
		g.variable(scratch, in.Imm)
		g.storeImm(scratch, 0, 8, int64(k))
		return
	}
	g.emit(asm.StoreMem(scratch, 0, g.beside(in), asm.DWord))
}

// addVar adds indivisibly: the variable is every CPU's.
func (g *gen) addVar(in *ir.Instr) {
	g.emit(asm.AddAtomic.Mem(scratch, g.beside(in), asm.DWord, 0))
}

// fetchAddVar adds indivisibly and gives what was there before (Linux 5.12).
func (g *gen) fetchAddVar(in *ir.Instr) {
	d := g.dest(in.Dst)
	if d == scratch {
		d = g.extra()
	}
	g.load(d, in.A)
	g.variable(scratch, in.Imm)
	add := asm.FetchAdd.Mem(scratch, d, asm.DWord, 0)
	add.Constant = int64(asm.FetchAdd >> 8) // see compareExchange
	g.emit(add)
	g.store(in.Dst, d)
}

// beside gives a register that holds A while the scratch register points to the
// variable of in.
func (g *gen) beside(in *ir.Instr) asm.Register {
	tmp := scratch
	if g.at(in.A).kind != locReg {
		tmp = g.extra()
	}
	r := g.reg(in.A, tmp)
	g.variable(scratch, in.Imm)
	return r
}
