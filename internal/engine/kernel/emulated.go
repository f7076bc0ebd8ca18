package kernel

import (
	"bytes"
	"fmt"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/probe"
)

// The kernel does not run the instruction under a uprobe where it lies. Branches and nops
// it emulates, and it tells them by their opcode alone (branch_setup_xol_ops in
// arch/x86/kernel/uprobes.c, seen on Linux 6.18): an AVX or AVX-512 instruction with the
// same opcode byte in its own map is emulated as the branch. vpcmpeqb (c5 f1 74) is run as
// je, vpbroadcastb %esi,%zmm16 (62 e2 7d 48 7a) as jp, vzeroupper (c5 f8 77) as ja: wrong
// results, or the end of every program that comes by. glibc's memset for AVX-512 begins
// with one.

// misrun reports whether the kernel runs the first instruction of code as another.
func misrun(code []byte) bool {
	code = bytes.TrimLeft(code, "\x26\x2e\x36\x3e\x64\x65\x67") // what may stand before VEX
	if len(code) < 5 {
		return false
	}
	var opcode byte
	switch {
	case code[0] == 0xc5:
		opcode = code[2]
	case code[0] == 0xc4, code[0] == 0x8f && code[1]&0x1f >= 8:
		opcode = code[3]
	case code[0] == 0x62:
		opcode = code[4]
	default:
		return false
	}
	switch opcode {
	case 0x90, 0xe8, 0xe9, 0xeb: // nop, call, jmp
		return true
	}
	return opcode&0xf0 == 0x70 // conditional branches
}

// runnable refuses such instructions.
func runnable(p *probe.Place, m *dwarf.Module, vaddr uint64) error {
	const longest = 15
	code, err := m.Text(vaddr, longest)
	if err != nil || !misrun(append(code, make([]byte, longest)...)) {
		return nil // what has no bytes is refused elsewhere
	}
	return refused(p, fmt.Sprintf("the kernel takes the vector instruction at %s for a branch (% x): a uprobe there gives wrong results in every process that runs it", named(m, vaddr), code[:min(len(code), 6)]),
		"trace one process by jalon's own code (-p PID without --all or --engine=kernel), or the instruction behind it")
}
