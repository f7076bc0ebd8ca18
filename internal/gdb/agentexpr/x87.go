package agentexpr

import (
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/arch/amd64"
)

// The tags of x87 registers.
const (
	tagValid   = 0
	tagZero    = 1
	tagSpecial = 2 // infinity, not a number, denormal, unnormal
	tagEmpty   = 3
)

// FullTag is the 16-bit tag word: two bits for each physical register. FXSAVE and
// XSAVE keep only whether a register is empty (abridged); the rest follows from the
// values (st, 16 bytes apart), which are in the order of the stack, st0 being the
// physical register TOP of the status word.
func FullTag(abridged byte, status uint16, st []byte) uint16 {
	top := int(status >> 11 & 7)
	var full uint16
	for physical := range 8 {
		tag := uint16(tagEmpty)
		if abridged>>physical&1 != 0 {
			at := 16 * ((physical - top) & 7)
			tag = tagOf(st[at : at+10])
		}
		full |= tag << (2 * physical)
	}
	return full
}

// AbridgedTag is the form of FXSAVE and XSAVE.
func AbridgedTag(full uint16) byte {
	var b byte
	for physical := range 8 {
		if full>>(2*physical)&3 != tagEmpty {
			b |= 1 << physical
		}
	}
	return b
}

// tagOf classifies a value of 80 bits as FNSTENV does (Intel SDM volume 1, 8.1.7).
func tagOf(st []byte) uint16 {
	significand := binary.LittleEndian.Uint64(st)
	exponent := binary.LittleEndian.Uint16(st[8:]) & 0x7fff
	switch {
	case exponent == 0 && significand == 0:
		return tagZero
	case exponent != 0 && exponent != 0x7fff && significand>>63 == 1:
		return tagValid
	}
	return tagSpecial
}

// initialX87 is the state that the processor does not store when it is not in use
// (Intel SDM volume 1, 13.6): all zero but for the control word.
var initialX87 = [amd64.X87Bytes]byte{0x7f, 0x03}

// initialHalf is the upper half of a ymm register that is not in use.
var initialHalf [16]byte

// x87Field is a register's place in wide register x87 (Intel SDM volume 1, table
// 10-2). What is narrower than the register is its low bytes.
type x87Field struct {
	name      string
	at, bytes int
}

var x87Fields = [8]x87Field{
	{"fctrl", 0, 2},
	{"fstat", 2, 2},
	{"ftag", 4, 1},
	{"fiseg", 12, 2},
	{"fioff", 8, 4},
	{"foseg", 20, 2},
	{"fooff", 16, 4},
	{"fop", 6, 2},
}

// Numbers of x87 registers: st0-7, then x87Fields in their order.
const (
	numST    = 24
	numFTag  = numST + 8 + 2
	numFOp   = numST + 8 + 7
	fopMask  = 0x7ff
	lastX87  = numFOp
	wordSize = 4
)

// x87Register gives register n out of what ir.PutReg stored of x87; it may use buf.
func x87Register(n int, state []byte, buf *[wordSize]byte) []byte {
	if n < numST+8 {
		at := amd64.X87Stack + 16*(n-numST)
		return state[at : at+10]
	}
	*buf = [wordSize]byte{}
	f := &x87Fields[n-numST-8]
	copy(buf[:], state[f.at:f.at+f.bytes])
	switch n {
	case numFTag:
		status := binary.LittleEndian.Uint16(state[2:])
		binary.LittleEndian.PutUint16(buf[:], FullTag(state[f.at], status, state[amd64.X87Stack:amd64.X87Bytes]))
	case numFOp:
		binary.LittleEndian.PutUint16(buf[:], binary.LittleEndian.Uint16(buf[:])&fopMask)
	}
	return buf[:]
}
