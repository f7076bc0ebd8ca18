package amd64

import (
	"math/bits"

	"github.com/jalon-trace/jalon/internal/ring"
)

// Rings whose oldest sub-buffers are overwritten: see overwrite.go of package ring.

func (pl *planner) overwrites() bool { return pl.cfg.Layout.Overwrite }

// unit is what complete room is counted in.
const unit = 8

// subIndex makes a position, or an offset in the data, the index of its sub-buffer.
func (r *reservation) subIndex(d Reg) {
	r.mask(d)
	r.mi(iSHR, 4, rmReg(d), int64(bits.TrailingZeros64(uint64(r.subSize()))))
}

// entryMem is a word of the entry of the sub-buffer with an index.
func (r *reservation) entryMem(idx Reg, off int32) mem {
	return atIdx(r.p, idx, ring.SubEntry, ring.SubTable+off)
}

// nextSub makes n the start of the next sub-buffer and goes to again, or to full if it is too far from reserved. It destroys d.
func (r *reservation) nextSub(d Reg, again, full label) {
	r.mi(iADD, 8, rmReg(r.n), r.subSize())
	r.rmo(iMOV, 8, d, regOpd(r.n))
	r.rmo(iSUB, 8, d, memOpd(r.ringMem(ring.RingReserved)))
	r.mi(iCMP, 8, rmReg(d), int64(r.cfg.Layout.RingSize/2))
	r.a.jcc(ccBE, again)
	r.a.jmp(full)
}

// claimInSequence is S2o to S4o.
func (r *reservation) claimInSequence(full label) {
	next, pass, free, claimed := r.a.newLabel(), r.a.newLabel(), r.a.newLabel(), r.a.newLabel()
	r.rmo(iMOV, 8, r.n, memOpd(r.ringMem(ring.RingClaim)))
	r.rmo(iCMP, 8, r.n, regOpd(RAX))
	r.a.jcc(ccAE, claimed)
	r.roundUp(r.n, RAX)
	r.a.bind(next)
	r.rmo(iMOV, 8, r.t, regOpd(r.n))
	r.subIndex(r.t)
	r.rmo(iMOV, 4, RAX, memOpd(r.entryMem(r.t, ring.SubDone)))
	r.rmo(iSUB, 4, RAX, memOpd(r.entryMem(r.t, ring.SubBase)))
	r.mi(iCMP, 4, rmReg(RAX), r.subSize()/unit)
	r.a.jcc(ccE, free)
	r.a.bind(pass)
	r.nextSub(RAX, next, full)
	r.a.bind(free)
	r.mr(iMOV, 8, rmMem(r.ringMem(ring.RingClaim)), r.n)
	r.a.bind(claimed)
	r.rmo(iMOV, 8, r.t, regOpd(r.n))
	r.subIndex(r.t)
	r.rmo(iMOV, 4, RAX, memOpd(r.entryMem(r.t, ring.SubDone)))
	r.mr(iMOV, 4, rmMem(r.entryMem(r.t, ring.SubBase)), RAX)
	r.lea(8, r.t, at(r.n, int32(ring.PacketHead+r.withContext())))
	r.mr(iMOV, 8, rmMem(r.ringMem(ring.RingFrom)), r.t)
	r.rmo(iMOV, 8, RAX, memOpd(r.ringMem(ring.RingReserved)))
	r.storePacketAt()
}

