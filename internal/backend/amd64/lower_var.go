package amd64

import "github.com/jalon-trace/jalon/internal/ir"

// variables reads and changes the variables of the session.
type variables struct {
	*planner
	*emitter
	*pool
	*stubs
	*operands
}

func init() {
	lower[ir.GetVar] = (*gen).lowerGetVar
	lower[ir.SetVar] = (*gen).lowerSetVar
	lower[ir.AddVar] = (*gen).lowerAddVar
	lower[ir.FetchAddVar] = (*gen).lowerFetchAddVar
}

// varMem addresses variable n of the session.
func (va *variables) varMem(n int64) mem {
	return va.fixedMem(fixed(va.cfg.Layout.Variables + 8*uint64(n)))
}

func (va *variables) lowerGetVar(in *ir.Instr) {
	d := va.dst(in.Dst)
	va.rmo(iMOV, 8, d, memOpd(va.varMem(in.Imm)))
	va.setDst(in.Dst, d)
}

func (va *variables) lowerSetVar(in *ir.Instr) {
	m := rmMem(va.varMem(in.Imm))
	if o := va.val(in.A, 8); o.kind == opdImm {
		va.mi(iMOV, 8, m, o.imm)
		return
	}
	va.mr(iMOV, 8, m, va.reg(in.A, 8))
}

// lowerAddVar adds with a lock: the variable is every thread's.
func (va *variables) lowerAddVar(in *ir.Instr) {
	r := va.reg(in.A, 8)
	va.mr(iLOCKADD, 8, rmMem(va.varMem(in.Imm)), r)
}

// lowerFetchAddVar adds with a lock and returns the previous value.
func (va *variables) lowerFetchAddVar(in *ir.Instr) {
	d := va.dst(in.Dst)
	m := rmMem(va.varMem(in.Imm))
	va.moveAny(d, 8, va.val(in.A, 8))
	va.clobber(item(d)) // also where A already is in d and no move says so
	va.mr(iLOCKXADD, 8, m, d)
	va.setDst(in.Dst, d)
}
