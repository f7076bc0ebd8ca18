package amd64

import (
	"math/bits"

	"github.com/jalon-trace/jalon/internal/arch"
	x86 "github.com/jalon-trace/jalon/internal/arch/amd64"
)

// item is something of the traced program that our code may destroy and must
// then save: a general register (0-15), an xmm register (16-31), the flags, the
// mxcsr, or the stack pointer (frame).
type item uint8

const (
	itemXMM   item = 16
	itemFlags item = 32
	itemMXCSR item = 33
	itemFrame item = 34
	numItems       = 35
)

// regSet is a set of items.
type regSet uint64

func setOf(items ...item) regSet {
	var s regSet
	for _, i := range items {
		s |= 1 << i
	}
	return s
}

func (s *regSet) add(i item)     { *s |= 1 << i }
func (s regSet) has(i item) bool { return s>>i&1 != 0 }

// each calls f for the items of s in ascending order.
func (s regSet) each(f func(item)) {
	for s != 0 {
		i := bits.TrailingZeros64(uint64(s))
		f(item(i))
		s &= s - 1
	}
}

const (
	allGPR regSet = 0xffff &^ (1 << RSP)
	allXMM regSet = 0xffff << itemXMM
)

// dwarfGPR gives the hardware number of a DWARF general register.
var dwarfGPR = func() (of [x86.NumGPR]Reg) {
	for n := range of {
		of[n], _ = x86.FromDWARF(arch.Reg(n))
	}
	return of
}()
