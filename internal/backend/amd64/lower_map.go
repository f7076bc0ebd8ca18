package amd64

import (
	"math/bits"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/maps"
)

// mapped works on maps, by the protocol of package maps. A slot is its address, or 0.
type mapped struct {
	*planner
	*emitter
	*pool
	*stubs
	*operands
	*copies
}

func init() {
	lower[ir.MapSlot] = (*gen).lowerMapLook
	lower[ir.MapFind] = (*gen).lowerMapLook
	lower[ir.MapHas] = (*gen).lowerMapHas
	lower[ir.MapSeen] = (*gen).lowerMapSeen
	lower[ir.MapGet] = (*gen).lowerMapGet
	lower[ir.MapSet] = (*gen).lowerMapSet
	lower[ir.KeyWord] = (*gen).lowerKeyWord
	lower[ir.MapShow] = (*gen).lowerMapShow
	lower[ir.MapHide] = (*gen).lowerMapHide
}

// look is a search for a key being emitted.
type look struct {
	*mapped
	tab     maps.Table
	insert  bool // a missing key gets a slot
	one     bool // it never gets a second one: see maps.Claims
	wait    bool // for slots that others have claimed for the key
	first0  Reg  // of tables with Reuse: scratch
	k0      Reg
	k1      opd // a register, or a constant: as a number, or as memory
	d, h, t Reg // the slot; the tag of a shown slot of the key; scratch
	done    label
}

// lowerMapLook searches for a key. The first slot of the window is looked at in line: mostly the key is there.
func (ma *mapped) lowerMapLook(in *ir.Instr) {
	if ma.cfg.Maps[in.Aux].Single {
		ma.lowerMapSingle(in)
		return
	}
	l := &look{mapped: ma, tab: ma.cfg.Maps[in.Aux], insert: in.Op == ir.MapSlot, done: ma.a.newLabel()}
	m := &ma.an.p.Maps[in.Aux]
	l.wait = l.insert && m.Shared
	l.one = l.wait && !m.Cells
	if l.insert {
		ma.take(RAX)
		ma.clobber(item(RAX))
	}
	l.k0 = ma.reg(in.A, 8)
	if k, ok := ma.an.constant(in.B); ok && k != int64(int32(k)) {
		l.k1 = memOpd(ripLabel(ma.constant64(fixed(uint64(k)))))
	} else if l.k1 = ma.val(in.B, 8); l.k1.kind == opdMem {
		l.k1 = regOpd(ma.reg(in.B, 8))
	}
	l.d = ma.dst(in.Dst)
	l.h, l.t = ma.scratch(), ma.scratch()
	if l.insert && l.tab.Reuse {
		l.first0 = ma.scratch()
	}
	slow := ma.a.newLabel()
	l.hash(in.B)
	l.first()
	l.compare(slow, slow)
	ma.a.bind(l.done)
	ma.setDst(in.Dst, l.d)
	ma.later(func() {
		ma.a.comment("; the window of the key")
		ma.a.bind(slow)
		l.window()
		ma.a.jmp(l.done)
	})
}

// lowerMapSingle gives the only slot of a map.
func (ma *mapped) lowerMapSingle(in *ir.Instr) {
	d := ma.dst(in.Dst)
	ma.loadAddr(d, fixed(ma.cfg.Maps[in.Aux].Addr+maps.HeaderSize))
	if in.Op == ir.MapFind {
		there := ma.a.newLabel()
		ma.mi(iTEST, 4, rmMem(at(d, maps.Tag)), maps.Shown^maps.Hidden)
		ma.a.jcc(ccNE, there)
		ma.zero(d)
		ma.a.bind(there)
	}
	ma.setDst(in.Dst, d)
}

// hash makes h the tag of a shown slot of the key.
func (l *look) hash(k1 ir.Value) {
	factor := func(v uint64) int64 { return int64(v) }
	l.movImm(l.h, factor(maps.Factor0))
	l.rmo(iIMUL, 8, l.h, regOpd(l.k0))
	if k, ok := l.an.constant(k1); ok {
		if k *= factor(maps.Factor1); k != 0 {
			l.movImm(l.t, k)
			l.rmo(iADD, 8, l.h, regOpd(l.t))
		}
	} else {
		l.movImm(l.t, factor(maps.Factor1))
		l.rmo(iIMUL, 8, l.t, l.k1)
		l.rmo(iADD, 8, l.h, regOpd(l.t))
	}
	for n := range int64(l.tab.More) {
		l.rmo(iMOV, 8, l.t, regOpd(l.h))
		l.mi(iSHR, 8, rmReg(l.t), maps.HashFold)
		l.rmo(iXOR, 8, l.h, regOpd(l.t))
		l.rmo(iADD, 8, l.h, memOpd(l.keyMem(2+n)))
		l.movImm(l.t, factor(maps.Factor0))
		l.rmo(iIMUL, 8, l.h, regOpd(l.t))
	}
}

// first makes d the first slot of the window.
func (l *look) first() {
	slots := fixed(l.tab.Addr + maps.HeaderSize)
	l.loadAddr(l.d, slots)
	if n := l.tab.IndexShift(); n < 64 {
		l.rmo(iMOV, 8, l.t, regOpd(l.h))
		l.mi(iSHR, 8, rmReg(l.t), int64(n))
		l.mi(iSHL, 8, rmReg(l.t), int64(bits.TrailingZeros64(l.tab.Stride())))
		l.rmo(iADD, 8, l.d, regOpd(l.t))
	}
	l.mi(iOR, 8, rmReg(l.h), maps.Shown)
}