// claimLocked is 1o to 3o, and what 4o stores before the context.
func (r *reservation) claimLocked(retry, have label) {
	next, pass, undo, full := r.a.newLabel(), r.a.newLabel(), r.a.newLabel(), r.a.newLabel()
	reserved := r.ringMem(ring.RingReserved)
	r.roundUp(r.n, RAX)
	r.a.bind(next)
	r.rmo(iMOV, 8, r.t, regOpd(r.n))
	r.subIndex(r.t)
	r.rmo(iMOV, 4, RDX, memOpd(r.entryMem(r.t, ring.SubDone)))
	r.rmo(iMOV, 4, RAX, memOpd(r.entryMem(r.t, ring.SubBase)))
	r.rmo(iSUB, 4, RDX, regOpd(RAX))
	r.mi(iCMP, 4, rmReg(RDX), r.subSize()/unit)
	r.a.jcc(ccNE, pass)
	r.rmo(iADD, 4, RDX, regOpd(RAX))
	r.mr(iCMPXCHG, 4, rmMem(r.entryMem(r.t, ring.SubBase)), RDX)
	r.a.jcc(ccNE, retry)
	r.rmo(iMOV, 8, RAX, memOpd(reserved))
	r.rmo(iCMP, 8, RAX, regOpd(r.n))
	r.a.jcc(ccA, undo)
	if r.cfg.Clock == ring.ClockTSC {
		r.rmo(iMOV, 8, r.t, regOpd(RAX))
		r.readTime()
		r.rmo(iMOV, 8, RAX, regOpd(r.t))
	} else {
		r.readTime()
	}
	r.lea(8, r.t, at(r.n, int32(ring.PacketHead+r.withContext())))
	r.mr(iCMPXCHG, 8, rmMem(reserved), r.t)
	r.a.jcc(ccNE, undo)
	r.storePacketAt()
	r.a.jmp(have)
	r.a.bind(undo)
	r.subIndex(r.n)
	r.mi(iSUB, 4, rmMem(r.entryMem(r.n, ring.SubBase)), r.subSize()/unit)
	r.a.jmp(retry)
	r.a.bind(pass)
	r.nextSub(RDX, next, full)
	r.a.bind(full)
	r.dropped()
}

// storePacketAt begins a sub-buffer at the position in n, behind what ends at the position in rax. It leaves the offset of what
// follows its head in rax, and destroys n and t.
func (r *reservation) storePacketAt() {
	whole := r.a.newLabel()
	head := func(off int64) rmOp { return rmMem(r.dataMem(r.t, off)) }
	r.rmo(iMOV, 8, r.t, regOpd(r.n))
	r.mask(r.t)
	r.mr(iMOV, 8, head(ring.PacketBefore), RAX)
	r.mr(iMOV, 8, head(ring.PacketPosition), r.n)
	if r.cfg.Clock != ring.ClockNone {
		r.mr(iMOV, 8, head(ring.PacketBegin), RDX)
	} else {
		r.mi(iMOV, 8, head(ring.PacketBegin), 0)
	}
	r.rmo(iMOV, 8, r.n, memOpd(r.ringMem(ring.RingDropped)))
	r.mr(iMOV, 8, head(ring.PacketLost), r.n)
	magic := uint32(ring.PacketMagic)
	r.movImm(r.n, int64(magic))
	r.mr(iMOV, 8, head(0), r.n)
	r.fillerOf(r.n, RAX)
	r.a.jcc(ccE, whole)
	r.mask(RAX)
	r.mi(iSHL, 8, rmReg(r.n), 32)
	r.mi(iOR, 8, rmReg(r.n), ring.KindFiller<<ring.WordKind)
	r.mr(iMOV, 8, rmMem(r.dataMem(RAX, 0)), r.n)
	r.a.bind(whole)
	r.lea(8, RAX, at(r.t, ring.PacketHead))
}

// fillerOf sets d to the size of the rest of the sub-buffer where a position is; the zero flag: there is none.
func (r *reservation) fillerOf(d, pos Reg) {
	r.rmo(iMOV, 8, d, regOpd(pos))
	r.m(iNEG, 8, regOpd(d))
	r.mi(iAND, 4, rmReg(d), r.subSize()-1)
}

