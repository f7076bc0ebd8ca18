package process

import (
	"errors"

	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/internal/process/runcontrol"
)

// unsupported refuses to trace: what the rest of this file declares is not written for
// this processor. See "Another processor" in docs/porting.md.
func unsupported(op string) error {
	return &fail.Error{
		Op:     op,
		Err:    errors.New("code inside a process is patched on x86-64 only so far; this is arm64"),
		Remedy: "trace it by the kernel engine: --engine kernel",
	}
}

func missing() { panic("BUG: process: in-process tracing on arm64") }

func classify([]byte) runcontrol.Insn { missing(); return runcontrol.Insn{} }

func (p *stepper) fixStep(*task, runcontrol.InsnKind) { missing() }

func clearTrapFlag(int) { missing() }

func trapFlag(*Regs) bool { missing(); return false }

func (p *breakpoints) emulateAt(*task, *Regs, uint64) bool { missing(); return false }

const (
	trapHandlerCode = ""
	trapReturn      = 0
	trapChain       = 0
	trapRestorer    = 0
	trapData        = 0
)
