package ebpf

import (
	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/ir"
)

func init() { lower[ir.CopyStr] = (*gen).copyStr }

// maxWideChars bounds strings of wide characters: the verifier follows the loop over
// them, and keeps one state (of 8192) for each turn.
const maxWideChars = 4096

// copyWide reads a string of characters of W bytes, for which there is no helper: all
// of the slot, or, when that fails, what is readable up to the end of a page. In the
// slot are then Aux bytes, those that were not read being zero (the helpers see to
// that), of which r5 were read. The first character that is zero ends the string if
// it was read.
func (g *gen) copyWide(in *ir.Instr) {
	side := g.addressArgument(in)
	g.target(in.Imm + ir.CountedHeader)
	g.movImm(asm.R2, in.Aux)
	g.probeRead(false, side)
	part, look, cut, done := g.newLabel(), g.newLabel(), g.newLabel(), g.newLabel()
	g.jumpIfImm(asm.JNE, 8, asm.R0, 0, part)
	g.movImm(asm.R5, in.Aux)
	g.bind(look)
	g.findZero(in)
	g.jumpIf(asm.JGE, 8, asm.R0, asm.R5, cut)
	g.counted(in, asm.R0)
	g.bind(done)
	g.rare(func() {
		g.bind(part)
		none := g.newLabel()
		g.prefix(in, none)
		g.emit(asm.And.Imm(asm.R0, -int32(in.W)))
		g.jumpIfImm(asm.JEq, 8, asm.R0, 0, none)
		g.mov(asm.R5, asm.R0)
		g.jump(look)
		g.bind(none)
		g.unreadable(in, done)
	})
	g.rare(func() {
		g.bind(cut)
		truncated := g.newLabel()
		g.jumpIfImm(asm.JEq, 8, asm.R5, int32(in.Aux), truncated)
		g.movImm(asm.R0, ir.FlagUnreadable<<32)
		g.emit(asm.Or.Reg(asm.R0, asm.R5))
		g.counted(in, asm.R0)
		g.jump(done)
		g.bind(truncated)
		g.countedImm(in, in.Aux, ir.FlagTruncated)
		g.jump(done)
	})
}

// findZero leaves the offset of the first character of the slot that is zero in r0, or
// Aux; it uses r1 to r4.
func (g *gen) findZero(in *ir.Instr) {
	g.load(asm.R2, g.an.record())
	g.emit(asm.Add.Imm(asm.R2, int32(in.Imm+ir.CountedHeader)))
	g.movImm(asm.R0, 0)
	found := g.newLabel()
	again := g.here()
	g.mov(asm.R3, asm.R2)
	g.emit(asm.Add.Reg(asm.R3, asm.R0))
	g.emit(asm.LoadMem(asm.R4, asm.R3, 0, sizeOf(in.W)))
	g.jumpIfImm(asm.JEq, 8, asm.R4, 0, found)
	g.emit(asm.Add.Imm(asm.R0, int32(in.W)))
	g.jumpIfImm(asm.JLT, 8, asm.R0, int32(in.Aux), again)
	g.bind(found)
}

