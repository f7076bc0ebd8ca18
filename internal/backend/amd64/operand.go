package amd64

import (
	"github.com/jalon-trace/jalon/internal/ir"
)

type opdKind uint8

const (
	opdReg opdKind = iota
	opdMem
	opdImm
)

// opd is an operand of an instruction about to be emitted. fix, when not
// noLabel, is where control goes when the memory operand cannot be read.
type opd struct {
	kind opdKind
	r    Reg
	m    mem
	imm  int64
	fix  label
}

func regOpd(r Reg) opd         { return opd{kind: opdReg, r: r, fix: noLabel} }
func memOpd(m mem) opd         { return opd{kind: opdMem, m: m, fix: noLabel} }
func immOpd(v int64) opd       { return opd{kind: opdImm, imm: v, fix: noLabel} }
func (o opd) isReg(r Reg) bool { return o.kind == opdReg && o.r == r }

func (o opd) uses(r Reg) bool {
	return o.kind == opdReg && o.r == r || o.kind == opdMem && o.m.uses(r)
}

func (o opd) rm() rmOp {
	if o.kind == opdMem {
		return rmMem(o.m)
	}
	if o.kind == opdImm {
		panic("BUG: amd64: immediate as r/m")
	}
	return rmReg(o.r)
}

// physical reports whether item it still holds the program's value at the
// current position.
func (g *gen) physical(it item) bool {
	return !g.plan.in[g.cur].has(it) && g.info.first[g.cur][it] > g.pos
}

// val returns v as an operand for an operation of width w: a register, memory
// (a slot, or a folded load) or an immediate that fits.
func (g *gen) val(v ir.Value, w uint8) opd {
	in := g.an.instr(v)
	if in != nil && g.an.folded[v] {
		if in.Op != ir.Load {
			panic("BUG: amd64: folded value used as operand")
		}
		return g.loadOpd(in)
	}
	if in != nil && g.an.remat(v) {
		return g.rematOpd(in, w)
	}
	switch l := g.al.loc[v]; l.kind {
	case locReg:
		return regOpd(l.r)
	case locSpill:
		return memOpd(g.spillSlot(l.slot))
	}
	panic("BUG: amd64: value without a place")
}

func (g *gen) rematOpd(in *ir.Instr, w uint8) opd {
	if in.Op == ir.Const {
		k := in.Imm
		if w != 8 {
			k = int64(int32(k))
		}
		if k == int64(int32(k)) {
			return immOpd(k)
		}
		return regOpd(g.constReg(k))
	}
	switch {
	case in.Imm == ir.RegPC:
		if pc := int64(g.cfg.PC); pc == int64(int32(pc)) {
			return immOpd(pc)
		}
		return regOpd(g.addrReg(g.cfg.PC))
	case in.Imm == ir.RegFlags:
		g.clobber(itemFlags)
		return memOpd(g.slot(itemFlags))
	}
	r := dwarfGPR[in.Imm]
	if r == RSP {
		if !g.framed() {
			return regOpd(RSP)
		}
		s := g.scratch()
		g.lea(8, s, at(RSP, g.plan.frame))
		return regOpd(s)
	}
	if g.physical(item(r)) {
		return regOpd(r)
	}
	return g.saved(item(r))
}

// saved is where the program's value of a register is after it was saved.
func (g *gen) saved(it item) opd {
	if r, ok := g.saveIn[it]; ok {
		return regOpd(r)
	}
	g.needFrame()
	return memOpd(g.slot(it))
}

func (g *gen) constReg(k int64) Reg {
	s := g.scratch()
	g.movImm(s, k)
	return s
}

// addrReg loads a constant address: rip-relative when near, else in full.
func (g *gen) addrReg(addr uint64) Reg {
	s := g.scratch()
	g.loadAddr(s, addr)
	return s
}

func (g *gen) loadAddr(r Reg, addr uint64) {
	if addr > 1<<32 && g.near(addr) {
		g.lea(8, r, ripTo(addr))
		return
	}
	g.movImm(r, int64(addr))
}

// near reports whether addr is reachable rip-relative from any of our code.
func (g *gen) near(addr uint64) bool {
	const margin = 1 << 24
	d := int64(addr - g.cfg.Addr)
	return d > -(1<<31)+margin && d < (1<<31)-margin
}

// fixedMem is the memory operand for a constant address.
func (g *gen) fixedMem(addr uint64) mem {
	if g.near(addr) {
		return ripTo(addr)
	}
	return at(g.addrReg(addr), 0)
}

// reg returns v in a register: its own, or a scratch one that holds a copy.
func (g *gen) reg(v ir.Value, w uint8) Reg {
	o := g.val(v, w)
	if o.kind == opdReg {
		return o.r
	}
	s := g.scratch()
	g.move(s, w, o)
	return s
}

