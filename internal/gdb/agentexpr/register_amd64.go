package agentexpr

import (
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/ir"
)

// constantRegisters have one value in a process: the selectors of Linux's 64-bit user
// segments, and orig_rax outside of system calls.
var constantRegisters = map[string]int64{"cs": 0x33, "ss": 0x2b, "orig_rax": -1}

// otherRegister says how a register is read that is no word of a thread's state.
func otherRegister(name string) (regKind, int64) {
	if strings.HasPrefix(name, "st") || slices.Contains(amd64.X87Control, name) {
		return regX87, 0
	}
	if n, ok := ir.WideNumber(name); ok {
		return regVector, n
	}
	panic("BUG: agentexpr: register " + name)
}
