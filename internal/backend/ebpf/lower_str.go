package ebpf

import (
	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/ir"
)

func init() { lower[ir.CopyStr] = (*gen).copyStr }

// maxWideChars bounds strings of wide characters: the verifier follows the loop over
// them, and keeps one state (of 8192) for each turn.
const maxWideChars = 4096

// copyWide reads a string of characters of W bytes, for which there is no helper: the whole slot, or, if
// that fails, the part that is readable up to the end of a page. The slot then has Aux bytes (the helpers
// zero the unread ones), of which r5 were read. The first zero character ends the string if it was read.
func (cp *copies) copyWide(in *ir.Instr) {
	side := cp.addressArgument(in)
	cp.target(in.Imm + ir.CountedHeader)
	cp.movImm(asm.R2, in.Aux)
	cp.probeRead(false, side)
	part, look, cut, done := cp.newLabel(), cp.newLabel(), cp.newLabel(), cp.newLabel()
	cp.jumpIfImm(asm.JNE, 8, asm.R0, 0, part)
	cp.movImm(asm.R5, in.Aux)
	cp.bind(look)
	cp.findZero(in)
	cp.jumpIf(asm.JGE, 8, asm.R0, asm.R5, cut)
	cp.counted(in, asm.R0)
	cp.bind(done)
	cp.rare(func() {
		cp.bind(part)
		none := cp.newLabel()
		cp.prefix(in, none)
		cp.emit(asm.And.Imm(asm.R0, -int32(in.W)))
		cp.jumpIfImm(asm.JEq, 8, asm.R0, 0, none)
		cp.mov(asm.R5, asm.R0)
		cp.jump(look)
		cp.bind(none)
		cp.unreadable(in, done)
	})
	cp.rare(func() {
		cp.bind(cut)
		truncated := cp.newLabel()
		cp.jumpIfImm(asm.JEq, 8, asm.R5, int32(in.Aux), truncated)
		cp.movImm(asm.R0, ir.FlagUnreadable<<32)
		cp.emit(asm.Or.Reg(asm.R0, asm.R5))
		cp.counted(in, asm.R0)
		cp.jump(done)
		cp.bind(truncated)
		cp.countedImm(in, in.Aux, ir.FlagTruncated)
		cp.jump(done)
	})
}

// findZero leaves the offset of the first character of the slot that is zero in r0, or
// Aux; it uses r1 to r4.
func (cp *copies) findZero(in *ir.Instr) {
	cp.load(asm.R2, cp.an.record())
	cp.emit(asm.Add.Imm(asm.R2, int32(in.Imm+ir.CountedHeader)))
	cp.movImm(asm.R0, 0)
	found := cp.newLabel()
	again := cp.here()
	cp.mov(asm.R3, asm.R2)
	cp.emit(asm.Add.Reg(asm.R3, asm.R0))
	cp.emit(asm.LoadMem(asm.R4, asm.R3, 0, sizeOf(in.W)))
	cp.jumpIfImm(asm.JEq, 8, asm.R4, 0, found)
	cp.emit(asm.Add.Imm(asm.R0, int32(in.W)))
	cp.jumpIfImm(asm.JLT, 8, asm.R0, int32(in.Aux), again)
	cp.bind(found)
}

