package amd64

import "github.com/jalon-trace/jalon/internal/ir"

// moves does several moves at once.
type moves struct {
	*planner
	*emitter
	*pool
	*stubs
	*operands
	*vectors
}

// move is one parameter to be set: to its register or spill slot.
type pmove struct {
	v    ir.Value // source
	dst  loc
	xmm  bool
	wide uint8
}

// source is what a pending move reads.
type source struct {
	pmove
	r     Reg  // register source
	isReg bool // else computed from constants or memory when it is done
}

func (mo *moves) parallel(moves []pmove) {
	var pend []source
	for _, m := range moves {
		pend = append(pend, mo.sourceOf(m))
	}
	for len(pend) > 0 {
		i := mo.readyMove(pend)
		if i < 0 {
			mo.breakCycle(pend)
			continue
		}
		mo.emitMove(pend[i])
		pend = append(pend[:i], pend[i+1:]...)
	}
}

// sourceOf finds out whether a move reads a register.
func (mo *moves) sourceOf(m pmove) source {
	s := source{pmove: m}
	in := mo.an.instr(m.v)
	switch {
	case in != nil && mo.an.remat(m.v):
		switch {
		case in.Op == ir.Reg && in.Imm < 16 && dwarfGPR[in.Imm] != RSP:
			r := dwarfGPR[in.Imm]
			if sv, ok := mo.saveIn[item(r)]; ok && !mo.physical(item(r)) {
				s.r, s.isReg = sv, true
			} else if mo.physical(item(r)) {
				s.r, s.isReg = r, true
			}
		case in.Op == ir.FReg && mo.physical(itemXMM+item(in.Imm)):
			s.r, s.isReg = Reg(in.Imm), true
		}
	case mo.al.loc[m.v].kind == locReg:
		s.r, s.isReg = mo.al.loc[m.v].r, true
	}
	return s
}

// readyMove returns a move whose target no other pending move reads; moves that
// read no register come last, when every register source has been read.
func (mo *moves) readyMove(pend []source) int {
	best := -1
	for i, m := range pend {
		if m.dst.kind == locReg && readBy(pend, i, m.dst.r, m.xmm) {
			continue
		}
		if m.isReg {
			return i
		}
		if best < 0 {
			best = i
		}
	}
	if best >= 0 {
		for _, m := range pend {
			if m.isReg {
				return -1 // a cycle is left: break it first
			}
		}
	}
	return best
}

func readBy(pend []source, except int, r Reg, xmm bool) bool {
	for j, o := range pend {
		if j != except && o.isReg && o.r == r && o.xmm == xmm {
			return true
		}
	}
	return false
}

// breakCycle exchanges the two registers of one pending move.
func (mo *moves) breakCycle(pend []source) {
	k := 0
	for !(pend[k].isReg && pend[k].dst.kind == locReg && pend[k].dst.r != pend[k].r) {
		k++
	}
	d, s, xmm := pend[k].dst.r, pend[k].r, pend[k].xmm
	if xmm {
		for _, x := range [3][2]Reg{{d, s}, {s, d}, {d, s}} {
			mo.rmo(iXORPS, 4, x[0], regOpd(x[1]))
		}
	} else {
		mo.mr(iXCHG, 8, rmReg(d), s)
		mo.clobber(item(s))
	}
	for j := range pend {
		if !pend[j].isReg || pend[j].xmm != xmm {
			continue
		}
		switch pend[j].r {
		case d:
			pend[j].r = s
		case s:
			pend[j].r = d
		}
	}
}

func (mo *moves) emitMove(m source) {
	if m.isReg && m.dst.kind == locReg && m.r == m.dst.r {
		return
	}
	if m.xmm {
		mo.emitMoveX(m)
		return
	}
	if m.dst.kind == locSpill {
		r := m.r
		if !m.isReg {
			r = mo.reg(m.v, 8)
			mo.release(r)
		}
		mo.mr(iMOV, 8, rmMem(mo.spillSlot(m.dst.slot)), r)
		return
	}
	if m.isReg {
		mo.rmo(iMOV, 8, m.dst.r, regOpd(m.r))
		return
	}
	mo.move(m.dst.r, 8, mo.val(m.v, 8))
}

func (mo *moves) emitMoveX(m source) {
	op := fmov(m.wide)
	if m.dst.kind == locSpill {
		r := m.r
		if !m.isReg {
			r = mo.xreg(m.v, m.wide)
		}
		mo.mr(op, 4, rmMem(mo.spillSlot(m.dst.slot)), r)
		return
	}
	if m.isReg {
		mo.rmo(iMOVAPS, 4, m.dst.r, regOpd(m.r))
		return
	}
	mo.moveX(m.dst.r, m.wide, mo.xval(m.v, m.wide))
}
