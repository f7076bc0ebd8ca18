package amd64

import (
	"strconv"

	"github.com/jalon-trace/jalon/internal/arch"
)

// InUse is the number of a word with the bits InUseX87 and InUseAVX for those parts of the
// processor's state that may not be as they are initially. It is there on processors with
// xgetbv1 (XGETBV with 1 in ecx; Intel SDM volume 1, 13.6).
const InUse arch.Reg = 60

// The bits of InUse: the x87 (initially all of it is 0 but for the control word, 0x37f),
// and the upper halves of ymm0-15 (initially 0).
const (
	InUseX87 = 1 << 0
	InUseAVX = 1 << 2
)

// Numbers of wide registers behind xmm0-15.
const (
	UpperYMM = NumXMM        // ymm0: its bits 128-255
	MXCSR    = UpperYMM + 16 // the control and status of SSE
	X87      = MXCSR + 1     // the whole state of the x87
)

// The state of the x87: the head (control, status, tags, opcode, pointers) and st0-7, 16 bytes apart, as
// FXSAVE64 stores them (Intel SDM volume 1, table 10-2). Bytes 24-31 do not belong to the x87. Its slot is
// larger, since FXSAVE64 needs 512 bytes at a multiple of 16.
const (
	X87Head  = 24
	X87Stack = 32
	X87Bytes = X87Stack + NumX87*16
	X87Slot  = 512 + 16
)

// wide makes the table of wide registers.
func wide() (list []arch.Wide) {
	for n := range NumXMM {
		list = append(list, arch.Wide{Name: "xmm" + strconv.Itoa(n), Bytes: 16, Widths: 1<<1 | 1<<2 | 1<<4 | 1<<8 | 1<<16})
	}
	for n := range NumXMM {
		list = append(list, arch.Wide{Name: "ymm" + strconv.Itoa(n) + "h", Bytes: 16, Widths: 1 << 16})
	}
	list = append(list, arch.Wide{Name: "mxcsr", Bytes: 4, Widths: 1 << 4})
	x87 := arch.Wide{Name: "x87", Bytes: X87Bytes, Widths: 1 << 0, Slot: X87Slot, Parts: [][2]int{{0, X87Head}}}
	for n := range NumX87 {
		x87.Parts = append(x87.Parts, [2]int{X87Stack + 16*n, 10})
	}
	return append(list, x87)
}

// computed has the words that are no registers.
var computed = []arch.Register{{
	Name: "in_use", DWARF: InUse, GDB: -1, Bytes: 8,
	PtRegs: arch.Nowhere, Ptrace: arch.Nowhere, Sigcontext: arch.Nowhere,
}}