// copyStr reads a string of at most Aux bytes. The helper ends its copy with a NUL within that size, so the
// last byte is read again if the copy fills the slot. If the helper meets unreadable memory it returns
// nothing: then the readable part has no NUL, and is read by pages.
func (cp *copies) copyStr(in *ir.Instr) {
	if in.Aux == 0 {
		cp.countedImm(in, 0, ir.FlagTruncated)
		return
	}
	if in.W > 1 {
		cp.copyWide(in)
		return
	}
	side := cp.addressArgument(in)
	cp.target(in.Imm + ir.CountedHeader)
	cp.movImm(asm.R2, in.Aux)
	cp.probeRead(true, side)
	fault, full, done := cp.newLabel(), cp.newLabel(), cp.newLabel()
	cp.retryStr(in, side)
	cp.jumpIfImm(asm.JSLE, 8, asm.R0, 0, fault)
	cp.jumpIfImm(asm.JEq, 8, asm.R0, int32(in.Aux), full)
	cp.emit(asm.Sub.Imm(asm.R0, 1))
	cp.counted(in, scratch)
	cp.bind(done)
	cp.rare(func() {
		cp.bind(full)
		cp.lastByte(in, side)
		cp.jump(done)
	})
	cp.rare(func() {
		cp.bind(fault)
		none, empty := cp.newLabel(), cp.newLabel()
		cp.jumpIfImm(asm.JEq, 8, asm.R0, 0, empty)
		cp.prefix(in, none)
		cp.movImm(asm.R2, ir.FlagUnreadable<<32)
		cp.emit(asm.Or.Reg(asm.R0, asm.R2))
		cp.counted(in, scratch)
		cp.jump(done)
		cp.bind(empty) // Linux 6.1 gives 0 for the user's empty string
		cp.countedImm(in, 0, 0)
		cp.jump(done)
		cp.bind(none)
		cp.unreadable(in, done)
	})
}

// unreadable ends a copy of which nothing could be read: at its fault block, or with an empty slot marked
// as such.
func (cp *copies) unreadable(in *ir.Instr, done label) {
	if f, ok := cp.an.faults(in); ok {
		cp.jump(cp.faultLabel(in, f))
		return
	}
	cp.countedImm(in, 0, ir.FlagUnreadable)
	cp.jump(done)
}

// maxTouched bounds how many pages of a string are brought into memory.
const maxTouched = 4

// retryStr reads a string again that was not in memory: a byte of each of its pages
// is read by the helper that sleeps.
func (cp *copies) retryStr(in *ir.Instr, s side) {
	if !cp.c.Sleeps || s == kernelSide || s == contextBlock {
		return
	}
	missing, read := cp.newLabel(), cp.newLabel()
	cp.jumpIfImm(asm.JSLT, 8, asm.R0, 0, missing)
	cp.bind(read)
	cp.rare(func() {
		cp.bind(missing)
		for page := int64(0); page < maxTouched; page++ {
			off := min(page*pageSize, in.Aux-1)
			cp.addressArgument(in)
			if off != 0 {
				cp.addImm(asm.R3, off, asm.R1)
			}
			cp.pointTo(asm.R1, asm.R10, int64(cp.area(areaWord)))
			cp.movImm(asm.R2, 1)
			cp.probeRead(false, s)
			if off == in.Aux-1 {
				break
			}
		}
		cp.addressArgument(in)
		cp.target(in.Imm + ir.CountedHeader)
		cp.movImm(asm.R2, in.Aux)
		cp.probeRead(true, s)
		cp.jump(read)
	})
}

// lastByte ends a string of Aux-1 bytes or more.
func (cp *copies) lastByte(in *ir.Instr, s side) {
	cp.addressArgument(in)
	cp.addImm(asm.R3, in.Aux-1, asm.R1)
	cp.pointTo(asm.R1, asm.R10, int64(cp.area(areaWord)))
	cp.movImm(asm.R2, 1)
	cp.probeRead(false, s)
	gone, ended, done := cp.newLabel(), cp.newLabel(), cp.newLabel()
	cp.jumpIfImm(asm.JNE, 8, asm.R0, 0, gone)
	cp.emit(asm.LoadMem(asm.R0, asm.R10, cp.area(areaWord), asm.Byte))
	cp.jumpIfImm(asm.JEq, 8, asm.R0, 0, ended)
	base, off := cp.recordAt(in.Imm+ir.CountedHeader+in.Aux-1, asm.R1)
	cp.emit(asm.StoreMem(base, off, asm.R0, asm.Byte))
	cp.countedImm(in, in.Aux, ir.FlagTruncated)
	cp.jump(done)
	cp.bind(gone)
	cp.countedImm(in, in.Aux-1, ir.FlagUnreadable)
	cp.jump(done)
	cp.bind(ended)
	cp.countedImm(in, in.Aux-1, 0)
	cp.bind(done)
}