// copyStr reads a string of at most Aux bytes. The helper ends what it copies
// with a NUL within that size, so that when it filled the slot the last byte
// is read again. When it met unreadable memory it gives nothing: then what is
// readable holds no NUL, and is read by pages.
func (g *gen) copyStr(in *ir.Instr) {
	if in.Aux == 0 {
		g.countedImm(in, 0, ir.FlagTruncated)
		return
	}
	if in.W > 1 {
		g.copyWide(in)
		return
	}
	side := g.addressArgument(in)
	g.target(in.Imm + ir.CountedHeader)
	g.movImm(asm.R2, in.Aux)
	g.probeRead(true, side)
	fault, full, done := g.newLabel(), g.newLabel(), g.newLabel()
	g.retryStr(in, side)
	g.jumpIfImm(asm.JSLE, 8, asm.R0, 0, fault)
	g.jumpIfImm(asm.JEq, 8, asm.R0, int32(in.Aux), full)
	g.emit(asm.Sub.Imm(asm.R0, 1))
	g.counted(in, scratch)
	g.bind(done)
	g.rare(func() {
		g.bind(full)
		g.lastByte(in, side)
		g.jump(done)
	})
	g.rare(func() {
		g.bind(fault)
		none, empty := g.newLabel(), g.newLabel()
		g.jumpIfImm(asm.JEq, 8, asm.R0, 0, empty)
		g.prefix(in, none)
		g.movImm(asm.R2, ir.FlagUnreadable<<32)
		g.emit(asm.Or.Reg(asm.R0, asm.R2))
		g.counted(in, scratch)
		g.jump(done)
		g.bind(empty) // Linux 6.1 gives 0 for the user's empty string
		g.countedImm(in, 0, 0)
		g.jump(done)
		g.bind(none)
		g.unreadable(in, done)
	})
}

// unreadable ends a copy of which nothing could be read: at its fault block, or with an empty
// slot that says so.
func (g *gen) unreadable(in *ir.Instr, done label) {
	if f, ok := g.an.faults(in); ok {
		g.jump(g.faultLabel(in, f))
		return
	}
	g.countedImm(in, 0, ir.FlagUnreadable)
	g.jump(done)
}

// maxTouched bounds how many pages of a string are brought into memory.
const maxTouched = 4

// retryStr reads a string again that was not in memory: a byte of each of its pages
// is read by the helper that sleeps.
func (g *gen) retryStr(in *ir.Instr, s side) {
	if !g.c.Sleeps || s == kernelSide || s == contextBlock {
		return
	}
	missing, read := g.newLabel(), g.newLabel()
	g.jumpIfImm(asm.JSLT, 8, asm.R0, 0, missing)
	g.bind(read)
	g.rare(func() {
		g.bind(missing)
		for page := int64(0); page < maxTouched; page++ {
			off := min(page*pageSize, in.Aux-1)
			g.addressArgument(in)
			if off != 0 {
				g.addImm(asm.R3, off, asm.R1)
			}
			g.pointTo(asm.R1, asm.R10, int64(g.area(areaWord)))
			g.movImm(asm.R2, 1)
			g.probeRead(false, s)
			if off == in.Aux-1 {
				break
			}
		}
		g.addressArgument(in)
		g.target(in.Imm + ir.CountedHeader)
		g.movImm(asm.R2, in.Aux)
		g.probeRead(true, s)
		g.jump(read)
	})
}

// lastByte ends a string of Aux-1 bytes or more.
func (g *gen) lastByte(in *ir.Instr, s side) {
	g.addressArgument(in)
	g.addImm(asm.R3, in.Aux-1, asm.R1)
	g.pointTo(asm.R1, asm.R10, int64(g.area(areaWord)))
	g.movImm(asm.R2, 1)
	g.probeRead(false, s)
	gone, ended, done := g.newLabel(), g.newLabel(), g.newLabel()
	g.jumpIfImm(asm.JNE, 8, asm.R0, 0, gone)
	g.emit(asm.LoadMem(asm.R0, asm.R10, g.area(areaWord), asm.Byte))
	g.jumpIfImm(asm.JEq, 8, asm.R0, 0, ended)
	base, off := g.recordAt(in.Imm+ir.CountedHeader+in.Aux-1, asm.R1)
	g.emit(asm.StoreMem(base, off, asm.R0, asm.Byte))
	g.countedImm(in, in.Aux, ir.FlagTruncated)
	g.jump(done)
	g.bind(gone)
	g.countedImm(in, in.Aux-1, ir.FlagUnreadable)
	g.jump(done)
	g.bind(ended)
	g.countedImm(in, in.Aux-1, 0)
	g.bind(done)
}
