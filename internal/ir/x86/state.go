// Package x86 is the part of a machine's state that only x86-64 has, for the reference
// evaluator: the wide registers. Only tests import it.
//
// Import rule: x86 imports arch/amd64 only.
package x86

import (
	"encoding/binary"
	"math/rand"

	"github.com/jalon-trace/jalon/internal/arch/amd64"
)

// State is the state of the wide registers; it implements eval.Wide.
type State struct {
	XMM   [amd64.NumXMM][16]byte
	YMMH  [amd64.NumXMM][16]byte // the upper halves of ymm0-15
	X87   [amd64.X87Bytes]byte
	MXCSR uint32
}

// Wide implements eval.Wide.
func (s *State) Wide(n int64) []byte {
	switch {
	case n < amd64.UpperYMM:
		return s.XMM[n][:]
	case n < amd64.MXCSR:
		return s.YMMH[n-amd64.UpperYMM][:]
	case n == amd64.MXCSR:
		return binary.LittleEndian.AppendUint32(nil, s.MXCSR)
	}
	return s.X87[:]
}

// Initial resets the parts that are not in use to their initial state.
func (s *State) Initial(inUse uint64) {
	if inUse&amd64.InUseX87 == 0 {
		s.X87 = [amd64.X87Bytes]byte{0x7f, 0x03}
	}
	if inUse&amd64.InUseAVX == 0 {
		s.YMMH = [amd64.NumXMM][16]byte{}
	}
}

// RandomX87 makes a state of the x87: masks and flags of exceptions, a top of the stack,
// values of all kinds in registers of which some are empty.
func (s *State) RandomX87(r *rand.Rand) {
	r.Read(s.X87[:amd64.X87Head])
	binary.LittleEndian.PutUint16(s.X87[0:], uint16(r.Intn(1<<16))&0x0f3f|0x40)
	s.X87[5] = 0
	for at := amd64.X87Stack; at < amd64.X87Bytes; at += 16 {
		clear(s.X87[at : at+16])
		if r.Intn(4) == 0 {
			continue
		}
		r.Read(s.X87[at : at+10])
		switch r.Intn(4) {
		case 0:
			s.X87[at+8], s.X87[at+9] = 0xff, s.X87[at+9]|0x7f
		case 1:
			s.X87[at+8], s.X87[at+9] = 0, s.X87[at+9]&0x80
		}
	}
}
