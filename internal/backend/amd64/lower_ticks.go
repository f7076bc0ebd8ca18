package amd64

import "github.com/jalon-trace/jalon/internal/ir"

func init() { lower[ir.Ticks] = (*gen).lowerTicks }

// lowerTicks reads the time stamp counter, which a thread may be forbidden: see Code.Clocks.
func (g *gen) lowerTicks(in *ir.Instr) {
	d := g.dst(in.Dst)
	for _, r := range []Reg{RAX, RDX} {
		g.take(r)
		g.clobber(item(r))
	}
	g.a.clocks = append(g.a.clocks, g.a.here())
	g.a.plain(iRDTSC)
	g.mi(iSHL, 8, rmReg(RDX), 32)
	g.rmo(iOR, 8, RAX, regOpd(RDX))
	g.moveAny(d, 8, regOpd(RAX))
	g.setDst(in.Dst, d)
}
