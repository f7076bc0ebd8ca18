package amd64

import (
	"strconv"

	"github.com/jalon-trace/jalon/internal/arch"
)

// general are the general registers in GDB's order, which is that of $regs too.
var general = [NumGPR]struct {
	reg                     Reg
	dwarf                   arch.Reg
	name, dword, word, byte string // byte: the assembler's; GDB ends that of r8-r15 in l
	ptRegs, sigcontext      int
}{
	{RAX, 0, "rax", "eax", "ax", "al", 80, 104},
	{RBX, 3, "rbx", "ebx", "bx", "bl", 40, 88},
	{RCX, 2, "rcx", "ecx", "cx", "cl", 88, 112},
	{RDX, 1, "rdx", "edx", "dx", "dl", 96, 96},
	{RSI, 4, "rsi", "esi", "si", "sil", 104, 72},
	{RDI, 5, "rdi", "edi", "di", "dil", 112, 64},
	{RBP, 6, "rbp", "ebp", "bp", "bpl", 32, 80},
	{RSP, 7, "rsp", "esp", "sp", "spl", 152, 120},
	{R8, 8, "r8", "r8d", "r8w", "r8b", 72, 0},
	{R9, 9, "r9", "r9d", "r9w", "r9b", 64, 8},
	{R10, 10, "r10", "r10d", "r10w", "r10b", 56, 16},
	{R11, 11, "r11", "r11d", "r11w", "r11b", 48, 24},
	{R12, 12, "r12", "r12d", "r12w", "r12b", 24, 32},
	{R13, 13, "r13", "r13d", "r13w", "r13b", 16, 40},
	{R14, 14, "r14", "r14d", "r14w", "r14b", 8, 48},
	{R15, 15, "r15", "r15d", "r15w", "r15b", 0, 56},
}

// special are the other words of struct user_regs_struct (ptrace), whose first 21 words
// are struct pt_regs.
var special = []struct {
	name                       string
	dwarf                      arch.Reg
	bytes                      int
	ptrace, ptRegs, sigcontext int
}{
	{"rip", DwarfRIP, 8, 128, 128, 128},
	{"eflags", DwarfFlags, 4, 144, 144, 136},
	{"cs", arch.NoReg, 4, 136, 136, 144}, // 2 bytes in sigcontext
	{"ss", arch.NoReg, 4, 160, 160, 150},
	{"ds", DwarfDS, 4, 184, arch.Nowhere, arch.Nowhere},
	{"es", DwarfES, 4, 192, arch.Nowhere, arch.Nowhere},
	{"fs", DwarfFS, 4, 200, arch.Nowhere, 148},
	{"gs", DwarfGS, 4, 208, arch.Nowhere, 146},
}

// linux are the registers of org.gnu.gdb.i386.linux and .segments, after the vector registers.
var linux = []struct {
	name           string
	dwarf          arch.Reg
	ptrace, ptRegs int
}{
	{"orig_rax", arch.NoReg, 120, 120},
	{"fs_base", DwarfFSBase, 168, arch.Nowhere},
	{"gs_base", DwarfGSBase, 176, arch.Nowhere},
}

// X87Control are the registers of the x87 beside st0-7.
var X87Control = []string{"fctrl", "fstat", "ftag", "fiseg", "fioff", "foseg", "fooff", "fop"}

// Numbers of the registers that form arrays.
const (
	NumX87 = 8
	NumXMM = 16
)

// registers makes the table in GDB's order.
func registers() []arch.Register {
	var list []arch.Register
	add := func(name string, dwarf arch.Reg, bytes, ptRegs, ptrace, sigcontext int) {
		list = append(list, arch.Register{
			Name: name, DWARF: dwarf, GDB: len(list), Bytes: bytes,
			PtRegs: ptRegs, Ptrace: ptrace, Sigcontext: sigcontext,
		})
	}
	elsewhere := func(name string, dwarf arch.Reg, bytes int) {
		add(name, dwarf, bytes, arch.Nowhere, arch.Nowhere, arch.Nowhere)
	}
	for _, g := range general {
		add(g.name, g.dwarf, 8, g.ptRegs, g.ptRegs, g.sigcontext)
	}
	for _, s := range special {
		add(s.name, s.dwarf, s.bytes, s.ptRegs, s.ptrace, s.sigcontext)
	}
	for n := range NumX87 {
		elsewhere("st"+strconv.Itoa(n), 33+arch.Reg(n), 10)
	}
	for _, name := range X87Control {
		elsewhere(name, arch.NoReg, 4)
	}
	for n := range NumXMM {
		elsewhere("xmm"+strconv.Itoa(n), DwarfXMM0+arch.Reg(n), 16)
	}
	elsewhere("mxcsr", 64, 4)
	for _, l := range linux {
		add(l.name, l.dwarf, 8, l.ptRegs, l.ptrace, arch.Nowhere)
	}
	for n := range NumXMM {
		elsewhere("ymm"+strconv.Itoa(n)+"h", arch.NoReg, 16)
	}
	return list
}

