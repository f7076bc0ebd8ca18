package ebpf

import (
	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/ir"
)

// variables reads and changes the variables of the session.
type variables struct {
	*planner
	*emitter
	*stubs
	*operands
}

func init() {
	lower[ir.GetVar] = (*gen).getVar
	lower[ir.SetVar] = (*gen).setVar
	lower[ir.AddVar] = (*gen).addVar
	lower[ir.FetchAddVar] = (*gen).fetchAddVar
}

// variable makes d point to variable n of the session.
func (va *variables) variable(d asm.Register, n int64) {
	va.mapPointer(d, va.c.Layout.Variables+8*uint64(n))
}

func (va *variables) getVar(in *ir.Instr) {
	d := va.dest(in.Dst)
	va.variable(d, in.Imm)
	va.emit(asm.LoadMem(d, d, 0, asm.DWord))
	va.store(in.Dst, d)
}

func (va *variables) setVar(in *ir.Instr) {
	if k, ok := va.small(in.A, 8); ok {
		va.variable(scratch, in.Imm)
		va.storeImm(scratch, 0, 8, int64(k))
		return
	}
	va.emit(asm.StoreMem(scratch, 0, va.beside(in), asm.DWord))
}

// addVar adds indivisibly: the variable is every CPU's.
func (va *variables) addVar(in *ir.Instr) {
	va.emit(asm.AddAtomic.Mem(scratch, va.beside(in), asm.DWord, 0))
}

// fetchAddVar adds atomically and returns the previous value (Linux 5.12).
func (va *variables) fetchAddVar(in *ir.Instr) {
	d := va.dest(in.Dst)
	if d == scratch {
		d = va.extra()
	}
	va.load(d, in.A)
	va.variable(scratch, in.Imm)
	add := asm.FetchAdd.Mem(scratch, d, asm.DWord, 0)
	add.Constant = int64(asm.FetchAdd >> 8) // see compareExchange
	va.emit(add)
	va.store(in.Dst, d)
}

// beside gives a register that holds A while the scratch register points to the
// variable of in.
func (va *variables) beside(in *ir.Instr) asm.Register {
	tmp := scratch
	if va.at(in.A).kind != locReg {
		tmp = va.extra()
	}
	r := va.reg(in.A, tmp)
	va.variable(scratch, in.Imm)
	return r
}
