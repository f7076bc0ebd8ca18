package amd64

import (
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ring"
)

func init() { lower[ir.Reserve] = (*gen).lowerReserve }

// reservation is the common part of the ways to reserve room in a ring. They leave the offset of the event in the data
// in rax and the address of the ring in p. The event's head is written, with ring.WordPending.
type reservation struct {
	*gen
	size int64 // of the event in the ring
	word int64 // the high half of its head
	p, n Reg   // n is scratch
	t    Reg   // scratch of rings that are overwritten
	lost label // the ring is full
}

// withContext is the size of the event with a context before it.
func (r *reservation) withContext() int64 { return ring.ContextSize + r.size }

// packet is the size of sub-buffers that begin with this event.
func (r *reservation) packet() int64 {
	sub := r.subSize()
	return (ring.PacketHead + r.withContext() + sub - 1) &^ (sub - 1)
}

// fits reports whether an empty ring has room for the event, wherever its next sub-buffer begins.
func (r *reservation) fits() bool {
	if r.overwrites() {
		return r.packet() == r.subSize()
	}
	return r.packet()+r.subSize() <= int64(r.cfg.Layout.RingSize)
}

func (g *gen) subSize() int64 { return int64(ring.SubSize(g.cfg.Layout.RingSize)) }

// eventHead is the size of the head of all events of the program.
func (g *gen) eventHead() int64 {
	head := int64(ring.EventHead)
	for size := range g.an.sizes {
		head = max(head, int64(ring.HeadOf(uint64(size))))
	}
	return head
}

// eventSize is the size in the ring of a record of this size.
func (g *gen) eventSize(record int64) int64 { return record - ring.RecHeader + g.eventHead() }

// eventWord is the high half of the head of a complete event.
func (g *gen) eventWord(record int64) int64 {
	return int64(ring.EventWord(g.cfg.Layout.SiteID, uint64(g.eventSize(record)), uint64(g.eventHead())))
}

// lowerReserve takes room in a ring of this CPU, by the writer protocols of package ring.
func (g *gen) lowerReserve(in *ir.Instr) {
	fixed := setOf(item(RAX))
	if g.cfg.Clock != ring.ClockNone || g.overwrites() || !g.restartable() {
		fixed.add(item(RDX))
	}
	g.busy |= fixed
	p := g.dst(g.l.recPtr())
	n := g.scratch()
	fixed.each(g.clobber)
	got, lost := g.a.newLabel(), g.a.newLabel()
	r := &reservation{gen: g, size: g.eventSize(in.Imm), word: g.eventWord(in.Imm), p: p, n: n, lost: lost}
	own := setOf(item(n))
	if g.overwrites() {
		r.t = g.scratch()
		own.add(item(r.t))
	}
	if g.restartable() && !g.cfg.faultingClock() && r.fits() {
		r.reserveRestartable(got)
	} else {
		r.reserveLocked(got)
	}
	g.a.bind(got)
	g.lea(8, p, atIdx(p, RAX, 1, int32(ring.RingData+g.eventHead()-ring.RecHeader)))
	r.fetchAhead()
	r.zeroFields()
	g.setDst(g.l.recPtr(), p)
	if len(g.an.sizes) > 1 {
		h := g.dst(g.l.recHeader())
		g.movImm(h, r.word)
		g.a.siteID()
		g.setDst(g.l.recHeader(), h)
	}
	g.busy &^= fixed | own // free again when the ring is full
	g.later(func() {
		g.a.comment("; ring full")
		g.a.bind(lost)
		g.count(ring.CounterLost)
		g.exit()
	})
}

// aheadBytes is how far before a record its cache lines are fetched. The reader has written to them last, so they lie in
// another processor's cache: a store of the record would wait for them, 3 ns a record of 32 bytes on an Intel Xeon.
// 256 bytes gain a third of that, 1024 to 3072 all.
const aheadBytes = 1024

// maxAhead limits the lines that are fetched for a record: where more follow, the processor has found the pattern.
const maxAhead = 4

// fetchAhead fetches as many lines as the record has. The room behind the end of a ring is its start again, and a
// fetch of an address that is not mapped does nothing.
func (r *reservation) fetchAhead() {
	op := iPREFETCHT0
	if r.cfg.Layout.PrefetchW {
		op = iPREFETCHW
	}
	for line := range min((r.size+63)/64, maxAhead) {
		r.m(op, 8, memOpd(at(r.p, int32(aheadBytes+64*line))))
	}
}

// ringMem is a word of the ring's head, dataMem memory of its data at an offset in a register.
func (r *reservation) ringMem(off int32) mem { return at(r.p, off) }

func (r *reservation) dataMem(idx Reg, off int64) mem {
	return atIdx(r.p, idx, 1, int32(ring.RingData+off))
}