// parts are the names of registers and their parts.
func parts() []arch.Part {
	const both = arch.ByGDB | arch.ByAssembler
	var list []arch.Part
	add := func(name string, reg arch.Reg, bits, shift int, by arch.Spelling) {
		list = append(list, arch.Part{Name: name, Reg: reg, Bits: bits, Shift: shift, Spelled: by})
	}
	for _, g := range general {
		add(g.name, g.dwarf, 64, 0, both)
		add(g.dword, g.dwarf, 32, 0, both)
		if g.reg == RSP {
			add(g.word, g.dwarf, 16, 0, arch.ByAssembler) // GDB's $sp is the stack pointer
		} else {
			add(g.word, g.dwarf, 16, 0, both)
		}
		if g.reg < R8 {
			add(g.byte, g.dwarf, 8, 0, both)
			continue
		}
		add(g.byte, g.dwarf, 8, 0, arch.ByAssembler)
		add(g.name+"l", g.dwarf, 8, 0, arch.ByGDB)
	}
	for _, r := range []Reg{RAX, RBX, RCX, RDX} { // ah bh ch dh
		add(r.Name(2)[:1]+"h", r.DWARF(), 8, 8, both)
	}
	return list
}

// dwarfs are the DWARF numbers of registers.
func dwarfs(regs ...Reg) (list []arch.Reg) {
	for _, r := range regs {
		list = append(list, r.DWARF())
	}
	return list
}

// dump is the order of $regs: GDB's, as far as the flags.
func dump() (list []arch.Reg) {
	for _, g := range general {
		list = append(list, g.dwarf)
	}
	return append(list, DwarfRIP, DwarfFlags)
}

// flagNames are GDB's (features/i386/64bit-core.xml).
var flagNames = []string{
	0: "CF", 2: "PF", 4: "AF", 6: "ZF", 7: "SF", 8: "TF", 9: "IF", 10: "DF", 11: "OF",
	14: "NT", 16: "RF", 17: "VM", 18: "AC", 19: "VIF", 20: "VIP", 21: "ID",
}

// GoResults are the registers in which Go returns words, in order: Go internal ABI specification,
// https://go.dev/s/regabi, "amd64 architecture".
var GoResults = dwarfs(RAX, RBX, RCX, RDI, RSI, R8, R9, R10, R11)

// GoVectors is how many vector registers, from the first on, have floating-point results of Go.
const GoVectors = 15

// Processor is x86-64.
var Processor = arch.Processor{
	Name: "amd64", Title: "x86-64", Machine: 62, // EM_X86_64
	Registers: registers(), Computed: computed, Wide: wide(), Parts: parts(), Vector0: DwarfXMM0, Vectors: NumXMM,
	PC: DwarfRIP, SP: RSP.DWARF(), FP: RBP.DWARF(), Flags: DwarfFlags, ThreadPointer: DwarfFSBase,
	Link: arch.NoReg, ReturnSlot: 8, RedZone: 128, FrameColumns: 17,
	Saved:   dwarfs(RBX, RBP, R12, R13, R14, R15),
	Args:    dwarfs(RDI, RSI, RDX, RCX, R8, R9),
	Results: dwarfs(RAX, RDX), LargeResult: DwarfRAX, HiddenArg: true,
	CallArgs:  dwarfs(RDI, RSI, RDX, R10, R8, R9),
	FlagNames: flagNames, Dump: dump(),
	Task:         arch.Task{ThreadPointer: "thread.fsbase", Compat: "thread_info.status", CompatBits: 2}, // TS_COMPAT
	GuardedLoads: true, CanDecode: true,
	Multiarch: "x86_64-linux-gnu", KernelText: 0xffffffff81000000, // CONFIG_PHYSICAL_START
}
