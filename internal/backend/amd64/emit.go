package amd64

import "github.com/jalon-trace/jalon/internal/ir"

// emitter emits instructions, and notes what they destroy, and where.
type emitter struct {
	a   *asm
	act *info // what the code was found to destroy

	// The instruction being emitted.
	cur    ir.BlockID
	pos    int32
	edgeTo ir.BlockID // NoBlock: not on an edge
}

// Every instruction goes out through these functions, which record what it destroys.

// clobber records that the program's value of it is destroyed here.
func (em *emitter) clobber(it item) {
	if em.edgeTo != ir.NoBlock {
		em.act.edge[em.edgeTo].add(it)
		return
	}
	if p := &em.act.first[em.cur][it]; em.pos < *p {
		*p = em.pos
	}
}

// effects records what an instruction destroys; dst is the register it writes.
func (em *emitter) effects(op insnOp, dst Reg, xmm bool) {
	fl := insns[op].flags
	if fl&fFlags != 0 {
		em.clobber(itemFlags)
	}
	if fl&fMXCSR != 0 {
		em.clobber(itemMXCSR)
	}
	if fl&fNoDst == 0 && fl&fRead == 0 && dst != NoReg {
		if xmm {
			em.clobber(itemXMM + item(dst))
		} else if dst != RSP {
			em.clobber(item(dst))
		}
	}
}

// guard lists the next instruction as one that may fault.
func (em *emitter) guard(fix label) {
	if fix != noLabel {
		em.a.faults = append(em.a.faults, faultPoint{em.a.here(), fix})
	}
}

// rmo emits reg <- op operand.
func (em *emitter) rmo(op insnOp, w uint8, dst Reg, o opd) {
	em.effects(op, dst, insns[op].flags&fXReg != 0)
	if o.kind == opdImm {
		em.a.mi(op, w, rmReg(dst), o.imm)
		return
	}
	em.guard(o.fix)
	em.a.rm(op, w, dst, o.rm(), 0)
}

func (em *emitter) lea(w uint8, dst Reg, m mem) {
	em.clobber(item(dst))
	em.a.rm(iLEA, w, dst, rmMem(m), 0)
}

func (em *emitter) mr(op insnOp, w uint8, rm rmOp, src Reg) {
	dst := rm.r
	if rm.isMem {
		dst = NoReg
	}
	em.effects(op, dst, insns[op].flags&fXRM != 0)
	em.a.mr(op, w, rm, src)
}

func (em *emitter) mi(op insnOp, w uint8, rm rmOp, imm int64) {
	dst := rm.r
	if rm.isMem {
		dst = NoReg
	}
	em.effects(op, dst, false)
	em.a.mi(op, w, rm, imm)
}

// mio is mi on an operand that may be a guarded load.
func (em *emitter) mio(op insnOp, w uint8, o opd, imm int64) {
	if o.kind == opdMem {
		em.effects(op, NoReg, false)
		em.guard(o.fix)
		em.a.mi(op, w, o.rm(), imm)
		return
	}
	em.mi(op, w, o.rm(), imm)
}

// setcc sets the low byte of r.
func (em *emitter) setcc(c cc, r Reg) {
	em.clobber(item(r))
	em.a.m(iSET, 1, rmReg(r), c)
}

func (em *emitter) m(op insnOp, w uint8, o opd) {
	dst := o.r
	if o.kind == opdMem {
		dst = NoReg
	}
	em.effects(op, dst, false)
	em.guard(o.fix)
	em.a.m(op, w, o.rm(), 0)
}

func (em *emitter) movImm(r Reg, k int64) {
	em.clobber(item(r))
	em.a.movImm(r, k)
}

func (em *emitter) zero(r Reg) { em.mr(iXOR, 4, rmReg(r), r) }
