package sema

import (
	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/ctype"
)

// flagsType is GDB's type of cpsr.
func flagsType(*arch.Register) *ctype.Type {
	return &ctype.Type{Kind: ctype.Int, Name: "cpsr_flags", Size: 4, Signed: true}
}

// moreRegisters adds nothing.
func moreRegisters(map[string]register) {}

// notHere are GDB's register names that a site does not have.
var notHere = map[string]string{
	"v": "vector registers are not taken", "q": "vector registers are not taken", "d": "vector registers are not taken",
	"s": "vector registers are not taken", "fpsr": "it is not taken", "fpcr": "it is not taken",
}