// mask makes a position an offset in the data.
func (g *gen) mask(r Reg) { g.mi(iAND, 4, rmReg(r), int64(g.cfg.Layout.RingSize-1)) }

// roundUp makes a position that of the next sub-buffer, if it is not the start of one.
func (g *gen) roundUp(d, pos Reg) {
	sub := g.subSize()
	g.lea(8, d, at(pos, int32(sub-1)))
	g.mi(iAND, 8, rmReg(d), -sub)
}

// reserveRestartable reserves in a restartable sequence (A of package ring). The time is read first: what follows runs
// in the shadow of rdtsc. A thread that may not use one, or was interrupted, reserves with lock.
func (r *reservation) reserveRestartable(got label) {
	other, gone, slow := r.a.newLabel(), r.a.newLabel(), r.a.newLabel()
	timed := r.cfg.Clock != ring.ClockNone
	r.checkRegistered(r.n, other)
	q := r.enter(r.n)
	r.thisRing(gone)
	r.rmo(iMOV, 8, RAX, memOpd(fsMem(0))) // what checkRegistered has compared
	r.rmo(iCMP, 8, RAX, memOpd(r.ringMem(ring.RingThread)))
	r.a.jcc(ccNE, slow)
	if timed {
		r.rmo(iMOV, 8, RAX, regOpd(RDX))
		r.mi(iSHR, 8, rmReg(RAX), ring.WordKind)
		r.rmo(iCMP, 8, RAX, memOpd(r.ringMem(ring.RingEpoch)))
		r.a.jcc(ccNE, slow)
	}
	r.rmo(iMOV, 8, RAX, memOpd(r.ringMem(ring.RingReserved)))
	r.rmo(iCMP, 8, RAX, memOpd(r.ringMem(ring.RingFrom)))
	r.a.jcc(ccB, slow)
	r.lea(8, r.n, at(RAX, int32(r.size)))
	r.rmo(iCMP, 8, r.n, memOpd(r.ringMem(ring.RingLimit)))
	r.a.jcc(ccA, slow)
	r.mask(RAX)
	if timed {
		r.mi(iAND, 4, rmReg(RDX), ring.WordClock)
	}
	r.storeEvent(0)
	r.mr(iMOV, 8, rmMem(r.ringMem(ring.RingReserved)), r.n)
	r.leave(q)
	r.later(func() {
		r.reserveSlow(slow, gone, other, got)
		r.aborted(q)
		r.a.bind(other)
		r.a.comment("; reserved with lock")
		r.reserveLocked(got)
		r.a.jmp(got)
		r.unregistered(gone, other)
	})
}

// thisRing reads the time and sets p to the ring of this CPU, in a sequence.
func (r *reservation) thisRing(gone label) {
	r.readTime()
	r.thisCPU(r.n, r.cfg.Layout.RingStride, gone)
	r.addRings(r.p, r.n, r.cfg.Layout.Rings)
}

// storeEvent stores the head of an event off bytes behind the offset in rax. The low bits of the time are in edx. The
// half that says that the event is not complete comes first: with lock, the reader may see one without the other.
func (r *reservation) storeEvent(off int64) {
	r.mi(iMOV, 4, rmMem(r.dataMem(RAX, off+4)), int64(int32(uint32(r.word)|ring.WordPending>>32)))
	r.a.siteID()
	if r.eventHead() > ring.EventHead {
		r.mi(iMOV, 8, rmMem(r.dataMem(RAX, off+ring.EventHead)), r.size)
	}
	if r.cfg.Clock == ring.ClockNone {
		r.mi(iMOV, 4, rmMem(r.dataMem(RAX, off)), ring.KindEvent<<ring.WordKind)
		return
	}
	r.mi(iOR, 4, rmReg(RDX), ring.KindEvent<<ring.WordKind)
	r.mr(iMOV, 4, rmMem(r.dataMem(RAX, off)), RDX)
}

