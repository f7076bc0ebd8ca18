package ebpf

import (
	"encoding/binary"

	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/ir"
)

func init() { lower[ir.StrEq] = (*gen).streq }

// textPiece is how many bytes of a text are compared at once.
const textPiece = 64

// streq compares memory with a text.
func (g *gen) streq(in *ir.Instr) {
	text := in.Data + "\x00"
	if g.an.direct() {
		g.streqDirect(in, text)
		return
	}
	g.streqPieces(in, text)
	g.store(in.Dst, scratch)
}

// streqDirect compares words that the program loads itself. All of them have
// a byte that is not zero, so that a word that is equal was read; so was one that
// differs and is not zero. The last word lies over the one before it.
func (g *gen) streqDirect(in *ir.Instr, text string) {
	slow, differ, done := g.newLabel(), g.newLabel(), g.newLabel()
	at := *in
	at.Dst = ir.None
	off := g.pointer(&at, asm.R1)
	w := 8
	for w > len(text) {
		w /= 2
	}
	for n := 0; ; n = min(n+w, len(text)-w) {
		g.wordEqual(int64(off)+int64(n), text[n:n+w], slow)
		if n == len(text)-w {
			break
		}
	}
	g.movImm(scratch, 1)
	g.bind(done)
	g.store(in.Dst, scratch)
	g.rare(func() {
		g.bind(slow)
		g.jumpIfImm(asm.JNE, 8, asm.R1, 0, differ)
		g.streqPieces(in, text)
		g.jump(done)
		g.bind(differ)
		g.movImm(scratch, 0)
		g.jump(done)
	})
}

// wordEqual jumps to slow, with the word in r1, unless the bytes at the scratch
// register + off are text, and not zero.
func (g *gen) wordEqual(off int64, text string, slow label) {
	w := uint8(len(text))
	base := scratch
	if off != int64(int16(off)) {
		base = asm.R2
		g.pointTo(base, scratch, off)
		off = 0
	}
	g.emit(asm.LoadMem(asm.R1, base, int16(off), sizeOf(w)))
	words(text, func(_ int, _ uint8, k uint64) {
		switch {
		case k == 0:
			g.jumpIfImm(asm.JNE, 8, asm.R1, 0, slow)
			g.jump(slow)
		case k <= 1<<31-1:
			g.jumpIfImm(asm.JNE, 8, asm.R1, int32(k), slow)
		default:
			g.movImm(asm.R3, int64(k))
			g.jumpIf(asm.JNE, 8, asm.R1, asm.R3, slow)
		}
	})
}

// streqPieces leaves 0 or 1 in the scratch register. A piece of memory is read
// whole, or, when that fails, up to the end of its first page; bytes that differ
// before the unreadable one decide, else it is a fault.
func (g *gen) streqPieces(in *ir.Instr, text string) {
	differ, done := g.newLabel(), g.newLabel()
	for off := 0; off < len(text); off += textPiece {
		g.piece(in, int64(off), text[off:min(off+textPiece, len(text))], differ)
	}
	g.movImm(scratch, 1)
	g.bind(done)
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
		fault := differ // without a fault edge the result is irrelevant
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
