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
func (cp *copies) streq(in *ir.Instr) {
	text := in.Data + "\x00"
	if cp.an.direct() {
		cp.streqDirect(in, text)
		return
	}
	cp.streqPieces(in, text)
	cp.store(in.Dst, scratch)
}

// streqDirect compares words that the program loads itself. All of them have
// a byte that is not zero, so that a word that is equal was read; so was one that
// differs and is not zero. The last word lies over the one before it.
func (cp *copies) streqDirect(in *ir.Instr, text string) {
	slow, differ, done := cp.newLabel(), cp.newLabel(), cp.newLabel()
	at := *in
	at.Dst = ir.None
	off := cp.pointer(&at, asm.R1)
	w := 8
	for w > len(text) {
		w /= 2
	}
	for n := 0; ; n = min(n+w, len(text)-w) {
		cp.wordEqual(int64(off)+int64(n), text[n:n+w], slow)
		if n == len(text)-w {
			break
		}
	}
	cp.movImm(scratch, 1)
	cp.bind(done)
	cp.store(in.Dst, scratch)
	cp.rare(func() {
		cp.bind(slow)
		cp.jumpIfImm(asm.JNE, 8, asm.R1, 0, differ)
		cp.streqPieces(in, text)
		cp.jump(done)
		cp.bind(differ)
		cp.movImm(scratch, 0)
		cp.jump(done)
	})
}

// wordEqual jumps to slow, with the word in r1, unless the bytes at the scratch
// register + off are text, and not zero.
func (cp *copies) wordEqual(off int64, text string, slow label) {
	w := uint8(len(text))
	base := scratch
	if off != int64(int16(off)) {
		base = asm.R2
		cp.pointTo(base, scratch, off)
		off = 0
	}
	cp.emit(asm.LoadMem(asm.R1, base, int16(off), sizeOf(w)))
	words(text, func(_ int, _ uint8, k uint64) {
		switch {
		case k == 0:
			cp.jumpIfImm(asm.JNE, 8, asm.R1, 0, slow)
			cp.jump(slow)
		case k <= 1<<31-1:
			cp.jumpIfImm(asm.JNE, 8, asm.R1, int32(k), slow)
		default:
			cp.movImm(asm.R3, int64(k))
			cp.jumpIf(asm.JNE, 8, asm.R1, asm.R3, slow)
		}
	})
}

// streqPieces leaves 0 or 1 in the scratch register. A piece of memory is read
// whole, or, when that fails, up to the end of its first page; bytes that differ
// before the unreadable one decide, else it is a fault.
func (cp *copies) streqPieces(in *ir.Instr, text string) {
	differ, done := cp.newLabel(), cp.newLabel()
	for off := 0; off < len(text); off += textPiece {
		cp.piece(in, int64(off), text[off:min(off+textPiece, len(text))], differ)
	}
	cp.movImm(scratch, 1)
	cp.bind(done)
	cp.rare(func() {
		cp.bind(differ)
		cp.movImm(scratch, 0)
		cp.jump(done)
	})
}

// piece falls through if the memory at in's address + off is text.
func (cp *copies) piece(in *ir.Instr, off int64, text string, differ label) {
	at := *in
	at.Imm += off
	side := cp.addressArgument(&at)
	cp.pointTo(asm.R1, asm.R10, int64(cp.area(areaText)))
	cp.movImm(asm.R2, int64(len(text)))
	cp.probeRead(false, side)
	short, equal := cp.newLabel(), cp.newLabel()
	cp.jumpIfImm(asm.JNE, 8, asm.R0, 0, short)
	cp.compareText(text, differ)
	cp.bind(equal)
	cp.rare(func() {
		cp.bind(short)
		fault := differ // without a fault edge the result is irrelevant
		if f, ok := cp.an.faults(in); ok {
			fault = cp.faultLabel(in, f)
		}
		side := cp.addressArgument(&at)
		cp.movImm(asm.R2, pageSize)
		cp.mov(asm.R1, asm.R3)
		cp.emit(asm.And.Imm(asm.R1, pageSize-1))
		cp.emit(asm.Sub.Reg(asm.R2, asm.R1))
		cp.jumpIfImm(asm.JGE, 8, asm.R2, int32(len(text)), fault)
		// Bytes that are not read count as equal.
		cp.fillText(text)
		cp.pointTo(asm.R1, asm.R10, int64(cp.area(areaText)))
		cp.probeRead(false, side)
		cp.jumpIfImm(asm.JNE, 8, asm.R0, 0, fault)
		cp.compareText(text, differ)
		cp.jump(fault)
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
func (cp *copies) compareText(text string, differ label) {
	base := cp.area(areaText)
	words(text, func(off int, w uint8, k uint64) {
		cp.emit(asm.LoadMem(asm.R0, asm.R10, base+int16(off), sizeOf(w)))
		if k <= 1<<31-1 {
			cp.jumpIfImm(asm.JNE, 8, asm.R0, int32(k), differ)
			return
		}
		cp.movImm(asm.R1, int64(k))
		cp.jumpIf(asm.JNE, 8, asm.R0, asm.R1, differ)
	})
}

// fillText writes text to areaText; r1 is used.
func (cp *copies) fillText(text string) {
	base := cp.area(areaText)
	words(text, func(off int, w uint8, k uint64) {
		if w < 8 || k <= 1<<31-1 {
			cp.storeImm(asm.R10, base+int16(off), w, int64(int32(uint32(k))))
			return
		}
		cp.movImm(asm.R1, int64(k))
		cp.emit(asm.StoreMem(asm.R10, base+int16(off), asm.R1, asm.DWord))
	})
}
