package amd64

import "github.com/jalon-trace/jalon/internal/ir"

func init() {
	lower[ir.GetVar] = (*gen).lowerGetVar
	lower[ir.SetVar] = (*gen).lowerSetVar
	lower[ir.AddVar] = (*gen).lowerAddVar
	lower[ir.FetchAddVar] = (*gen).lowerFetchAddVar
}

// varMem addresses variable n of the session.
func (g *gen) varMem(n int64) mem { return g.fixedMem(g.cfg.Layout.Variables + 8*uint64(n)) }

func (g *gen) lowerGetVar(in *ir.Instr) {
	d := g.dst(in.Dst)
	g.rmo(iMOV, 8, d, memOpd(g.varMem(in.Imm)))
	g.setDst(in.Dst, d)
}

func (g *gen) lowerSetVar(in *ir.Instr) {
	m := rmMem(g.varMem(in.Imm))
	if o := g.val(in.A, 8); o.kind == opdImm {
		g.mi(iMOV, 8, m, o.imm)
		return
	}
	g.mr(iMOV, 8, m, g.reg(in.A, 8))
}

// lowerAddVar adds with a lock: the variable is every thread's.
func (g *gen) lowerAddVar(in *ir.Instr) {
	r := g.reg(in.A, 8)
	g.mr(iLOCKADD, 8, rmMem(g.varMem(in.Imm)), r)
}

// lowerFetchAddVar adds with a lock and gives what was there before.
func (g *gen) lowerFetchAddVar(in *ir.Instr) {
	d := g.dst(in.Dst)
	m := rmMem(g.varMem(in.Imm))
	g.moveAny(d, 8, g.val(in.A, 8))
	g.mr(iLOCKXADD, 8, m, d)
	g.setDst(in.Dst, d)
}
