package sema

import (
	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/ctype"
)

// flagsType is GDB's type of the flags.
func flagsType(*arch.Register) *ctype.Type {
	return &ctype.Type{Kind: ctype.Int, Name: "i386_eflags", Size: 4, Signed: true}
}

// moreRegisters adds what no other processor has.
func moreRegisters(m map[string]register) {
	m["rflags"] = m["eflags"]
	m["fs_base"] = register{ctype.LongT, int(amd64.DwarfFSBase), 0}
	m["gs_base"] = register{ctype.LongT, int(amd64.DwarfGSBase), 0}
}

// notHere are GDB's register names that a site does not have.
var notHere = map[string]string{
	"st": "x87 registers are not taken", "ymm": "only the low halves, $xmm0 to $xmm15, are taken",
	"zmm": "only the low quarters, $xmm0 to $xmm15, are taken", "k": "mask registers are not taken",
	"cs": "segment registers are not taken", "ds": "segment registers are not taken", "es": "segment registers are not taken",
	"fs": "write $fs_base", "gs": "write $gs_base", "ss": "segment registers are not taken",
	"mxcsr": "it is not taken", "bnd": "bound registers are not taken", "orig_rax": "a site is not in a system call",
}