// regm is val without immediates.
func (g *gen) regm(v ir.Value, w uint8) opd {
	o := g.val(v, w)
	if o.kind == opdImm {
		return regOpd(g.constReg(o.imm))
	}
	return o
}

// move loads an operand into r.
func (g *gen) move(r Reg, w uint8, o opd) {
	switch o.kind {
	case opdImm:
		if w == 4 {
			g.movImm(r, int64(uint32(o.imm)))
			return
		}
		g.movImm(r, o.imm)
	case opdMem:
		g.rmo(iMOV, w, r, o)
	default:
		// A register is moved whole unless the caller needs the upper half cleared.
		if o.r != r || w == 4 {
			g.rmo(iMOV, w, r, o)
		}
	}
}

// moveAny loads an operand into r if the upper half is irrelevant.
func (g *gen) moveAny(r Reg, w uint8, o opd) {
	if o.isReg(r) {
		return
	}
	g.move(r, w, o)
}

// dst returns the register to compute v in; setDst stores it when v is spilled.
func (g *gen) dst(v ir.Value) Reg {
	if l := g.al.loc[v]; l.kind == locReg {
		return l.r
	}
	return g.scratch()
}

func (g *gen) setDst(v ir.Value, r Reg) {
	if l := g.al.loc[v]; l.kind == locSpill {
		g.mr(iMOV, 8, rmMem(g.spillSlot(l.slot)), r)
	}
}

// spillSlot is the memory of a spilled value; the frame must exist here.
func (g *gen) spillSlot(n int) mem {
	g.needFrame()
	return at(RSP, g.plan.spill+8*int32(n))
}

// framed reports whether rsp is lowered at the current instruction.
func (g *gen) framed() bool {
	return g.plan.out[g.cur].has(itemFrame) || g.edgeTo != ir.NoBlock && g.plan.in[g.edgeTo].has(itemFrame)
}

func (g *gen) needFrame() { g.clobber(itemFrame) }

// isRSP reports whether v is the program's rsp.
func (g *gen) isRSP(v ir.Value) bool {
	in := g.an.instr(v)
	return in != nil && in.Op == ir.Reg && in.Imm == 7
}

// base returns v for use in an address: a register and what to add to it.
func (g *gen) base(v ir.Value) (Reg, int32) {
	if g.isRSP(v) {
		if g.framed() {
			return RSP, g.plan.frame
		}
		return RSP, 0
	}
	return g.reg(v, 8), 0
}

// sumMem turns a decomposed sum into a memory operand. rest is an offset too
// large for it.
func (g *gen) sumMem(a amode, rest int64) mem {
	if a.base == ir.None {
		panic("BUG: amd64: sum without base")
	}
	b, add := g.base(a.base)
	disp := int64(a.disp) + int64(add) + rest
	m := at(b, int32(disp))
	if disp != int64(int32(disp)) {
		s := g.constReg(disp)
		g.rmo(iADD, 8, s, regOpd(b))
		m = at(s, 0)
	}
	if a.index != ir.None {
		m.index, m.scale = g.indexReg(a.index, 8), a.scale
		if m.index == RSP {
			m.base, m.index = RSP, m.base
		}
	}
	return m
}

// indexReg is reg for an index, which rsp cannot be. (A load that is folded is read
// in its own width: w.)
func (g *gen) indexReg(v ir.Value, w uint8) Reg {
	r := g.reg(v, w)
	if r != RSP {
		return r
	}
	s := g.scratch()
	g.rmo(iMOV, 8, s, regOpd(RSP))
	return s
}

// loadOpd is the memory operand of a load, with its null test and fault edge.
func (g *gen) loadOpd(in *ir.Instr) opd {
	a := g.an.modes[in]
	rest := int64(0)
	if in.Imm != int64(int32(in.Imm)) {
		rest = in.Imm
	}
	m := g.sumMem(a, rest)
	o := memOpd(m)
	if in.Fault != ir.NoBlock {
		o.fix = g.faultEdge(in.Fault, m)
		if a.index == ir.None && rest == 0 && a.disp >= 0 && a.disp < 4096 {
			g.nullTest(a.base, m.base, o.fix)
		}
	}
	return o
}

// nullTest leaves to fix when the pointer v, in register r, points to the null
// page. It is only an economy (a trap is slow), so it is left out where the flags
// would have to be saved for it, and where v was tested before.
func (g *gen) nullTest(v ir.Value, r Reg, fix label) {
	if r == RSP || g.checked[v] || g.savable.has(itemFlags) && !g.plan.out[g.cur].has(itemFlags) {
		return
	}
	g.checked[v] = true
	g.mi(iCMP, 8, rmReg(r), 4095)
	g.a.jcc(ccBE, fix)
}