// reserveSlow is sequence S of package ring: a context, and a new sub-buffer if this one has no room.
func (r *reservation) reserveSlow(slow, gone, other, got label) {
	begin, have, full, start, maybe := r.a.newLabel(), r.a.newLabel(), r.a.newLabel(), r.a.newLabel(), r.a.newLabel()
	r.a.comment("; context, and sub-buffer, if the ring is not full")
	r.a.bind(slow)
	if !r.overwrites() {
		r.compareEither(start, maybe)
	}
	r.a.bind(start)
	q := r.enter(r.n)
	r.thisRing(gone)
	r.mi(iMOV, 8, rmMem(r.ringMem(ring.RingFrom)), -1)
	r.rmo(iMOV, 8, RAX, memOpd(fsMem(0)))
	r.mr(iMOV, 8, rmMem(r.ringMem(ring.RingThread)), RAX)
	if r.cfg.Clock != ring.ClockNone {
		r.rmo(iMOV, 8, RAX, regOpd(RDX))
		r.mi(iSHR, 8, rmReg(RAX), ring.WordKind)
		r.mr(iMOV, 8, rmMem(r.ringMem(ring.RingEpoch)), RAX)
	}
	r.rmo(iMOV, 8, RAX, memOpd(r.ringMem(ring.RingReserved)))
	if r.packet() == r.subSize() {
		r.compareRoom(begin)
		r.lea(8, r.n, at(RAX, int32(r.withContext())))
		r.mr(iMOV, 8, rmMem(r.ringMem(ring.RingFrom)), r.n)
		r.mask(RAX)
		r.a.jmp(have)
	}
	r.a.bind(begin)
	if r.overwrites() {
		r.claimInSequence(full)
	} else {
		r.compareFree(RAX, full)
		r.roundUp(r.n, RAX)
		r.lea(8, r.n, at(r.n, int32(ring.PacketHead+r.withContext())))
		r.mr(iMOV, 8, rmMem(r.ringMem(ring.RingFrom)), r.n)
		r.storePacket()
	}
	r.a.bind(have)
	r.storeContext(func() { r.rmo(iMOV, 8, r.n, memOpd(fsMem(0))) })
	r.rmo(iMOV, 8, r.n, memOpd(r.ringMem(ring.RingFrom)))
	r.roundUp(r.n, r.n)
	r.mr(iMOV, 8, rmMem(r.ringMem(ring.RingLimit)), r.n)
	r.rmo(iMOV, 8, r.n, memOpd(r.ringMem(ring.RingFrom)))
	r.mr(iMOV, 8, rmMem(r.ringMem(ring.RingReserved)), r.n)
	r.leave(q)
	r.account()
	r.a.jmp(got)
	if !r.overwrites() {
		r.a.bind(maybe)
		r.rmo(iCMP, 8, RAX, memOpd(r.ringMem(ring.RingReserved)))
		r.a.jcc(ccNE, start)
	}
	r.a.bind(full)
	r.forgetSequence()
	r.full(start, func() { r.dropInSequence(gone, other) })
	r.aborted(q)
	r.a.jmp(other)
}

// dropInSequence is sequence L of package ring.
func (r *reservation) dropInSequence(gone, other label) {
	q := r.enter(r.n)
	r.thisCPU(r.n, r.cfg.Layout.RingStride, gone)
	r.addRings(r.p, r.n, r.cfg.Layout.Rings)
	r.mi(iADD, 8, rmMem(r.ringMem(ring.RingDropped)), 1)
	r.leave(q)
	r.a.jmp(r.lost)
	r.aborted(q)
	r.a.jmp(other)
}

// compareEither goes to start if the ring has room where reserved is, and else to full.
func (r *reservation) compareEither(start, full label) {
	check := r.a.newLabel()
	r.rmo(iMOV, 8, RAX, memOpd(r.ringMem(ring.RingReserved)))
	if r.packet() == r.subSize() {
		r.compareRoom(check)
		r.a.jmp(start)
	}
	r.a.bind(check)
	r.compareFree(RAX, full)
}

// full is where the ring is full: the hit waits until there is room, and goes to again, if it may wait. Otherwise drop counts it.
func (r *reservation) full(again label, drop func()) {
	if !r.cfg.Layout.Wait || r.overwrites() || r.cfg.Clock != ring.ClockTSC || r.cfg.NoTSC {
		drop()
		return
	}
	look, late := r.a.newLabel(), r.a.newLabel()
	r.a.comment("; wait for room")
	r.m(iLOCKINC, 8, memOpd(r.ringMem(ring.RingWaits)))
	r.a.bind(look)
	r.a.plain(iPAUSE)
	r.readTime()
	r.rmo(iCMP, 8, RDX, memOpd(r.ringMem(ring.RingUntil)))
	r.a.jcc(ccA, late)
	r.loadAddr(r.n, fixed(r.cfg.Layout.Control+ring.ControlDeadman))
	r.mi(iTEST, 4, rmMem(at(r.n, 0)), ring.OwnerDied)
	r.a.jcc(ccNE, late)
	r.rmo(iMOV, 8, RAX, memOpd(r.ringMem(ring.RingReserved)))
	r.position(r.n)
	r.compareFree(r.n, look)
	r.a.jmp(again)
	r.a.bind(late)
	drop()
}

// dropped counts with lock a hit that found the ring full, and leaves.
func (r *reservation) dropped() {
	r.m(iLOCKINC, 8, memOpd(r.ringMem(ring.RingDropped)))
	r.a.jmp(r.lost)
}

