package kernel

import (
	"bytes"
	"fmt"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/probe"
)

// The kernel does not run the instruction under a uprobe in place. It emulates branches and nops, and
// recognises them only by their opcode (branch_setup_xol_ops in arch/x86/kernel/uprobes.c, seen on Linux 6.18):
// an AVX or AVX-512 instruction with the same opcode byte in its own map is emulated as the branch. vpcmpeqb
// (c5 f1 74) is run as je, vpbroadcastb %esi,%zmm16 (62 e2 7d 48 7a) as jp, vzeroupper (c5 f8 77) as ja: wrong
// results, or the end of every program that comes by. glibc's memset for AVX-512 begins with one.

// misrun reports whether the kernel runs the first instruction of code as another.
func misrun(code []byte) bool {
	code = bytes.TrimLeft(code, "\x26\x2e\x36\x3e\x64\x65\x67") // prefixes allowed before VEX
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

// It single-steps other instructions in a copy of 16 bytes of code, with the trap flag set.
//
//   - A call of the kernel (syscall, sysenter, int $0x80) returns with the trap flag, and the
//     processor runs one more instruction before the trap: the next one, in the copy. A ret
//     or an operand relative to rip makes that a jump to nowhere: a uprobe at the syscall of
//     glibc's umask ends every program that calls it. Until the call returns no signal is
//     delivered, and a thread that clone makes begins in the copy.
//   - pushf saves the flags with the trap flag. The popf that loads them ends the program.
//   - A string instruction with a count (rep stos) traps after each element, and the kernel
//     goes back to the breakpoint: as many hits as elements.

// unstepped returns why a uprobe at the first instruction of code would be wrong; "" = it is right.
func unstepped(code []byte) string {
	in, err := patch.Decode(code, 0)
	if err != nil {
		return "" // refused elsewhere
	}
	switch in.Stepping() {
	case patch.StepCall:
		return "under a uprobe the kernel runs the instruction behind a system call with it, in another place"
	case patch.StepPushes:
		return "under a uprobe the trap flag is among the flags that are saved"
	}
	return ""
}

// repeats reports whether the first instruction of code has one hit for each element.
func repeats(code []byte) bool {
	in, err := patch.Decode(code, 0)
	return err == nil && in.Stepping() == patch.StepRepeat
}

// runnable refuses instructions that the kernel does not run as they are.
func (e *programs) runnable(p *probe.Place, m *dwarf.Module, vaddr uint64) error {
	if host.Processor.InstructionBytes != 0 {
		return nil // these are x86's
	}
	const longest = 15
	code, err := m.Text(vaddr, longest)
	if err != nil {
		return nil // an instruction without bytes is refused elsewhere
	}
	code = append(code, make([]byte, longest)...)
	const hint = "trace one process by jalon's own code (jalon trace -p PID without --all or --engine=kernel; jalon run -p PID), or the instruction behind it"
	if misrun(code) {
		return probe.Diagnose(p, fmt.Sprintf("the kernel takes the vector instruction at %s for a branch (% x): a uprobe there gives wrong results in every process that runs it", named(m, vaddr), code[:6]), hint)
	}
	if why := unstepped(code); why != "" {
		return probe.Diagnose(p, fmt.Sprintf("the instruction at %s (% x) cannot have a uprobe: %s, which ends programs that run it", named(m, vaddr), code[:2], why), hint)
	}
	if repeats(code) {
		return e.unproven(p, fmt.Sprintf("under a uprobe the string instruction at %s (% x) has as many hits as it has elements", named(m, vaddr), code[:2]))
	}
	return nil
}
