package amd64

import (
	"github.com/jalon-trace/jalon/internal/arch"
	x86 "github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/ir"
)

func init() { lower[ir.Reg] = (*gen).lowerBase }

func (g *gen) lowerBase(in *ir.Instr) {
	d := g.dst(in.Dst)
	if in.Imm == int64(x86.InUse) {
		g.inUse(d)
		g.setDst(in.Dst, d)
		return
	}
	if op, ok := selectors[arch.Reg(in.Imm)]; ok {
		g.m(op, 4, regOpd(d))
	} else if in.Imm == int64(x86.DwarfGSBase) {
		g.m(iRDGSBASE, 8, regOpd(d))
	} else {
		g.threadPointer(d)
	}
	g.setDst(in.Dst, d)
}

// inUse: the other bits of what xgetbv gives may change at any time, as that of pkru
// or of a part that a switch of threads finds to be as it was initially.
func (g *gen) inUse(d Reg) {
	for _, r := range []Reg{RAX, RCX, RDX} {
		g.take(r)
		g.clobber(item(r))
	}
	g.movImm(RCX, 1)
	g.a.plain(iXGETBV)
	g.mi(iAND, 4, rmReg(RAX), x86.InUseX87|x86.InUseAVX)
	if d != RAX {
		g.rmo(iMOV, 4, d, regOpd(RAX))
	}
}

// selectors read the selectors of segments.
var selectors = map[arch.Reg]insnOp{x86.DwarfES: iMOVES, x86.DwarfDS: iMOVDS, x86.DwarfFS: iMOVFS, x86.DwarfGS: iMOVGS}

// threadPointer reads fs_base. Without rdfsbase it is the word at fs:0, by the
// x86-64 TLS ABI; a thread without one gives 0.
func (g *gen) threadPointer(d Reg) {
	if g.cfg.Layout.FSGSBASE {
		g.m(iRDFSBASE, 8, regOpd(d))
		return
	}
	g.fsLoad(8, d, 0)
}

// fsLoad loads fs:off; when it cannot be read d is 0: a faulting load leaves its
// target as it was, and goes on behind itself.
func (g *gen) fsLoad(w uint8, d Reg, off int32) {
	g.movImm(d, 0)
	after := g.a.newLabel()
	m := at(NoReg, off)
	m.seg = 0x64
	o := memOpd(m)
	o.fix = after
	g.rmo(iMOV, w, d, o)
	g.a.bind(after)
}
