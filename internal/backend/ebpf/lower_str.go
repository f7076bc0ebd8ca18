package ebpf

import (
	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/ir"
)

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