// compare goes to other unless slot d is that of the key, and to tag if its tag is another one: t is then this tag with the bit of Shown.
func (l *look) compare(tag, other label) {
	if l.insert { // a hidden one too
		l.rmo(iMOV, 8, l.t, memOpd(at(l.d, maps.Tag)))
		l.mi(iOR, 8, rmReg(l.t), maps.Shown^maps.Hidden)
		l.rmo(iCMP, 8, l.t, regOpd(l.h))
	} else {
		l.rmo(iCMP, 8, l.h, memOpd(at(l.d, maps.Tag)))
	}
	l.a.jcc(ccNE, tag)
	l.rmo(iCMP, 8, l.k0, memOpd(at(l.d, maps.Key)))
	l.a.jcc(ccNE, other)
	switch second := at(l.d, maps.Key+8); l.k1.kind {
	case opdImm:
		l.mi(iCMP, 8, rmMem(second), l.k1.imm)
	case opdMem:
		l.rmo(iMOV, 8, l.t, l.k1)
		l.rmo(iCMP, 8, l.t, memOpd(second))
	default:
		l.rmo(iCMP, 8, l.k1.r, memOpd(second))
	}
	l.a.jcc(ccNE, other)
	for n := range int64(l.tab.More) {
		l.rmo(iMOV, 8, l.t, memOpd(l.keyMem(2+n)))
		l.rmo(iCMP, 8, l.t, memOpd(at(l.d, int32(maps.Key+8*(2+n)))))
		l.a.jcc(ccNE, other)
	}
}

// windowBits are the low bits of the counter of window that count slots; those above count looks at claimed slots.
const windowBits = 8

// window looks at all slots of the window. At its end d is the slot or 0.
func (l *look) window() {
	start, again, next, free, none := l.a.newLabel(), l.a.newLabel(), l.a.newLabel(), l.a.newLabel(), l.a.newLabel()
	n := RAX
	if !l.insert {
		n = l.scratch()
	}
	l.a.bind(start)
	count, full := int64(maps.Window), l.a.newLabel()
	if l.wait {
		count |= maps.Claims << windowBits
	}
	l.movImm(n, count)
	l.a.bind(again)
	l.mi(iCMP, 8, rmMem(at(l.d, maps.Tag)), 0)
	l.a.jcc(ccE, free)
	tag := next
	if l.wait {
		tag = l.a.newLabel()
	}
	l.compare(tag, next)
	l.a.jmp(l.done)
	if l.wait {
		l.a.bind(tag)
		l.await(n, start, again, next, full)
	}
	l.a.bind(next)
	l.mi(iADD, 8, rmReg(l.d), int64(l.tab.Stride()))
	l.mi(iSUB, 4, rmReg(n), 1)
	if l.wait {
		l.mi(iTEST, 4, rmReg(n), 1<<windowBits-1)
	}
	l.a.jcc(ccNE, again)
	if l.insert {
		l.enter(windowLabels{start, next, free, full, none})
	} else {
		l.a.bind(free)
	}
	l.a.bind(none)
	l.zero(l.d)
}

// word addresses a word of the value of the slot that in works on.
func (ma *mapped) word(in *ir.Instr, slot Reg) mem {
	return at(slot, int32(int64(ma.cfg.Maps[in.Aux].Value())+8*in.Imm))
}

// lowerMapHas: a slot has an address.
func (ma *mapped) lowerMapHas(in *ir.Instr) {
	s, d := ma.reg(in.A, 8), ma.dst(in.Dst)
	ma.mi(iCMP, 8, rmReg(s), 1)
	ma.setcc(ccAE, d)
	ma.rmo(iMOVZB, 4, d, regOpd(d))
	ma.setDst(in.Dst, d)
}

// ofSlot emits f with the address of the slot, unless there is none. ready puts operands into registers before.
func (ma *mapped) ofSlot(in *ir.Instr, ready, f func(s Reg)) {
	s, none := ma.reg(in.A, 8), ma.a.newLabel()
	if ready != nil {
		ready(s)
	}
	if !ma.an.always[in.A] {
		ma.mr(iTEST, 8, rmReg(s), s)
		ma.a.jcc(ccE, none)
	}
	f(s)
	ma.a.bind(none)
}

// read loads a word of a slot, by m, into the result; of no slot the result is 0.
func (ma *mapped) read(in *ir.Instr, m func(s, d Reg)) {
	d := ma.dst(in.Dst)
	ma.ofSlot(in, func(s Reg) {
		if d != s { // otherwise it is 0 already where that counts
			ma.zero(d)
		}
	}, func(s Reg) { m(s, d) })
	ma.setDst(in.Dst, d)
}

func (ma *mapped) lowerMapSeen(in *ir.Instr) {
	ma.read(in, func(s, d Reg) {
		ma.rmo(iMOV, 4, d, memOpd(at(s, maps.Tag)))
		ma.mi(iAND, 4, rmReg(d), maps.Shown^maps.Hidden)
	})
}

func (ma *mapped) lowerMapGet(in *ir.Instr) {
	ma.read(in, func(s, d Reg) { ma.rmo(iMOV, 8, d, memOpd(ma.word(in, s))) })
}

func (ma *mapped) lowerMapSet(in *ir.Instr) {
	var v opd
	ma.ofSlot(in, func(Reg) {
		if v = ma.val(in.B, 8); v.kind == opdMem {
			v = regOpd(ma.reg(in.B, 8))
		}
	}, func(s Reg) {
		if v.kind == opdImm {
			ma.mi(iMOV, 8, rmMem(ma.word(in, s)), v.imm)
			return
		}
		ma.mr(iMOV, 8, rmMem(ma.word(in, s)), v.r)
	})
}
