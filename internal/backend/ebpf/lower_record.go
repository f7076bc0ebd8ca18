package ebpf

import (
	"math"

	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ring"
)

func init() {
	lower[ir.Reserve] = (*gen).reserve
	lower[ir.Put] = (*gen).put
	lower[ir.Commit] = (*gen).commit
	lower[ir.Count] = (*gen).count
	lower[ir.Give] = (*gen).give
	lower[ir.Take] = (*gen).take
}

// tries is how often a Reserve that others interrupt is tried again. The others
// run on the same CPU, in interrupts, or are threads that moved to another in between.
const tries = 8

// mapPointer makes d point to off in the map's value.
func (od *operands) mapPointer(d asm.Register, off uint64) {
	od.emit(asm.LoadMapValue(d, 0, uint32(off)).WithReference(od.c.Name))
}

// cpuOffset leaves stride times the number of the CPU in r0; false: it is 0 always.
func (g *gen) cpuOffset(stride uint64) bool {
	if g.c.Layout.CPUMask == 0 {
		return false
	}
	g.call(asm.FnGetSmpProcessorId)
	g.emit(asm.And.Imm(asm.R0, int32(g.c.Layout.CPUMask)))
	g.emit(asm.Mul.Imm(asm.R0, int32(stride)))
	return true
}

// site puts the number of the site, from the cookie, into r0. An out-of-range number, which does not occur,
// becomes 0 for the verifier.
func (g *gen) site() {
	g.load(asm.R1, g.an.context())
	g.call(asm.FnGetAttachCookie)
	ok := g.newLabel()
	g.jumpIfImm(asm.JLT, 8, asm.R0, int32(g.c.Sites), ok)
	g.movImm(asm.R0, 0)
	g.bind(ok)
}

// counters makes r1 point to the site's counters of this CPU.
func (g *gen) counters() {
	if g.c.SiteFromCookie {
		g.site()
		g.emit(asm.StoreMem(asm.R10, g.area(areaWord), asm.R0, asm.DWord))
	}
	if g.cpuOffset(g.c.Layout.CounterStride) {
		g.mapPointer(asm.R1, g.c.Layout.Counters)
		g.emit(asm.Add.Reg(asm.R1, asm.R0))
	} else {
		g.mapPointer(asm.R1, g.c.Layout.Counters)
	}
	if g.c.SiteFromCookie {
		g.emit(asm.LoadMem(asm.R0, asm.R10, g.area(areaWord), asm.DWord))
		g.emit(asm.Mul.Imm(asm.R0, 8*ring.CountersPerSite))
		g.emit(asm.Add.Reg(asm.R1, asm.R0))
	}
}

func (g *gen) count(in *ir.Instr) { g.countIn(in.Imm) }

func (g *gen) countIn(n int64) {
	g.counters()
	off := int16(8 * n)
	if g.c.Atomic {
		g.movImm(asm.R0, 1)
		g.emit(asm.AddAtomic.Mem(asm.R1, asm.R0, asm.DWord, off))
		return
	}
	g.emit(asm.LoadMem(asm.R0, asm.R1, off, asm.DWord))
	g.emit(asm.Add.Imm(asm.R0, 1))
	g.emit(asm.StoreMem(asm.R1, off, asm.R0, asm.DWord))
}

// givenWord is the counter that a site's programs leave a word for each other in.
const givenWord = 8 * 3

func (g *gen) give(in *ir.Instr) {
	g.counters()
	g.emit(asm.StoreMem(asm.R1, givenWord, g.reg(in.A, scratch), asm.DWord))
}

func (g *gen) take(in *ir.Instr) {
	g.counters()
	g.emit(asm.LoadMem(asm.R0, asm.R1, givenWord, asm.DWord))
	g.storeImm(asm.R1, givenWord, 8, 0)
	g.store(in.Dst, asm.R0)
}

