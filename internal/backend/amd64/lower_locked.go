package amd64

import "github.com/jalon-trace/jalon/internal/ring"

// Reservations with a locked instruction: the writer protocol with lock of package ring. What is loaded from reserved stays in rax.

const distanceBits = 64 - ring.NearShift

// distance is a size in the units of the distance of a context, 0 where it has no room for it.
func distance(size int64) int64 {
	if n := size / ring.NearUnit; n <= ring.MaxNear {
		return n
	}
	return 0
}

// near reports whether the event can do with the context of another (2k). Behind sequences without a clock it takes a register
// that the sequence would have to save.
func (r *reservation) near() bool {
	return !r.overwrites() && distance(r.size) != 0 && r.eventHead() == ring.EventHead && r.packet() == r.subSize() &&
		(r.cfg.Clock != ring.ClockNone || !r.restartable())
}

// reserveLocked reserves with a locked instruction. The time is read between the load of reserved and the exchange.
func (r *reservation) reserveLocked(got label) {
	retry, begin, have, full, own := r.a.newLabel(), r.a.newLabel(), r.a.newLabel(), r.a.newLabel(), r.a.newLabel()
	reserved := r.ringMem(ring.RingReserved)
	r.lockedRing(r.p, r.n)
	if !r.fits() {
		r.dropped()
		return
	}
	r.a.bind(retry)
	r.rmo(iMOV, 8, RAX, memOpd(reserved))
	switch {
	case r.packet() != r.subSize():
		r.a.jmp(begin)
	case r.near():
		r.compareRoom(begin)
		r.reserveNear(retry, own)
		r.a.jmp(got)
		r.a.bind(own)
		r.reserveOwn(retry)
	default:
		r.compareRoom(begin)
		r.timeBetween()
		r.reserveOwn(retry)
	}
	r.a.bind(have)
	r.storeContext(func() { r.threadPointer(r.n) }) // the thread last: others use a context that has it
	r.account()
	r.later(func() {
		r.a.comment("; sub-buffer")
		r.a.bind(begin)
		if r.overwrites() {
			r.claimLocked(retry, have)
			return
		}
		r.position(r.n)
		r.compareFree(r.n, full)
		r.timeBetween()
		r.position(r.n)
		r.roundUp(r.n, r.n)
		r.lea(8, r.n, at(r.n, int32(ring.PacketHead+r.withContext())))
		r.withDistance()
		r.exchange(retry)
		r.mi(iSHL, 8, rmReg(RAX), distanceBits)
		r.mi(iSHR, 8, rmReg(RAX), distanceBits)
		r.storePacket()
		r.a.jmp(have)
		// While this thread did not run, others may have reserved and the reader consumed past what it loaded.
		r.a.comment("; ring full, if reserved is still what was loaded")
		r.a.bind(full)
		r.rmo(iCMP, 8, RAX, memOpd(reserved))
		r.a.jcc(ccNE, retry)
		r.full(retry, r.dropped)
	})
}

// position leaves the position that was loaded in d.
func (r *reservation) position(d Reg) {
	r.rmo(iMOV, 8, d, regOpd(RAX))
	r.mi(iSHL, 8, rmReg(d), distanceBits)
	r.mi(iSHR, 8, rmReg(d), distanceBits)
}

// withDistance adds the distance of the event's own context to the position in n.
func (r *reservation) withDistance() {
	if d := distance(r.withContext()); d != 0 {
		r.mi(iSHL, 8, rmReg(r.n), distanceBits)
		r.mi(iOR, 8, rmReg(r.n), d)
		r.mi(iROR, 8, rmReg(r.n), distanceBits)
	}
}

// exchange stores n to reserved if that is still what was loaded.
func (r *reservation) exchange(retry label) {
	r.mr(iCMPXCHG, 8, rmMem(r.ringMem(ring.RingReserved)), r.n)
	r.a.jcc(ccNE, retry)
}

// reserveOwn reserves room for a context and the event. It leaves the offset of the context in rax.
func (r *reservation) reserveOwn(retry label) {
	if r.overwrites() {
		r.lea(8, r.n, at(RAX, int32(r.withContext())))
	} else {
		r.position(r.n)
		r.lea(8, r.n, at(r.n, int32(r.withContext())))
		r.withDistance()
	}
	r.exchange(retry)
	r.mask(RAX)
}

// newest leaves the offset of the newest context in n.
func (r *reservation) newest() {
	r.rmo(iMOV, 8, r.n, regOpd(RAX))
	r.mi(iSHR, 8, rmReg(r.n), ring.NearShift)
	r.mi(iSHL, 4, rmReg(r.n), 3)
	r.m(iNEG, 4, regOpd(r.n))
	r.rmo(iADD, 4, r.n, regOpd(RAX))
	r.mask(r.n)
}

// reserveNear is 2k and 3k, with the event's head. It goes to own, with the time read, if the event needs a context.
func (r *reservation) reserveNear(retry, own label) {
	far := r.a.newLabel()
	r.rmo(iMOV, 8, r.n, regOpd(RAX))
	r.mi(iSHR, 8, rmReg(r.n), ring.NearShift)
	r.lea(4, r.n, at(r.n, -1)) // 0: there is none
	r.mi(iCMP, 4, rmReg(r.n), ring.MaxNear-distance(r.size))
	r.a.jcc(ccAE, far)
	r.newest()
	r.threadPointer(RDX)
	r.mr(iTEST, 8, rmReg(RDX), RDX)
	r.a.jcc(ccE, far)
	r.rmo(iCMP, 8, RDX, memOpd(r.dataMem(r.n, ring.ContextThread)))
	r.a.jcc(ccNE, far)
	r.timeBetween()
	if r.cfg.Clock != ring.ClockNone {
		r.newest()
		r.rmo(iMOV, 8, r.n, memOpd(r.dataMem(r.n, ring.ContextTime)))
		r.rmo(iXOR, 8, r.n, regOpd(RDX))
		r.mi(iSHR, 8, rmReg(r.n), ring.WordKind)
		r.a.jcc(ccNE, own)
	}
	r.movImm(r.n, r.size|distance(r.size)<<ring.NearShift)
	r.rmo(iADD, 8, r.n, regOpd(RAX))
	r.exchange(retry)
	r.mask(RAX)
	r.movImm(r.n, int64(ring.WordPending|uint64(r.word)<<32|ring.KindEvent<<ring.WordKind))
	r.a.siteID()
	if r.cfg.Clock != ring.ClockNone {
		r.mi(iAND, 4, rmReg(RDX), ring.WordClock)
		r.rmo(iOR, 8, r.n, regOpd(RDX))
	}
	r.mr(iMOV, 8, rmMem(r.dataMem(RAX, 0)), r.n)
	r.later(func() {
		r.a.comment("; with a context")
		r.a.bind(far)
		r.timeBetween()
		r.a.jmp(own)
	})
}

// timeBetween reads the time and keeps rax.
func (r *reservation) timeBetween() {
	if r.cfg.Clock != ring.ClockTSC {
		r.readTime()
		return
	}
	r.rmo(iMOV, 8, r.n, regOpd(RAX))
	r.readTime()
	r.rmo(iMOV, 8, RAX, regOpd(r.n))
}
