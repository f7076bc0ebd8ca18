package amd64

import (
	"math/bits"

	x86 "github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ring"
)

func init() {
	lower[ir.Reserve] = (*gen).lowerReserve
	lower[ir.Put] = (*gen).lowerPut
	lower[ir.FPut] = (*gen).lowerFPut
	lower[ir.PutReg] = (*gen).lowerPutReg
	lower[ir.Commit] = (*gen).lowerCommit
	lower[ir.Count] = (*gen).lowerCount
}

// deadman leaves when jalon, which answers our faults, is no more.
func (g *gen) deadman() {
	m := g.fixedMem(g.cfg.Layout.Control + ring.ControlDeadman)
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

func (g *gen) scaleCPU(d Reg, stride uint64) {
	w := uint8(8)
	if uint64(g.cfg.Layout.CPUMask)*stride < 1<<32 {
		w = 4
	}
	if n := bits.TrailingZeros64(stride); n > 0 {
		g.mi(iSHL, w, rmReg(d), int64(n))
	}
}

// indexed is the memory at a constant address plus idx, which is destroyed.
func (g *gen) indexed(addr uint64, idx Reg) mem {
	if addr < 1<<31 {
		return atIdx(NoReg, idx, 1, int32(addr))
	}
	if c, off, ok := g.cfg.constant(addr); ok && !g.near(addr) {
		g.rmo(iADD, 8, idx, memOpd(ripTo(c.At)))
		return at(idx, off)
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
	addr := l.Counters
	if g.restartable() {
		addr = l.LockedCounters
	}
	addr += l.CounterStep * uint64(n)
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

// lowerCount increments a counter of this CPU.
func (g *gen) lowerCount(in *ir.Instr) {
	if !g.restartable() {
		g.countLocked(in.Imm)
		return
	}
	l := &g.cfg.Layout
	other, gone, done := g.a.newLabel(), g.a.newLabel(), g.a.newLabel()
	s := g.scratch()
	g.checkRegistered(s, other)
	q := g.enter(s)
	g.thisCPU(s, l.CounterStride, gone)
	g.mi(iADD, 8, rmMem(g.indexed(l.Counters+l.CounterStep*uint64(in.Imm), s)), 1)
	g.leaveBy(q, s)
	g.a.bind(done)
	g.release(s)
	g.later(func() {
		g.a.comment("; counted with lock")
		g.aborted(q)
		g.a.bind(other)
		g.countLocked(in.Imm)
		g.a.jmp(done)
		g.unregistered(gone, other)
	})
}

// reservation is the common part of the ways to reserve room in a ring. They leave the offset of the room in the data
// in rax, the time in rdx, the address of the ring in p, and the size with ring.RecPending in the room.
type reservation struct {
	size int64
	p, n Reg   // n is scratch
	lost label // the ring is full
}

// lowerReserve takes room in a ring of this CPU, by the writer protocols of package ring.
func (g *gen) lowerReserve(in *ir.Instr) {
	timed := g.cfg.Clock != ring.ClockNone
	fixed := setOf(item(RAX))
	if timed {
		fixed.add(item(RDX))
	}
	g.busy |= fixed
	p := g.dst(g.l.recPtr())
	n := g.scratch()
	fixed.each(g.clobber)
	got, lost := g.a.newLabel(), g.a.newLabel()
	r := &reservation{size: in.Imm, p: p, n: n, lost: lost}
	if g.restartable() && !g.cfg.faultingClock() && uint64(in.Imm) <= g.cfg.Layout.RingSize {
		g.reserveRestartable(r, got)
		g.stamp(r, func() { g.fsLoad(8, RAX, 0) }) // what checkRegistered has compared
	} else {
		g.reserveLocked(r)
		g.stamp(r, func() { g.threadPointer(RAX) })
	}
	g.a.bind(got)
	g.setDst(g.l.recPtr(), p)
	if len(g.an.sizes) > 1 {
		h := g.dst(g.l.recHeader())
		g.movImm(h, g.header(in.Imm))
		g.setDst(g.l.recHeader(), h)
	}
	g.busy &^= fixed | setOf(item(n)) // free again when the ring is full
	g.later(func() {
		g.a.comment("; ring full")
		g.a.bind(lost)
		g.countLocked(ring.CounterLost)
		g.exit()
	})
}

// stamp makes p the address of the record, and stores time and thread. thread reads the thread pointer into rax:
// from memory where the thread is known to have it there, because rdfsbase costs 1 ns on an Intel Xeon.
func (g *gen) stamp(r *reservation, thread func()) {
	g.lea(8, r.p, atIdx(r.p, RAX, 1, ring.RingData))
	g.fetchAhead(r)
	if g.cfg.Clock != ring.ClockNone {
		g.mr(iMOV, 8, rmMem(at(r.p, ring.RecTSC)), RDX)
	}
	thread()
	g.mr(iMOV, 8, rmMem(at(r.p, ring.RecThread)), RAX)
}

// aheadBytes is how far before a record its cache lines are fetched. The reader has written to them last, so they lie in
// another processor's cache: a store of the record would wait for them, 3 ns a record of 32 bytes on an Intel Xeon.
// 256 bytes gain a third of that, 1024 to 3072 all.
const aheadBytes = 1024

// maxAhead limits the lines that are fetched for a record: where more follow, the processor has found the pattern.
const maxAhead = 4

// fetchAhead fetches as many lines as the record has. The room behind the end of a ring is its start again, and a
// fetch of an address that is not mapped does nothing.
func (g *gen) fetchAhead(r *reservation) {
	op := iPREFETCHT0
	if g.cfg.Layout.PrefetchW {
		op = iPREFETCHW
	}
	for line := range min((r.size+63)/64, maxAhead) {
		g.m(op, 8, memOpd(at(r.p, int32(aheadBytes+64*line))))
	}
}

// storePending stores the size of a record that is not complete in the room at position rax, and makes the position an
// offset in the data.
func (g *gen) storePending(r *reservation) {
	g.mi(iAND, 4, rmReg(RAX), int64(g.cfg.Layout.RingSize-1))
	g.mi(iMOV, 4, rmMem(atIdx(r.p, RAX, 1, ring.RingData+ring.RecSize)), int64(int32(uint32(r.size)|ring.RecPending)))
}

// reserveRestartable reserves in a restartable sequence. The time is read first: what follows runs in the shadow of
// rdtsc. A thread that may not use one, or was interrupted, reserves with lock and continues behind stamp at got.
func (g *gen) reserveRestartable(r *reservation, got label) {
	l := &g.cfg.Layout
	other, gone, full := g.a.newLabel(), g.a.newLabel(), g.a.newLabel()
	g.checkRegistered(r.n, other)
	q := g.enter(r.n)
	g.readTime()
	g.thisCPU(r.n, l.RingStride, gone)
	g.addRings(r.p, r.n, l.Rings)
	g.rmo(iMOV, 8, RAX, memOpd(at(r.p, ring.RingReserved)))
	g.compareRoom(r, full)
	g.lea(8, r.n, at(RAX, int32(r.size)))
	g.storePending(r)
	g.mr(iMOV, 8, rmMem(at(r.p, ring.RingReserved)), r.n)
	g.leave(q)
	g.later(func() {
		g.a.comment("; reserved with lock")
		g.aborted(q)
		g.a.bind(other)
		g.reserveLocked(r)
		g.stamp(r, func() { g.threadPointer(RAX) })
		g.a.jmp(got)
		g.unregistered(gone, other)
		g.a.bind(full)
		g.forgetSequence()
		g.a.jmp(r.lost)
	})
}

// reserveLocked reserves with a locked instruction. The time is read between the load of reserved and the exchange.
func (g *gen) reserveLocked(r *reservation) {
	full, retry := g.a.newLabel(), g.a.newLabel()
	g.lockedRing(r.p, r.n)
	g.a.bind(retry)
	old := at(r.p, ring.RingReserved)
	g.rmo(iMOV, 8, RAX, memOpd(old))
	g.compareRoom(r, full)
	g.rmo(iMOV, 8, r.n, regOpd(RAX))
	g.readTime()
	g.rmo(iMOV, 8, RAX, regOpd(r.n))
	g.lea(8, r.n, at(RAX, int32(r.size)))
	g.mr(iCMPXCHG, 8, rmMem(old), r.n)
	g.a.jcc(ccNE, retry)
	g.storePending(r)
	g.later(func() {
		// While this thread did not run, others may have reserved and the reader consumed past what it loaded.
		g.a.comment("; ring full, if reserved is still what was loaded")
		g.a.bind(full)
		g.rmo(iCMP, 8, RAX, memOpd(old))
		g.a.jcc(ccNE, retry)
		g.a.jmp(r.lost)
	})
}

// readTime reads the time into rdx, if records have one.
func (g *gen) readTime() {
	switch g.cfg.Clock {
	case ring.ClockNone:
		return
	case ring.ClockCoarse:
		g.rmo(iMOV, 8, RDX, memOpd(g.fixedMem(g.cfg.Layout.Control+ring.ControlClock)))
		return
	}
	g.a.clocks = append(g.a.clocks, g.a.here())
	g.a.plain(iRDTSC)
	g.mi(iSHL, 8, rmReg(RDX), 32)
	g.rmo(iOR, 8, RDX, regOpd(RAX))
}

// compareRoom jumps to full if the ring has no room after old, which is in rax.
func (g *gen) compareRoom(r *reservation, full label) {
	size := int64(g.cfg.Layout.RingSize)
	if r.size > size {
		g.a.jmp(r.lost)
		return
	}
	g.rmo(iMOV, 8, r.n, regOpd(RAX))
	g.rmo(iSUB, 8, r.n, memOpd(at(r.p, ring.RingConsumed)))
	g.mi(iCMP, 8, rmReg(r.n), size-r.size)
	g.a.jcc(ccA, full)
}

// lockedRing sets p to this CPU's ring for reservations with lock; n is free.
func (g *gen) lockedRing(p, n Reg) {
	l := &g.cfg.Layout
	rings := l.Rings
	if g.restartable() {
		rings = l.LockedRings
	}
	if l.CPUMask == 0 {
		g.loadAddr(p, rings)
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
	g.loadAddr(p, rings)
	g.rmo(iADD, 8, p, regOpd(n))
}

func (g *gen) header(size int64) int64 {
	return size | int64(g.cfg.Layout.SiteID+1)<<32
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

func (g *gen) lowerCommit(*ir.Instr) {
	m := rmMem(at(g.rec(), ring.RecSize))
	if len(g.an.sizes) > 1 {
		l := g.al.loc[g.l.recHeader()]
		r := l.r
		if l.kind == locSpill {
			r = g.scratch()
			g.rmo(iMOV, 8, r, memOpd(g.spillSlot(l.slot)))
		}
		g.mr(iMOV, 8, m, r)
		return
	}
	for size := range g.an.sizes {
		g.mr(iMOV, 8, m, g.constReg(g.header(size)))
	}
}
