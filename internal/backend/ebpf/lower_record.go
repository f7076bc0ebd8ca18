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

// mapPointer makes d point to off in the map's value.
func (od *operands) mapPointer(d asm.Register, off uint64) {
	od.emit(asm.LoadMapValue(d, 0, uint32(off)).WithReference(od.c.Name))
}

// cpuOffset leaves stride times the number of the CPU, as far as mask has it, in r0; false: it is 0 always.
func (g *gen) cpuOffset(mask uint32, stride uint64) bool {
	if mask == 0 {
		return false
	}
	g.call(asm.FnGetSmpProcessorId)
	g.emit(asm.And.Imm(asm.R0, int32(mask)))
	g.emit(asm.Mul.Imm(asm.R0, int32(stride)))
	return true
}

// recordCall is where the record of a system call's event has its number.
const recordCall = 8

// site puts the number of the site, from the cookie or by the number of the system call, into r0. An out-of-range number, which does not occur,
// becomes 0 for the verifier.
func (g *gen) site() {
	g.load(asm.R1, g.an.context())
	if t := g.c.SiteByCall; t.Name != "" {
		g.emit(asm.LoadMem(asm.R0, asm.R1, recordCall, asm.Word))
		g.emit(asm.And.Imm(asm.R0, int32(t.Size/4-1)))
		g.emit(asm.LSh.Imm(asm.R0, 2))
		g.emit(asm.LoadMapValue(asm.R1, 0, 0).WithReference(t.Name))
		g.emit(asm.Add.Reg(asm.R1, asm.R0))
		g.emit(asm.LoadMem(asm.R0, asm.R1, 0, asm.Word))
	} else {
		g.call(asm.FnGetAttachCookie)
	}
	ok := g.newLabel()
	g.jumpIfImm(asm.JLT, 8, asm.R0, int32(g.c.Sites), ok)
	g.movImm(asm.R0, 0)
	g.bind(ok)
}

// counters makes r1 point to the site's counters of this CPU.
func (g *gen) counters() { g.siteWord(g.c.Layout.Counters, 8*ring.CountersPerSite) }

// given makes r1 point to the word of this CPU that the site's programs leave for each other.
func (g *gen) given() {
	step := int32(8 * ring.CountersPerSite)
	if g.an.overwrites() {
		step = 8
	}
	g.siteWord(g.c.Layout.Given, step)
}

// siteWord makes r1 point to what this CPU has for the site: CPU 0 has it at an offset, for site 0 if the cookie has the number. step
// is from one site to the next.
func (g *gen) siteWord(at uint64, step int32) {
	if g.c.SiteFromCookie {
		g.site()
		g.emit(asm.StoreMem(asm.R10, g.area(areaWord), asm.R0, asm.DWord))
	}
	if g.cpuOffset(g.c.Layout.CPUMask, g.c.Layout.CounterStride) {
		g.mapPointer(asm.R1, at)
		g.emit(asm.Add.Reg(asm.R1, asm.R0))
	} else {
		g.mapPointer(asm.R1, at)
	}
	if g.c.SiteFromCookie {
		g.emit(asm.LoadMem(asm.R0, asm.R10, g.area(areaWord), asm.DWord))
		g.emit(asm.Mul.Imm(asm.R0, step))
		g.emit(asm.Add.Reg(asm.R1, asm.R0))
	}
}

func (g *gen) count(in *ir.Instr) { g.countIn(in.Imm) }

func (g *gen) countIn(n int64) {
	g.counters()
	g.increment(int16(8 * n))
}

// increment adds 1 to the counter at r1 + off.
func (g *gen) increment(off int16) {
	if g.c.Atomic {
		g.movImm(asm.R0, 1)
		g.emit(asm.AddAtomic.Mem(asm.R1, asm.R0, asm.DWord, off))
		return
	}
	g.emit(asm.LoadMem(asm.R0, asm.R1, off, asm.DWord))
	g.emit(asm.Add.Imm(asm.R0, 1))
	g.emit(asm.StoreMem(asm.R1, off, asm.R0, asm.DWord))
}

func (g *gen) give(in *ir.Instr) {
	g.given()
	g.emit(asm.StoreMem(asm.R1, 0, g.reg(in.A, scratch), asm.DWord))
}

func (g *gen) take(in *ir.Instr) {
	g.given()
	g.emit(asm.LoadMem(asm.R0, asm.R1, 0, asm.DWord))
	g.storeImm(asm.R1, 0, 8, 0)
	g.store(in.Dst, asm.R0)
}

// header makes the upper half of the event's word if Commit does not know it.
func (g *gen) header(in *ir.Instr) {
	switch {
	case g.an.headerKnown():
	case g.c.SiteFromCookie:
		g.site()
		g.emit(asm.Or.Imm(asm.R0, int32(g.eventWord(0, in.Imm))))
		g.store(g.an.header(), asm.R0)
	default:
		g.movImm(asm.R0, g.eventWord(g.c.Layout.SiteID, in.Imm))
		g.store(g.an.header(), asm.R0)
	}
}

// eventWord is the upper half of the word of a complete event.
func (pl *planner) eventWord(site uint32, record int64) int64 {
	head := pl.an.eventHead()
	return int64(ring.EventWord(site, uint64(record-ring.RecHeader+head), uint64(head)))
}

func (g *gen) commit(*ir.Instr) {
	defer g.completed()
	off := int16(ring.RecHeader - g.an.eventHead() + 4)
	if g.an.headerKnown() {
		for size := range g.an.sizes {
			g.storeImm(g.reg(g.an.record(), scratch), off, 4, g.eventWord(g.c.Layout.SiteID, size))
		}
		return
	}
	head := g.reg(g.an.header(), scratch)
	tmp := scratch
	if head == scratch && g.at(g.an.record()).kind != locReg {
		tmp = g.extra()
	}
	g.emit(asm.StoreMem(g.reg(g.an.record(), tmp), off, head, asm.Word))
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