// account adds what is complete beside the event, whose offset is in rax: its context; if it begins a sub-buffer, the
// packet's head, and the filler. It keeps rax.
func (r *reservation) account() {
	if !r.overwrites() {
		return
	}
	begins, done := r.a.newLabel(), r.a.newLabel()
	r.lea(4, r.n, at(RAX, -(ring.PacketHead+ring.ContextSize)))
	r.mi(iTEST, 4, rmReg(r.n), r.subSize()-1)
	r.a.jcc(ccE, begins)
	r.rmo(iMOV, 4, r.n, regOpd(RAX))
	r.addDone(r.n, ring.ContextSize)
	r.a.bind(done)
	r.later(func() {
		r.a.bind(begins)
		r.rmo(iMOV, 8, r.t, memOpd(r.dataMem(r.n, ring.PacketBefore)))
		r.addDone(r.n, ring.PacketHead+ring.ContextSize)
		r.fillerOf(r.n, r.t)
		r.mi(iSHR, 4, rmReg(r.n), 3)
		r.subIndex(r.t)
		r.mr(iLOCKADD, 4, rmMem(r.entryMem(r.t, ring.SubDone)), r.n)
		r.a.jmp(done)
	})
}

// addDone adds bytes to what is complete in the sub-buffer of an offset, which it destroys.
func (r *reservation) addDone(off Reg, bytes int64) {
	r.subIndex(off)
	r.mi(iLOCKADDI, 4, rmMem(r.entryMem(off, ring.SubDone)), bytes/unit)
}

// zeroFields stores zeros to the fields: the room has older contents. The record's address is in p.
func (r *reservation) zeroFields() {
	if !r.overwrites() {
		return
	}
	size := r.size - r.eventHead()
	if size <= mostZeroed {
		for off := int64(0); off < size; off += 8 {
			r.mi(iMOV, 8, rmMem(at(r.p, int32(ring.RecHeader+off))), 0)
		}
		return
	}
	again := r.a.newLabel()
	r.movImm(r.n, -size)
	r.a.bind(again)
	r.mi(iMOV, 8, rmMem(atIdx(r.p, r.n, 1, int32(ring.RecHeader+size))), 0)
	r.mi(iADD, 8, rmReg(r.n), 8)
	r.a.jcc(ccNE, again)
}

// mostZeroed is the size of fields that are zeroed without a loop.
const mostZeroed = 64

// completion is the end of a record.
type completion struct{ *gen }

// count counts an event that is complete: 6o, and ring.CounterRecorded.
func (g completion) count() {
	l := &g.cfg.Layout
	rec := g.rec()
	g.take(rec)
	s, base := g.scratch(), g.scratch()
	size := NoReg
	if len(g.an.sizes) > 1 {
		size = g.scratch()
		if g.eventHead() > ring.EventHead {
			g.rmo(iMOV, 8, size, memOpd(at(rec, int32(ring.RecHeader-g.eventHead()+ring.EventHead))))
			g.mi(iSHR, 8, rmReg(size), 3)
		} else {
			g.rmo(iMOV, 4, size, memOpd(at(rec, int32(ring.RecHeader-g.eventHead()+4))))
			g.mi(iSHR, 4, rmReg(size), ring.EventSizeShift)
		}
	}
	g.loadAddr(base, fixed(l.Rings)) // the rings of other writers are behind it
	g.rmo(iMOV, 8, s, regOpd(rec))
	g.rmo(iSUB, 8, s, regOpd(base))
	g.rmo(iMOV, 8, base, regOpd(rec))
	g.mi(iAND, 4, rmReg(s), int64(l.RingStride-1))
	g.rmo(iSUB, 8, base, regOpd(s))
	g.mi(iSUB, 4, rmReg(s), ring.RingData)
	g.mi(iSHR, 4, rmReg(s), int64(bits.TrailingZeros64(uint64(g.subSize()))))
	m := rmMem(atIdx(base, s, ring.SubEntry, ring.SubTable+ring.SubDone))
	if size != NoReg {
		g.mr(iLOCKADD, 4, m, size)
	} else {
		for size := range g.an.sizes {
			g.mi(iLOCKADDI, 4, m, g.eventSize(size)/unit)
		}
	}
	for _, x := range []Reg{s, base, size} {
		if x != NoReg {
			g.release(x)
		}
	}
	g.gen.count(ring.CounterRecorded)
}
