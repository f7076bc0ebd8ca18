package amd64

import (
	x86 "github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ring"
)

func init() {
	lower[ir.Put] = (*gen).lowerPut
	lower[ir.FPut] = (*gen).lowerFPut
	lower[ir.PutReg] = (*gen).lowerPutReg
	lower[ir.Commit] = (*gen).lowerCommit
	lower[ir.Count] = func(g *gen, in *ir.Instr) { g.count(in.Imm) }
}

// mayLeave is the start of a hit: it leaves where the site is turned off, or nothing may be done.
func (g *gen) mayLeave() {
	if at := g.cfg.Layout.Switch; at != 0 {
		g.mi(iCMP, 1, rmMem(g.fixedMem(address{at, ofSwitch})), 0)
		off := g.a.newLabel()
		g.a.jcc(ccNE, off)
		g.later(func() {
			g.a.comment("; turned off")
			g.a.bind(off)
			g.exit()
		})
	}
	if g.guards() {
		g.deadman()
	}
}

// deadman leaves when jalon, which answers our faults, is no more.
func (g *gen) deadman() {
	m := g.fixedMem(fixed(g.cfg.Layout.Control + ring.ControlDeadman))
	g.mi(iTEST, 4, rmMem(m), ring.OwnerDied)
	dead := g.a.newLabel()
	g.a.jcc(ccNE, dead)
	g.later(func() {
		g.a.comment("; jalon is dead")
		g.a.bind(dead)
		g.exit()
	})
}

// cpuOffset sets d to the number of the CPU, limited to valid numbers, times stride. The load from struct
// rseq is not protected by the dead man's switch: it faults only in a thread without a thread pointer,
// which a process that registered rseq does not have.
func (g *gen) cpuOffset(d Reg, stride uint64) {
	l := &g.cfg.Layout
	mask := l.CPUMask
	switch {
	case l.RseqCPU != 0 && !g.restartable():
		g.fsLoad(4, d, l.RseqCPU)
	case l.RDPID:
		g.m(iRDPID, 8, regOpd(d))
		mask &= 0xfff
	default:
		// The limit of this segment is the CPU number, and the node above its 12 bits.
		g.movImm(d, 0x7b)
		g.rmo(iLSL, 4, d, regOpd(d))
		mask &= 0xfff
	}
	g.mi(iAND, 4, rmReg(d), int64(mask))
	g.scaleCPU(d, stride)
}

// indexed is the memory at a constant address plus idx, which is destroyed.
func (g *gen) indexed(addr address, idx Reg) mem {
	if addr.n < 1<<31 {
		g.a.own = g.a.own || addr.of != sameEverywhere
		return atIdx(NoReg, idx, 1, int32(addr.n))
	}
	if c, off, ok := g.constant(addr); ok && !g.near(addr) {
		g.rmo(iADD, 8, idx, memOpd(ripTo(fixed(c.At))))
		return at(idx, off).follow(addr.of)
	}
	if base, ok := g.cheapScratch(); ok {
		g.loadAddr(base, addr)
		m := atIdx(base, idx, 1, 0)
		g.release(base)
		return m
	}
	// Rather than save a second register, add the address from a constant in the code.
	g.rmo(iADD, 8, idx, memOpd(ripLabel(g.constant64(addr))))
	return at(idx, 0)
}

// lockedCounter addresses counter n of this CPU, for an increment with lock.
func (g *gen) lockedCounter(n int64) mem {
	l := &g.cfg.Layout
	addr := address{l.Counters, ofCounters}
	if g.restartable() {
		addr = address{l.LockedCounters, ofLocked}
	}
	addr.n += l.CounterStep * uint64(n)
	if l.CPUMask == 0 {
		return g.fixedMem(addr)
	}
	idx := g.scratch()
	g.cpuOffset(idx, l.CounterStride)
	return g.indexed(addr, idx)
}

// countLocked increments counter n with a lock: a thread may move to another CPU between
// reading the number and writing the counter, and no hit is lost in silence.
func (g *gen) countLocked(n int64) { g.m(iLOCKINC, 8, memOpd(g.lockedCounter(n))) }

// count increments a counter of this CPU.
func (g *gen) count(n int64) {
	if !g.restartable() {
		g.countLocked(n)
		return
	}
	l := &g.cfg.Layout
	other, gone, done := g.a.newLabel(), g.a.newLabel(), g.a.newLabel()
	s := g.scratch()
	g.checkRegistered(s, other)
	q := g.enter(s)
	g.thisCPU(s, l.CounterStride, gone)
	g.mi(iADD, 8, rmMem(g.indexed(address{l.Counters + l.CounterStep*uint64(n), ofCounters}, s)), 1)
	g.leaveBy(q, s)
	g.a.bind(done)
	g.release(s)
	g.later(func() {
		g.a.comment("; counted with lock")
		g.aborted(q)
		g.a.bind(other)
		g.countLocked(n)
		g.a.jmp(done)
		g.unregistered(gone, other)
	})
}

// lockedRing sets p to this CPU's ring for reservations with lock; n is free.
func (g *gen) lockedRing(p, n Reg) {
	l := &g.cfg.Layout
	rings := l.Rings
	if g.restartable() {
		rings = l.LockedRings
	}
	if l.CPUMask == 0 {
		g.loadAddr(p, fixed(rings))
		return
	}
	g.cpuOffset(n, l.RingStride)
	g.addRings(p, n, rings)
}

