package amd64

import "github.com/jalon-trace/jalon/internal/maps"

// windowLabels are places of a search.
type windowLabels struct {
	start, next label // the first slot; the next one, with the counter in rax
	free, full  label // slot d has no key; no slot is left
	none        label // the result is no slot
}

// enter inserts the key where the search has not found it: in a free slot, or behind the window in one that others have left.
func (l *look) enter(w windowLabels) {
	claimed, taken, over := l.a.newLabel(), l.a.newLabel(), l.a.newLabel()
	l.takeGone(claimed, taken, w.full)
	l.a.bind(w.full)
	l.count(maps.Full, 1)
	l.a.jmp(w.none)
	if l.tab.Limit > 0 {
		l.a.bind(over)
		l.count(maps.Room, 1)
		l.a.jmp(w.next)
	}
	l.a.bind(w.free)
	l.room(w.next, over)
	l.zero(RAX)
	l.lea(8, l.t, at(l.h, maps.Claimed-maps.Shown))
	l.mr(iCMPXCHG, 8, rmMem(at(l.d, maps.Tag)), l.t)
	l.a.jcc(ccNE, taken)
	l.a.bind(claimed)
	l.fill()
	l.a.jmp(l.done)
	l.a.bind(taken) // by another thread: rax is not the count any more, so from the start
	if l.tab.Limit > 0 {
		l.count(maps.Room, 1)
	}
	l.first()
	l.a.jmp(w.start)
}

// count adds to a word of the table's header.
func (l *look) count(word uint64, n int64) {
	l.loadAddr(l.t, fixed(l.tab.Addr+word))
	if n == 1 {
		l.m(iLOCKINC, 8, memOpd(at(l.t, 0)))
		return
	}
	l.mi(iLOCKADDI, 8, rmMem(at(l.t, 0)), n)
}

// room takes the room of one key, or goes to none, or to over, which gives it back.
func (l *look) room(none, over label) {
	if l.tab.Limit == 0 {
		return
	}
	l.loadAddr(l.t, fixed(l.tab.Addr+maps.Room))
	l.mi(iCMP, 8, rmMem(at(l.t, 0)), 0) // many updates may have no room: they only read
	l.a.jcc(ccLE, none)
	l.mi(iLOCKADDI, 8, rmMem(at(l.t, 0)), -1)
	l.a.jcc(ccS, over)
}

// fill stores the key in slot d, which is claimed, and publishes it.
func (l *look) fill() {
	l.mr(iMOV, 8, rmMem(at(l.d, maps.Key)), l.k0)
	switch second := rmMem(at(l.d, maps.Key+8)); l.k1.kind {
	case opdImm:
		l.mi(iMOV, 8, second, l.k1.imm)
	case opdMem:
		l.rmo(iMOV, 8, l.t, l.k1)
		l.mr(iMOV, 8, second, l.t)
	default:
		l.mr(iMOV, 8, second, l.k1.r)
	}
	for n := range int64(l.tab.More) {
		l.rmo(iMOV, 8, l.t, memOpd(l.keyMem(2+n)))
		l.mr(iMOV, 8, rmMem(at(l.d, int32(maps.Key+8*(2+n)))), l.t)
	}
	l.lea(8, l.t, at(l.h, maps.Hidden-maps.Shown))
	l.mr(iMOV, 8, rmMem(at(l.d, maps.Tag)), l.t)
}

