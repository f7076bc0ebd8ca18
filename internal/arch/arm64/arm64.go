// Package arm64 describes AArch64 on Linux.
//
// Sources: DWARF for the Arm 64-bit Architecture (AADWARF64), table "DWARF register
// numbers"; Procedure Call Standard for the Arm 64-bit Architecture (AAPCS64), 6.1.1
// (general registers), 6.8.2 (arguments), 6.9 (results), 6.4.5.1 (nothing below the stack pointer is the program's); the kernel's
// arch/arm64/include/uapi/asm/ptrace.h and asm/ptrace.h (struct user_pt_regs, which
// struct pt_regs begins with), uapi/asm/sigcontext.h, and Documentation/arch/arm64;
// GDB's features/aarch64-core.xml.
//
// Import rule: it imports arch only.
package arm64

import (
	"strconv"

	"github.com/jalon-trace/jalon/internal/arch"
)

// DWARF numbers.
const (
	X0          arch.Reg = 0 // x0 to x30 follow one another
	X8          arch.Reg = 8
	FP          arch.Reg = 29
	LR          arch.Reg = 30
	SP          arch.Reg = 31
	PC          arch.Reg = 32
	TPIDREL0    arch.Reg = 36
	V0          arch.Reg = 64
	NumGPR               = 31
	NumV                 = 32
	wordBytes            = 8
	sigcontext0          = 8 // struct sigcontext begins with fault_address
)

// PState has no number in AADWARF64; the IR reads it by the first behind that table,
// whose last is z31.
const PState arch.Reg = 128

// registers makes the table in GDB's order: x0-x30, sp, pc, cpsr.
func registers() []arch.Register {
	var list []arch.Register
	add := func(name string, dwarf arch.Reg, bytes int) {
		at := len(list) * wordBytes
		list = append(list, arch.Register{
			Name: name, DWARF: dwarf, GDB: len(list), Bytes: bytes,
			PtRegs: at, Ptrace: at, Sigcontext: sigcontext0 + at,
		})
	}
	for n := range NumGPR {
		add("x"+strconv.Itoa(n), X0+arch.Reg(n), 8)
	}
	add("sp", SP, 8)
	add("pc", PC, 8)
	add("cpsr", PState, 4)
	return list
}

// parts are the names of registers and of their low halves.
func parts() []arch.Part {
	const both = arch.ByGDB | arch.ByAssembler
	var list []arch.Part
	for n := range NumGPR {
		list = append(list,
			arch.Part{Name: "x" + strconv.Itoa(n), Reg: X0 + arch.Reg(n), Bits: 64, Spelled: both},
			arch.Part{Name: "w" + strconv.Itoa(n), Reg: X0 + arch.Reg(n), Bits: 32, Spelled: both})
	}
	return append(list,
		arch.Part{Name: "sp", Reg: SP, Bits: 64, Spelled: both},
		arch.Part{Name: "fp", Reg: FP, Bits: 64, Spelled: both},
		arch.Part{Name: "lr", Reg: LR, Bits: 64, Spelled: both})
}

func row(from, n int) (list []arch.Reg) {
	for k := range n {
		list = append(list, X0+arch.Reg(from+k))
	}
	return list
}

// computed is the thread pointer, which is in no block of registers.
var computed = []arch.Register{{
	Name: "tpidr", DWARF: TPIDREL0, GDB: -1, Bytes: wordBytes, PtRegs: arch.Nowhere, Ptrace: arch.Nowhere, Sigcontext: arch.Nowhere,
}}

// Processor is arm64. GuardedLoads is not set: a user address may have a tag in its top
// byte, and the kernel's guard (bpf_arch_uaddress_limit) compares it with the tag.
var Processor = arch.Processor{
	Name: "arm64", Title: "arm64", Machine: 183, // EM_AARCH64
	Registers: registers(), Computed: computed, Parts: parts(), Vector0: V0, Vectors: NumV,
	PC: PC, SP: SP, FP: FP, Flags: PState, ThreadPointer: TPIDREL0,
	Link: LR, FrameColumns: 33,
	Saved: row(19, 11), // x19-x28 and the frame pointer
	Args:  row(0, 8), Results: row(0, 2), LargeResult: arch.NoReg, CopiedArgs: true, AlignArgs: true,
	CallArgs:  row(0, 6),
	FlagNames: []string{31: "N", 30: "Z", 29: "C", 28: "V", 9: "D", 8: "A", 7: "I", 6: "F"},
	Dump:      append(row(0, NumGPR), SP, PC, PState),
	Task:      arch.Task{ThreadPointer: "thread.uw.tp_value"}, InstructionBytes: 4,
	TLSAbove: true, TLSHeader: 16,
	Multiarch: "aarch64-linux-gnu",
}
