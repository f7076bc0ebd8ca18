package inferior

import "encoding/binary"

// The tags of x87 registers.
const (
	tagValid   = 0
	tagZero    = 1
	tagSpecial = 2 // infinity, not a number, denormal, unnormal
	tagEmpty   = 3
)

// fullTag is the 16-bit tag word: two bits for each physical register. XSAVE keeps
// only whether a register is empty; the rest follows from the values, which are in
// the order of the stack, st0 being the physical register TOP of the status word.
func fullTag(abridged byte, status uint16, st []byte) uint16 {
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

// abridgedTag is the form of XSAVE.
func abridgedTag(full uint16) byte {
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
