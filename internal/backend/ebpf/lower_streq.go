package ebpf

import (
	"encoding/binary"

	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/ir"
)

// textPiece is how many bytes of a text are compared at once.
const textPiece = 64

// streq compares by pieces: a piece is read whole, or, when that fails, up to
// the end of its first page; bytes that differ before the unreadable one decide,
// else it is a fault.
func (g *gen) streq(in *ir.Instr) {
	text := in.Data + "\x00"
	differ, done := g.newLabel(), g.newLabel()
	for off := 0; off < len(text); off += textPiece {
		g.piece(in, int64(off), text[off:min(off+textPiece, len(text))], differ)
	}
	g.movImm(scratch, 1)
	g.bind(done)
	g.store(in.Dst, scratch)
	g.rare(func() {
		g.bind(differ)
		g.movImm(scratch, 0)
		g.jump(done)
	})
}

// piece goes on behind itself when the memory at in's address + off is text.
func (g *gen) piece(in *ir.Instr, off int64, text string, differ label) {
	at := *in
	at.Imm += off
	side := g.addressArgument(&at)
	g.pointTo(asm.R1, asm.R10, int64(g.area(areaText)))
	g.movImm(asm.R2, int64(len(text)))
	g.probeRead(false, side)
	short, equal := g.newLabel(), g.newLabel()
	g.jumpIfImm(asm.JNE, 8, asm.R0, 0, short)
	g.compareText(text, differ)
	g.bind(equal)
	g.rare(func() {
		g.bind(short)
		fault := differ // without a fault edge the result does not matter
		if f, ok := g.an.faults(in); ok {
			fault = g.faultLabel(in, f)
		}
		side := g.addressArgument(&at)
		g.movImm(asm.R2, pageSize)
		g.mov(asm.R1, asm.R3)
		g.emit(asm.And.Imm(asm.R1, pageSize-1))
		g.emit(asm.Sub.Reg(asm.R2, asm.R1))
		g.jumpIfImm(asm.JGE, 8, asm.R2, int32(len(text)), fault)
		// What is not read stays equal.
		g.fillText(text)
		g.pointTo(asm.R1, asm.R10, int64(g.area(areaText)))
		g.probeRead(false, side)
		g.jumpIfImm(asm.JNE, 8, asm.R0, 0, fault)
		g.compareText(text, differ)
		g.jump(fault)
	})
}

// words cuts text into numbers of 8, 4, 2 and 1 bytes.
func words(text string, f func(off int, w uint8, k uint64)) {
	for off := 0; off < len(text); {
		w := 8
		for w > len(text)-off {
			w /= 2
		}
		var b [8]byte
		copy(b[:], text[off:off+w])
		f(off, uint8(w), binary.LittleEndian.Uint64(b[:]))
		off += w
	}
}

// compareText jumps to differ unless areaText holds text.
func (g *gen) compareText(text string, differ label) {
	base := g.area(areaText)
	words(text, func(off int, w uint8, k uint64) {
		g.emit(asm.LoadMem(asm.R0, asm.R10, base+int16(off), sizeOf(w)))
		if k <= 1<<31-1 {
			g.jumpIfImm(asm.JNE, 8, asm.R0, int32(k), differ)
			return
		}
		g.movImm(asm.R1, int64(k))
		g.jumpIf(asm.JNE, 8, asm.R0, asm.R1, differ)
	})
}

// fillText writes text to areaText; r1 is used.
func (g *gen) fillText(text string) {
	base := g.area(areaText)
	words(text, func(off int, w uint8, k uint64) {
		if w < 8 || k <= 1<<31-1 {
			g.storeImm(asm.R10, base+int16(off), w, int64(int32(uint32(k))))
			return
		}
		g.movImm(asm.R1, int64(k))
		g.emit(asm.StoreMem(asm.R10, base+int16(off), asm.R1, asm.DWord))
	})
}