// takeGone goes to claimed with a slot of the window that jalon has given back; d is behind the window. It goes to full if there is no room, to taken if another
// thread has been faster.
func (l *look) takeGone(claimed, taken, full label) {
	if l.tab.Sets == 0 && !l.tab.Reuse || l.tab.Single {
		return
	}
	again, found, over := l.a.newLabel(), l.a.newLabel(), l.a.newLabel()
	l.room(full, over)
	l.movImm(RAX, maps.Window)
	l.a.bind(again)
	l.mi(iSUB, 8, rmReg(l.d), int64(l.tab.Stride()))
	l.mi(iCMP, 8, rmMem(at(l.d, maps.Tag)), maps.Gone)
	l.a.jcc(ccE, found)
	l.mi(iSUB, 4, rmReg(RAX), 1)
	l.a.jcc(ccNE, again)
	l.a.bind(over)
	if l.tab.Limit > 0 {
		l.count(maps.Room, 1)
	}
	l.a.jmp(full)
	l.a.bind(found)
	l.movImm(RAX, maps.Gone)
	l.lea(8, l.t, at(l.h, maps.Claimed-maps.Shown))
	l.mr(iCMPXCHG, 8, rmMem(at(l.d, maps.Tag)), l.t)
	l.a.jcc(ccNE, taken)
	l.alone(full)
	l.a.jmp(claimed)
}

// await looks again at slot d, if its tag, in t as compare has left it, is the key's: it is claimed for the key then, or retired. Whether it is claimed is seen in
// the tag that was compared: it may be published by now, and is not to be passed then. n counts.
func (l *look) await(n Reg, start, again, next, full label) {
	over := l.a.newLabel()
	l.mr(iXOR, 8, rmReg(l.t), l.h)
	l.mi(iCMP, 8, rmReg(l.t), maps.Claimed^maps.Shown)
	l.a.jcc(ccNE, next)
	l.mi(iSUB, 4, rmReg(n), 1<<windowBits)
	l.a.jcc(ccB, over)
	if l.tab.Sets > 0 || l.tab.Reuse {
		l.rmo(iMOV, 8, l.t, memOpd(at(l.d, maps.Tag)))
		l.mr(iXOR, 8, rmReg(l.t), l.h)
		l.mi(iCMP, 8, rmReg(l.t), maps.Retired^maps.Shown)
	}
	switch {
	case l.tab.Sets > 0:
		l.a.jcc(ccE, next)
	case l.tab.Reuse: // it is the key's again, unless jalon has given it to others
		l.a.jcc(ccNE, again)
		l.lea(8, RAX, at(l.h, maps.Retired-maps.Shown))
		l.lea(8, l.t, at(l.h, maps.Hidden-maps.Shown))
		l.mr(iCMPXCHG, 8, rmMem(at(l.d, maps.Tag)), l.t)
		l.first()
		l.a.jmp(start)
	}
	if !l.tab.Reuse {
		l.a.jmp(again)
	}
	l.a.bind(over)
	if l.one {
		l.a.jmp(full)
		return
	}
	l.mi(iAND, 4, rmReg(n), 1<<windowBits-1)
	l.a.jmp(next)
}

// alone looks whether another slot of the window than d, which was gone and is claimed, is the key's: another one may have inserted it too, before slot d was
// given back, or meanwhile. Then it leaves slot d, and goes to full.
func (l *look) alone(full label) {
	if !l.one {
		return
	}
	again, next, only := l.a.newLabel(), l.a.newLabel(), l.a.newLabel()
	own, stride := RAX, int64(l.tab.Stride())
	l.rmo(iMOV, 8, own, regOpd(l.d))
	l.first()
	l.rmo(iMOV, 8, l.first0, regOpd(l.d))
	l.mi(iADD, 8, rmReg(l.d), (maps.Window-1)*stride)
	l.a.bind(again)
	l.mr(iCMP, 8, rmReg(l.d), own)
	l.a.jcc(ccE, next)
	l.rmo(iMOV, 8, l.t, memOpd(at(l.d, maps.Tag)))
	l.mi(iOR, 8, rmReg(l.t), maps.Shown)
	l.mr(iCMP, 8, rmReg(l.t), l.h)
	l.a.jcc(ccNE, next)
	l.mi(iMOV, 8, rmMem(at(own, maps.Tag)), maps.Gone)
	l.a.jmp(full)
	l.a.bind(next)
	l.mr(iCMP, 8, rmReg(l.d), l.first0)
	l.a.jcc(ccE, only)
	l.mi(iSUB, 8, rmReg(l.d), stride)
	l.a.jmp(again)
	l.a.bind(only)
	l.rmo(iMOV, 8, l.d, regOpd(own))
}
