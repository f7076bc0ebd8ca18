package sema

import (
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// What the kind of place has and lacks.

const (
	noRegistersHere = "registers are not there at this kind of place"
	withRegisters   = "kprobe:, kretprobe:, uprobe:, uretprobe:, usdt:, profile:, interval:, software: and hardware: places have them"
	withArguments   = "kprobe:, uprobe:, rawtracepoint:, fentry: and fexit: places have them"
)

// inPtRegs: the kernel keeps the register in struct pt_regs.
func inPtRegs(reg int) bool {
	_, ok := processor.PtRegs(arch.Reg(reg))
	return ok
}

// commonBytes are the first bytes of a tracepoint's record, which a program does not see.
const commonBytes = 8

// maxArgs is how many words a raw tracepoint has at most (MAX_BPF_FUNC_ARGS).
const maxArgs = 12

// merged returns a, with the members of b that a lacks.
func merged(a, b []string) []string {
	out := append([]string(nil), a...)
	for _, n := range b {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// namesOf are the members of args, and the arguments that are no such members.
func namesOf(s debuginfo.Scope) (names []string) {
	if v, err := s.Lookup("args"); err == nil && v.Type != nil {
		names = memberNames(v.Type.Strip(), 0)
	}
	for _, v := range s.Args() {
		if v.Name != "args" {
			names = merged(names, []string{v.Name})
		}
	}
	return names
}

const maxListed = 24 // names in a hint

func listed(what string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	more := ""
	if len(names) > maxListed {
		names, more = names[:maxListed], ", ..."
	}
	return what + strings.Join(names, ", ") + more
}

// maxDynamic bounds a dynamic array: its length has 16 bits.
const maxDynamic = 1<<16 - 1
