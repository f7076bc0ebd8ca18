package amd64

import "github.com/jalon-trace/jalon/internal/ir"

// Every instruction goes out through these functions, which record what it destroys.

// clobber records that the program's value of it is destroyed here.
func (g *gen) clobber(it item) {
	if g.edgeTo != ir.NoBlock {
		g.act.edge[g.edgeTo].add(it)
		return
	}
	if p := &g.act.first[g.cur][it]; g.pos < *p {
		*p = g.pos
	}
}

// effects records what an instruction destroys; dst is the register it writes.
func (g *gen) effects(op insnOp, dst Reg, xmm bool) {
	fl := insns[op].flags
	if fl&fFlags != 0 {
		g.clobber(itemFlags)
	}
	if fl&fMXCSR != 0 {
		g.clobber(itemMXCSR)
	}
	if fl&fNoDst == 0 && fl&fRead == 0 && dst != NoReg {
		if xmm {
			g.clobber(itemXMM + item(dst))
		} else if dst != RSP {
			g.clobber(item(dst))
		}
	}
}

// guard lists the next instruction as one that may fault.
func (g *gen) guard(fix label) {
	if fix != noLabel {
		g.a.faults = append(g.a.faults, faultPoint{g.a.here(), fix})
	}
}

// rmo emits reg <- op operand.
func (g *gen) rmo(op insnOp, w uint8, dst Reg, o opd) {
	g.effects(op, dst, insns[op].flags&fXReg != 0)
	if o.kind == opdImm {
		g.a.mi(op, w, rmReg(dst), o.imm)
		return
	}
	g.guard(o.fix)
	g.a.rm(op, w, dst, o.rm(), 0)
}

func (g *gen) lea(w uint8, dst Reg, m mem) {
	g.clobber(item(dst))
	g.a.rm(iLEA, w, dst, rmMem(m), 0)
}

func (g *gen) mr(op insnOp, w uint8, rm rmOp, src Reg) {
	dst := rm.r
	if rm.isMem {
		dst = NoReg
	}
	g.effects(op, dst, insns[op].flags&fXRM != 0)
	g.a.mr(op, w, rm, src)
}

func (g *gen) mi(op insnOp, w uint8, rm rmOp, imm int64) {
	dst := rm.r
	if rm.isMem {
		dst = NoReg
	}
	g.effects(op, dst, false)
	g.a.mi(op, w, rm, imm)
}

// mio is mi on an operand that may be a guarded load.
func (g *gen) mio(op insnOp, w uint8, o opd, imm int64) {
	if o.kind == opdMem {
		g.effects(op, NoReg, false)
		g.guard(o.fix)
		g.a.mi(op, w, o.rm(), imm)
		return
	}
	g.mi(op, w, o.rm(), imm)
}

// setcc sets the low byte of r.
func (g *gen) setcc(c cc, r Reg) {
	g.clobber(item(r))
	g.a.m(iSET, 1, rmReg(r), c)
}

func (g *gen) m(op insnOp, w uint8, o opd) {
	dst := o.r
	if o.kind == opdMem {
		dst = NoReg
	}
	g.effects(op, dst, false)
	g.guard(o.fix)
	g.a.m(op, w, o.rm(), 0)
}

func (g *gen) movImm(r Reg, k int64) {
	g.clobber(item(r))
	g.a.movImm(r, k)
}

func (g *gen) zero(r Reg) { g.mr(iXOR, 4, rmReg(r), r) }
