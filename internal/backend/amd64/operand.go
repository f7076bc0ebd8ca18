package amd64

import (
	"github.com/jalon-trace/jalon/internal/ir"
)

// operands finds where values are at an instruction, and brings them into registers.
type operands struct {
	*planner
	*emitter
	*pool
	*stubs
	*saver
}

// stubs is code out of line, emitted after all blocks.
type stubs struct {
	*emitter
	*pool
	deferred []func()
	checked  map[ir.Value]bool // pointers known not to point to the null page
	blockLab []label
	endLab   label
}

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
func (po *pool) physical(it item) bool {
	return !po.plan.in[po.cur].has(it) && po.info.first[po.cur][it] > po.pos
}

// val returns v as an operand for an operation of width w: a register, memory
// (a slot, or a folded load) or an immediate that fits.
func (od *operands) val(v ir.Value, w uint8) opd {
	in := od.an.instr(v)
	if in != nil && od.an.folded[v] {
		if in.Op != ir.Load {
			panic("BUG: amd64: folded value used as operand")
		}
		return od.loadOpd(in)
	}
	if in != nil && od.an.remat(v) {
		return od.rematOpd(in, w)
	}
	switch l := od.al.loc[v]; l.kind {
	case locReg:
		return regOpd(l.r)
	case locSpill:
		return memOpd(od.spillSlot(l.slot))
	}
	panic("BUG: amd64: value without a place")
}

func (od *operands) rematOpd(in *ir.Instr, w uint8) opd {
	if in.Op == ir.Const {
		k := in.Imm
		if w != 8 {
			k = int64(int32(k))
		}
		if k == int64(int32(k)) {
			return immOpd(k)
		}
		return regOpd(od.constReg(k))
	}
	switch {
	case in.Imm == ir.RegPC:
		if pc := int64(od.cfg.PC); pc == int64(int32(pc)) {
			od.a.own = true
			return immOpd(pc)
		}
		return regOpd(od.addrReg(address{od.cfg.PC, ofPC}))
	case in.Imm == ir.RegFlags:
		od.clobber(itemFlags)
		return memOpd(od.slot(itemFlags))
	}
	r := dwarfGPR[in.Imm]
	if r == RSP {
		if !od.framed() {
			return regOpd(RSP)
		}
		s := od.scratch()
		od.lea(8, s, at(RSP, od.plan.frame))
		return regOpd(s)
	}
	if od.physical(item(r)) {
		return regOpd(r)
	}
	return od.saved(item(r))
}

// saved is where the program's value of a register is after it was saved.
func (od *operands) saved(it item) opd {
	if r, ok := od.saveIn[it]; ok {
		return regOpd(r)
	}
	od.needFrame()
	return memOpd(od.slot(it))
}

func (od *operands) constReg(k int64) Reg {
	s := od.scratch()
	od.movImm(s, k)
	return s
}

// reg returns v in a register: its own, or a scratch one that holds a copy.
func (od *operands) reg(v ir.Value, w uint8) Reg {
	o := od.val(v, w)
	if o.kind == opdReg {
		return o.r
	}
	s := od.scratch()
	od.move(s, w, o)
	return s
}

// regm is val without immediates.
func (od *operands) regm(v ir.Value, w uint8) opd {
	o := od.val(v, w)
	if o.kind == opdImm {
		return regOpd(od.constReg(o.imm))
	}
	return o
}

// move loads an operand into r.
func (od *operands) move(r Reg, w uint8, o opd) {
	switch o.kind {
	case opdImm:
		if w == 4 {
			od.movImm(r, int64(uint32(o.imm)))
			return
		}
		od.movImm(r, o.imm)
	case opdMem:
		od.rmo(iMOV, w, r, o)
	default:
		// A register is moved whole unless the caller needs the upper half cleared.
		if o.r != r || w == 4 {
			od.rmo(iMOV, w, r, o)
		}
	}
}

// moveAny loads an operand into r if the upper half is irrelevant.
func (od *operands) moveAny(r Reg, w uint8, o opd) {
	if o.isReg(r) {
		return
	}
	od.move(r, w, o)
}

// dst returns the register to compute v in; setDst stores it when v is spilled.
func (od *operands) dst(v ir.Value) Reg {
	if l := od.al.loc[v]; l.kind == locReg {
		return l.r
	}
	return od.scratch()
}

func (od *operands) setDst(v ir.Value, r Reg) {
	if l := od.al.loc[v]; l.kind == locSpill {
		od.mr(iMOV, 8, rmMem(od.spillSlot(l.slot)), r)
	}
}

// later emits out of line, after all blocks, with the state of the current instruction.
func (st *stubs) later(f func()) {
	cur, pos, busy := st.cur, st.pos, st.busy
	st.deferred = append(st.deferred, func() {
		st.cur, st.pos, st.busy, st.edgeTo = cur, pos, busy, ir.NoBlock
		st.checked = map[ir.Value]bool{}
		st.a.sec = secCold
		f()
	})
}

// extend loads the low w bytes of o into d, extended to 64 bits.
func (od *operands) extend(d Reg, w uint8, signed bool, o opd) {
	switch {
	case w == 8:
		od.rmo(iMOV, 8, d, o)
	case w == 4 && signed:
		od.rmo(iMOVSL, 8, d, o)
	case w == 4:
		od.rmo(iMOV, 4, d, o)
	case w == 2 && signed:
		od.rmo(iMOVSW, 8, d, o)
	case w == 2:
		od.rmo(iMOVZW, 4, d, o)
	case signed:
		od.rmo(iMOVSB, 8, d, o)
	default:
		od.rmo(iMOVZB, 4, d, o)
	}
}