// reserve takes room in the CPU's ring (see package ring for the protocol). The pointer to the record is first the
// address of the ring's data:
//
//	again: old = reserved; if old + size - consumed > ring: full
//	       time, between the load of reserved and the exchange
//	       cmpxchg reserved: old -> old + size; if it was another: again
//	       record += old & mask; store the time
//	full:  if reserved is not old any more: again; else lost
func (g *gen) reserve(in *ir.Instr) {
	const reserved, consumed = ring.RingReserved - ring.RingData, ring.RingConsumed - ring.RingData
	l := &g.c.Layout
	if g.cpuOffset(l.RingStride) {
		g.mapPointer(asm.R4, l.Rings+ring.RingData)
		g.emit(asm.Add.Reg(asm.R4, asm.R0))
	} else {
		g.mapPointer(asm.R4, l.Rings+ring.RingData)
	}
	g.store(g.an.record(), asm.R4)
	turn, old := g.area(areaTurn), g.area(areaTurn)+8
	g.movImm(asm.R5, 1)
	again, retry, full := g.here(), g.newLabel(), g.newLabel()
	g.emit(asm.StoreMem(asm.R10, turn, asm.R5, asm.DWord))
	g.emit(asm.LoadMem(asm.R1, asm.R4, reserved, asm.DWord))
	g.emit(asm.LoadMem(asm.R3, asm.R4, consumed, asm.DWord))
	g.emit(asm.StoreMem(asm.R10, old, asm.R1, asm.DWord))
	g.mov(asm.R2, asm.R1)
	g.emit(asm.Add.Imm(asm.R2, int32(in.Imm)))
	g.emit(asm.Sub.Reg(asm.R2, asm.R3))
	g.jumpIfImm(asm.JGT, 8, asm.R2, int32(l.RingSize), full)
	g.call(asm.FnKtimeGetNs)
	g.mov(asm.R3, asm.R0)
	g.load(asm.R4, g.an.record())
	g.emit(asm.LoadMem(asm.R0, asm.R10, old, asm.DWord))
	g.mov(asm.R1, asm.R0)
	g.mov(asm.R2, asm.R0)
	g.emit(asm.Add.Imm(asm.R2, int32(in.Imm)))
	g.emit(compareExchange(asm.R4, asm.R2, reserved))
	g.jumpIf(asm.JNE, 8, asm.R0, asm.R1, retry)
	g.emit(asm.And.Imm(asm.R1, int32(l.RingSize-1)))
	g.emit(asm.Add.Reg(asm.R4, asm.R1))
	g.emit(asm.StoreMem(asm.R4, ring.RecTSC, asm.R3, asm.DWord))
	g.store(g.an.record(), asm.R4)
	g.rare(func() {
		lost := g.newLabel()
		g.bind(full)
		g.emit(asm.LoadMem(asm.R0, asm.R4, reserved, asm.DWord))
		g.jumpIf(asm.JEq, 8, asm.R0, asm.R1, lost)
		g.bind(retry)
		g.emit(asm.LoadMem(asm.R5, asm.R10, turn, asm.DWord))
		g.emit(asm.Add.Imm(asm.R5, 1))
		g.jumpIfImm(asm.JLE, 8, asm.R5, tries, again)
		g.bind(lost)
		g.countIn(ir.CounterLost)
		g.exit()
	})
	g.head(in)
}

// compareExchange is asm.CmpXchg.Mem. Version 0.22.0 of the module encodes the instruction's constant,
// which selects the atomic operation, before it sets it.
func compareExchange(base, src asm.Register, off int16) asm.Instruction {
	i := asm.CmpXchg.Mem(base, src, asm.DWord, off)
	i.Constant = int64(asm.CmpXchg >> 8)
	return i
}

// head writes the record's header except the time and the first word, which is left for Commit if it is not known.
func (g *gen) head(in *ir.Instr) {
	thread := scratch
	if v, ok := g.an.pidTgid[in]; ok {
		thread = g.reg(v, scratch)
	} else {
		g.pidTgid()
	}
	g.emit(asm.StoreMem(g.reg(g.an.record(), asm.R1), ring.RecThread, thread, asm.DWord))
	switch {
	case g.an.headerKnown():
	case g.c.SiteFromCookie:
		g.site()
		g.emit(asm.Add.Imm(asm.R0, 1))
		g.emit(asm.LSh.Imm(asm.R0, 32))
		g.emit(asm.Or.Imm(asm.R0, int32(in.Imm)))
		g.store(g.an.header(), asm.R0)
	default:
		g.movImm(asm.R0, g.firstWord(in.Imm))
		g.store(g.an.header(), asm.R0)
	}
}

func (pl *planner) firstWord(size int64) int64 { return (int64(pl.c.Layout.SiteID)+1)<<32 | size }

func (g *gen) commit(*ir.Instr) {
	head := scratch
	if g.an.headerKnown() {
		for size := range g.an.sizes {
			g.movImm(scratch, g.firstWord(size))
		}
	} else {
		head = g.reg(g.an.header(), scratch)
	}
	tmp := scratch
	if head == scratch && g.at(g.an.record()).kind != locReg {
		tmp = g.extra()
	}
	g.emit(asm.StoreMem(g.reg(g.an.record(), tmp), ring.RecSize, head, asm.DWord))
}

// recordAt gives a register and an offset that lead to off in the record; tmp may be used.
func (od *operands) recordAt(off int64, tmp asm.Register) (asm.Register, int16) {
	if off <= math.MaxInt16 {
		return od.reg(od.an.record(), tmp), int16(off)
	}
	od.load(tmp, od.an.record())
	od.emit(asm.Add.Imm(tmp, int32(off)))
	return tmp, 0
}

func (g *gen) put(in *ir.Instr) {
	if k, ok := g.small(in.A, in.W); ok {
		base, off := g.recordAt(in.Imm, scratch)
		g.storeImm(base, off, in.W, int64(k))
		return
	}
	base, off := g.recordAt(in.Imm, scratch)
	tmp := scratch
	if base == scratch && g.at(in.A).kind != locReg {
		tmp = g.extra()
	}
	g.emit(asm.StoreMem(base, off, g.reg(in.A, tmp), sizeOf(in.W)))
}
