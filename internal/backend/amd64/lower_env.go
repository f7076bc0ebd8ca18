package amd64

import (
	"strconv"

	"github.com/jalon-trace/jalon/internal/arch"
	x86 "github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/ir"
)

// surroundings reads what a program finds beside its operands: the thread pointer, selectors.
type surroundings struct {
	*planner
	*emitter
	*pool
	*stubs
	*operands
}

func init() {
	lower[ir.Reg] = (*gen).lowerBase
	lower[ir.Env] = (*gen).lowerEnv
}

// lowerEnv gives the words of the environment that code in a process has.
func (g *gen) lowerEnv(in *ir.Instr) {
	d := g.dst(in.Dst)
	switch in.Imm {
	case ir.EnvCPU:
		g.cpuOffset(d, 1)
	case ir.EnvSite:
		g.mi(iMOV, 4, rmReg(d), int64(g.cfg.Layout.SiteID))
		g.a.siteID()
	default:
		panic("BUG: env " + strconv.FormatInt(in.Imm, 10) + " in a process")
	}
	g.setDst(in.Dst, d)
}

func (su *surroundings) lowerBase(in *ir.Instr) {
	d := su.dst(in.Dst)
	if in.Imm == int64(x86.InUse) {
		su.inUse(d)
		su.setDst(in.Dst, d)
		return
	}
	if op, ok := selectors[arch.Reg(in.Imm)]; ok {
		su.m(op, 4, regOpd(d))
	} else if in.Imm == int64(x86.DwarfGSBase) {
		su.m(iRDGSBASE, 8, regOpd(d))
	} else {
		su.threadPointer(d)
	}
	su.setDst(in.Dst, d)
}

// inUse: the other bits of what xgetbv gives may change at any time, as that of pkru
// or of a part that a switch of threads finds to be as it was initially.
func (su *surroundings) inUse(d Reg) {
	for _, r := range []Reg{RAX, RCX, RDX} {
		su.take(r)
		su.clobber(item(r))
	}
	su.movImm(RCX, 1)
	su.a.plain(iXGETBV)
	su.mi(iAND, 4, rmReg(RAX), x86.InUseX87|x86.InUseAVX)
	if d != RAX {
		su.rmo(iMOV, 4, d, regOpd(RAX))
	}
}

// selectors read the selectors of segments.
var selectors = map[arch.Reg]insnOp{x86.DwarfES: iMOVES, x86.DwarfDS: iMOVDS, x86.DwarfFS: iMOVFS, x86.DwarfGS: iMOVGS}

// threadPointer reads fs_base. Without rdfsbase it is the word at fs:0, by the
// x86-64 TLS ABI; a thread without one gives 0.
func (su *surroundings) threadPointer(d Reg) {
	if su.cfg.Layout.FSGSBASE {
		su.m(iRDFSBASE, 8, regOpd(d))
		return
	}
	su.fsLoad(8, d, 0)
}

// fsLoad loads fs:off; if it cannot be read, d is 0: a faulting load leaves its target unchanged, and
// continues after itself.
func (su *surroundings) fsLoad(w uint8, d Reg, off int32) {
	su.movImm(d, 0)
	after := su.a.newLabel()
	m := at(NoReg, off)
	m.seg = 0x64
	o := memOpd(m)
	o.fix = after
	su.rmo(iMOV, w, d, o)
	su.a.bind(after)
}