// compareRoom jumps to begin if a context and the event have no room in the sub-buffer where the position in rax is.
func (r *reservation) compareRoom(begin label) {
	last := r.subSize() - 1
	r.lea(4, r.n, at(RAX, -1))
	r.mi(iAND, 4, rmReg(r.n), last)
	r.mi(iCMP, 4, rmReg(r.n), last-r.withContext())
	r.a.jcc(ccA, begin)
}

// compareFree jumps to full if the ring has no room for a sub-buffer behind a position.
func (r *reservation) compareFree(pos Reg, full label) {
	r.roundUp(r.n, pos)
	r.rmo(iSUB, 8, r.n, memOpd(r.ringMem(ring.RingConsumed)))
	r.mi(iCMP, 8, rmReg(r.n), int64(r.cfg.Layout.RingSize)-r.packet())
	r.a.jcc(ccA, full)
}

// storePacket ends a sub-buffer at the position in rax and begins the next one. It leaves the offset of what follows its
// head in rax.
func (r *reservation) storePacket() {
	whole := r.a.newLabel()
	sub := r.subSize()
	head := func(off int64) rmOp { return rmMem(r.dataMem(r.n, off)) }
	r.roundUp(r.n, RAX)
	r.mask(r.n)
	r.mr(iMOV, 8, head(ring.PacketBefore), RAX)
	r.mr(iMOV, 8, head(ring.PacketPosition), RAX)
	r.mi(iADD, 8, head(ring.PacketPosition), sub-1)
	r.mi(iAND, 8, head(ring.PacketPosition), -sub)
	if r.cfg.Clock != ring.ClockNone {
		r.mr(iMOV, 8, head(ring.PacketBegin), RDX)
	}
	r.rmo(iMOV, 8, RAX, memOpd(r.ringMem(ring.RingDropped)))
	r.mr(iMOV, 8, head(ring.PacketLost), RAX)
	r.rmo(iMOV, 8, RAX, memOpd(r.dataMem(r.n, ring.PacketPosition)))
	r.rmo(iSUB, 8, RAX, memOpd(r.dataMem(r.n, ring.PacketBefore)))
	r.a.jcc(ccE, whole)
	r.rmo(iSUB, 8, r.n, regOpd(RAX))
	r.mask(r.n)
	r.mi(iSHL, 8, rmReg(RAX), 32)
	r.mi(iOR, 8, rmReg(RAX), ring.KindFiller<<ring.WordKind)
	r.mr(iMOV, 8, head(0), RAX)
	r.mi(iSHR, 8, rmReg(RAX), 32)
	r.rmo(iADD, 8, r.n, regOpd(RAX))
	r.mask(r.n)
	r.a.bind(whole)
	magic := uint32(ring.PacketMagic)
	r.mi(iMOV, 4, head(0), int64(int32(magic)))
	r.lea(8, RAX, at(r.n, ring.PacketHead))
}

// storeContext stores a context at the offset in rax, and the head of the event behind it, whose offset it leaves in
// rax. thread reads the thread pointer into n.
func (r *reservation) storeContext(thread func()) {
	word := r.size<<32 | ring.KindContext<<ring.WordKind
	if r.cfg.Clock == ring.ClockNone {
		if r.overwrites() {
			r.mi(iMOV, 8, rmMem(r.dataMem(RAX, ring.ContextTime)), 0)
		}
		r.movImm(r.n, word)
	} else {
		r.mr(iMOV, 8, rmMem(r.dataMem(RAX, ring.ContextTime)), RDX)
		r.mi(iAND, 4, rmReg(RDX), ring.WordClock)
		r.movImm(r.n, word)
		r.rmo(iOR, 8, r.n, regOpd(RDX))
	}
	r.mr(iMOV, 8, rmMem(r.dataMem(RAX, 0)), r.n)
	r.storeEvent(ring.ContextSize)
	thread()
	r.mr(iMOV, 8, rmMem(r.dataMem(RAX, ring.ContextThread)), r.n)
	r.mi(iADD, 4, rmReg(RAX), ring.ContextSize)
}

// readTime reads the time into rdx, if records have one.
func (g *gen) readTime() {
	switch g.cfg.Clock {
	case ring.ClockNone:
		return
	case ring.ClockCoarse:
		g.rmo(iMOV, 8, RDX, memOpd(g.fixedMem(fixed(g.cfg.Layout.Control+ring.ControlClock))))
		return
	}
	g.a.clocks = append(g.a.clocks, g.a.here())
	g.a.plain(iRDTSC)
	g.mi(iSHL, 8, rmReg(RDX), 32)
	g.rmo(iOR, 8, RDX, regOpd(RAX))
}