// addRings sets p to n plus the address of the first ring.
func (g *gen) addRings(p, n Reg, rings uint64) {
	if rings < 1<<31 {
		g.lea(8, p, at(n, int32(rings)))
		return
	}
	g.loadAddr(p, fixed(rings))
	g.rmo(iADD, 8, p, regOpd(n))
}

// rec returns the record pointer in a register.
func (g *gen) rec() Reg {
	l := g.al.loc[g.l.recPtr()]
	if l.kind == locReg {
		return l.r
	}
	s := g.scratch()
	g.rmo(iMOV, 8, s, memOpd(g.spillSlot(l.slot)))
	return s
}

func (g *gen) lowerPut(in *ir.Instr) {
	m := rmMem(at(g.rec(), int32(in.Imm)))
	o := g.val(in.A, in.W)
	if o.kind == opdImm {
		g.mi(iMOV, in.W, m, o.imm)
		return
	}
	r := o.r
	if o.kind == opdMem {
		r = g.scratch()
		g.move(r, max(in.W, 4), o)
	}
	g.mr(iMOV, in.W, m, r)
}

func (g *gen) lowerFPut(in *ir.Instr) {
	w := g.wide(in.A)
	m := rmMem(at(g.rec(), int32(in.Imm)))
	if c := g.an.instr(in.A); c != nil && c.Op == ir.FConst {
		if bits := c.Imm & widthMask(w); w == 4 || bits == int64(int32(bits)) {
			g.mi(iMOV, w, m, int64(int32(bits)))
		} else {
			g.mr(iMOV, w, m, g.constReg(bits))
		}
		return
	}
	o := g.xval(in.A, w)
	if o.kind == opdMem {
		r := g.scratch()
		g.move(r, w, o)
		g.mr(iMOV, w, m, r)
		return
	}
	g.mr(fmov(w), 4, m, o.r)
}

func (g *gen) lowerPutReg(in *ir.Instr) {
	m := at(g.rec(), int32(in.Imm))
	switch {
	case in.Aux == x86.X87:
		g.putX87(m)
		return
	case in.Aux == x86.MXCSR:
		g.putMXCSR(m)
		return
	case in.Aux >= x86.UpperYMM:
		// Nothing that we execute changes it.
		g.a.vextract(m, Reg(in.Aux-x86.UpperYMM))
		return
	}
	it := itemXMM + item(in.Aux)
	x := Reg(in.Aux)
	src := opd{kind: opdReg, r: x, fix: noLabel}
	if !g.physical(it) {
		src = g.saved(it)
	}
	switch {
	case src.kind == opdReg && in.W == 16:
		g.mr(iMOVUPS, 4, rmMem(m), x)
	case src.kind == opdReg && in.W >= 4:
		g.mr(fmov(in.W), 4, rmMem(m), x)
	case src.kind == opdReg:
		r := g.scratch()
		g.mr(iMOVQ, 4, rmReg(r), x)
		g.mr(iMOV, in.W, rmMem(m), r)
	default:
		r := g.scratch()
		g.rmo(iMOV, 8, r, src)
		g.mr(iMOV, min(in.W, 8), rmMem(m), r)
		if in.W == 16 {
			g.rmo(iMOV, 8, r, memOpd(src.m.plus(8)))
			g.mr(iMOV, 8, rmMem(m.plus(8)), r)
		}
	}
}

// putMXCSR: MXCSR is changed immediately after it is saved.
func (g *gen) putMXCSR(m mem) {
	if !g.plan.out[g.cur].has(itemMXCSR) {
		g.m(iSTMXCSR, 4, memOpd(m))
		return
	}
	r := g.scratch()
	g.rmo(iMOV, 4, r, g.saved(itemMXCSR))
	g.mr(iMOV, 4, rmMem(m), r)
}

// putX87 stores at the first multiple of 16 in the slot, as fxsave64 requires, and moves the bytes to the start
// of the slot if that is another address. The bytes of the xmm registers stay after the slot's used part.
func (g *gen) putX87(slot mem) {
	r, w := g.scratch(), g.scratch()
	g.lea(8, r, slot.plus(15))
	g.mi(iAND, 8, rmReg(r), -16)
	g.m(iFXSAVE, 8, memOpd(at(r, 0)))
	g.lea(8, w, slot)
	g.rmo(iCMP, 8, w, regOpd(r))
	done := g.a.newLabel()
	g.a.jcc(ccE, done)
	for k := int32(0); k < x86.X87Bytes; k += 8 {
		if k == x86.X87Head {
			continue // mxcsr
		}
		g.rmo(iMOV, 8, w, memOpd(at(r, k)))
		g.mr(iMOV, 8, rmMem(slot.plus(k)), w)
	}
	g.a.bind(done)
}

// lowerCommit takes the mark away by which the record is not complete.
func (g *gen) lowerCommit(*ir.Instr) {
	m := rmMem(at(g.rec(), int32(ring.RecHeader-g.eventHead()+4)))
	if len(g.an.sizes) > 1 {
		l := g.al.loc[g.l.recHeader()]
		r := l.r
		if l.kind == locSpill {
			r = g.scratch()
			g.rmo(iMOV, 4, r, memOpd(g.spillSlot(l.slot)))
		}
		g.mr(iMOV, 4, m, r)
	} else {
		for size := range g.an.sizes {
			g.mi(iMOV, 4, m, g.eventWord(size))
			g.a.siteID()
		}
	}
	if g.overwrites() {
		completion{g}.count()
	}
}
