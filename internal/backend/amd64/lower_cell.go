package amd64

import (
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/maps"
)

func init() {
	lower[ir.MapAdd] = lowerMapAdd
	lower[ir.MapCount] = lowerMapCount
	lower[ir.MapMax] = lowerMapMax
}

// onCell emits a change of a cell of this CPU: in a restartable sequence, whose last instruction is that of plain,
// or, out of line, with a lock. Both get the address of the cell without the operand's word.
func onCell(g *gen, in *ir.Instr, slot Reg, plain, locked func(cell mem)) {
	tab := &g.cfg.Maps[in.Aux]
	stride := tab.SetStride()
	off := int32(tab.CellsAt() - maps.HeaderSize)
	lockedOff := off + int32(uint64(tab.Sets/2)*stride)
	withLock := func(s Reg) {
		g.cpuOffset(s, stride)
		locked(atIdx(slot, s, 1, lockedOff))
	}
	s := g.scratch()
	defer g.release(s)
	if !g.restartable() {
		withLock(s)
		return
	}
	other, gone, done := g.a.newLabel(), g.a.newLabel(), g.a.newLabel()
	g.checkRegistered(s, other)
	q := g.enter(s)
	g.thisCPU(s, stride, gone)
	plain(atIdx(slot, s, 1, off))
	g.leaveBy(q, s)
	g.a.bind(done)
	g.later(func() {
		g.a.comment("; with lock")
		g.aborted(q)
		g.a.bind(other)
		withLock(s)
		g.a.jmp(done)
		g.unregistered(gone, other)
	})
}

// lowerMapAdd adds to a word of a value, without cells with a lock.
func lowerMapAdd(g *gen, in *ir.Instr) {
	var v opd
	g.ofSlot(in, func(Reg) {
		if v = g.val(in.B, 8); v.kind == opdMem {
			v = regOpd(g.reg(in.B, 8))
		}
	}, func(s Reg) {
		if !g.an.p.Maps[in.Aux].Cells {
			lockedAdd(g, g.word(in, s), v)
			return
		}
		word := int32(8 * in.Imm)
		onCell(g, in, s, func(cell mem) {
			if v.kind == opdImm {
				g.mi(iADD, 8, rmMem(cell.plus(word)), v.imm)
				return
			}
			g.mr(iADD, 8, rmMem(cell.plus(word)), v.r)
		}, func(cell mem) { lockedAdd(g, cell.plus(word), v) })
	})
}

func lockedAdd(g *gen, m mem, v opd) {
	switch {
	case v.kind == opdImm && v.imm == 1:
		g.m(iLOCKINC, 8, memOpd(m))
	case v.kind == opdImm:
		s := g.constReg(v.imm)
		g.mr(iLOCKADD, 8, rmMem(m), s)
		g.release(s)
	default:
		g.mr(iLOCKADD, 8, rmMem(m), v.r)
	}
}

// lowerMapCount adds 1 to a word by its number, if there is such a word.
func lowerMapCount(g *gen, in *ir.Instr) {
	var word Reg
	g.ofSlot(in, func(Reg) { word = g.reg(in.B, 8) }, func(s Reg) {
		none := g.a.newLabel()
		g.mi(iCMP, 8, rmReg(word), int64(g.cfg.Maps[in.Aux].Words))
		g.a.jcc(ccAE, none)
		of := g.scratch()
		defer g.release(of)
		g.lea(8, of, atIdx(s, word, 8, 0))
		onCell(g, in, of, func(cell mem) { g.mi(iADD, 8, rmMem(cell), 1) }, func(cell mem) { g.m(iLOCKINC, 8, memOpd(cell)) })
		g.a.bind(none)
	})
}

// lowerMapMax raises a word.
func lowerMapMax(g *gen, in *ir.Instr) {
	g.take(RAX)
	g.clobber(item(RAX))
	var v Reg
	g.ofSlot(in, func(Reg) { v = g.reg(in.B, 8) }, func(s Reg) {
		word := int32(8 * in.Imm)
		onCell(g, in, s, func(cell mem) {
			less := g.a.newLabel()
			g.rmo(iCMP, 8, v, memOpd(cell.plus(word)))
			g.a.jcc(ccBE, less)
			g.mr(iMOV, 8, rmMem(cell.plus(word)), v)
			g.a.bind(less)
		}, func(cell mem) {
			again, less := g.a.newLabel(), g.a.newLabel()
			g.rmo(iMOV, 8, RAX, memOpd(cell.plus(word)))
			g.a.bind(again)
			g.rmo(iCMP, 8, v, regOpd(RAX))
			g.a.jcc(ccBE, less)
			g.mr(iCMPXCHG, 8, rmMem(cell.plus(word)), v)
			g.a.jcc(ccNE, again)
			g.a.bind(less)
		})
	})
}
