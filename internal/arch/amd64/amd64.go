// Package amd64 describes x86-64 on Linux.
//
// Sources: System V ABI, AMD64 supplement (psABI): figure 3.36 (DWARF numbers), 3.2.3
// (arguments and results), 3.2.1 (preserved registers), 3.2.2 (red zone), A.2.1 (system calls). GDB's
// features/i386/64bit-*.xml (its order). The kernel's arch/x86/include/uapi/asm/ptrace.h
// and arch/x86/include/asm/user_64.h (struct pt_regs, user_regs_struct), and
// arch/x86/include/uapi/asm/sigcontext.h.
//
// Import rule: it imports arch only.
package amd64

import (
	"math/bits"

	"github.com/jalon-trace/jalon/internal/arch"
)

// Reg is a general register by its hardware number, as instructions encode it. (The
// vector registers of the same number are encoded alike.)
type Reg uint8

// The general registers.
const (
	RAX Reg = iota
	RCX
	RDX
	RBX
	RSP
	RBP
	RSI
	RDI
	R8
	R9
	R10
	R11
	R12
	R13
	R14
	R15
	// NumGPR is how many there are.
	NumGPR = 16
)

// RegSet is a set of general registers: bit n is the register of hardware number n.
type RegSet uint16

// AllGPR has all general registers.
const AllGPR RegSet = 0xffff

// Set is the set of regs.
func Set(regs ...Reg) (s RegSet) {
	for _, r := range regs {
		s |= 1 << r
	}
	return s
}

// Has reports whether r is in s.
func (s RegSet) Has(r Reg) bool { return s>>r&1 != 0 }

// Len is how many registers s has.
func (s RegSet) Len() int { return bits.OnesCount16(uint16(s)) }

// DWARF numbers of registers without a hardware number, and of some others.
const (
	DwarfRAX    arch.Reg = 0
	DwarfRDX    arch.Reg = 1
	DwarfRSP    arch.Reg = 7
	DwarfRIP    arch.Reg = 16 // the return address column
	DwarfXMM0   arch.Reg = 17
	DwarfFlags  arch.Reg = 49
	DwarfES     arch.Reg = 50
	DwarfDS     arch.Reg = 53
	DwarfFS     arch.Reg = 54
	DwarfGS     arch.Reg = 55
	DwarfFSBase arch.Reg = 58
	DwarfGSBase arch.Reg = 59
)

// DWARF is the DWARF number of a general register.
func (r Reg) DWARF() arch.Reg { return dwarfOf[r] }

// FromDWARF is the general register of a DWARF number.
func FromDWARF(r arch.Reg) (Reg, bool) {
	if r < 0 || r >= NumGPR {
		return 0, false
	}
	return fromDWARF[r], true
}

var dwarfOf, fromDWARF = func() (of [NumGPR]arch.Reg, from [NumGPR]Reg) {
	for _, g := range general {
		of[g.reg], from[g.dwarf] = g.dwarf, g.reg
	}
	return of, from
}()

// Name is the name of the 8, 4, 2 or 1 low bytes of a register, as assemblers spell it.
func (r Reg) Name(bytes int) string {
	g := &general[generalOf[r]]
	switch bytes {
	case 4:
		return g.dword
	case 2:
		return g.word
	case 1:
		return g.byte
	}
	return g.name
}

var generalOf = func() (of [NumGPR]int) {
	for i, g := range general {
		of[g.reg] = i
	}
	return of
}()
