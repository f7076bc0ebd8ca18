package process

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/fail"
)

// Regs are the general registers of a thread, as PTRACE_GETREGSET gives them (struct
// user_pt_regs in the kernel's arch/arm64/include/uapi/asm/ptrace.h).
type Regs struct{ unix.PtraceRegs }

// PC is the address of the next instruction.
func (r *Regs) PC() uint64 { return r.Pc }

// SetPC sets it.
func (r *Regs) SetPC(pc uint64) { r.Pc = pc }

// SP is the stack pointer.
func (r *Regs) SP() uint64 { return r.Sp }

// SetSP sets it.
func (r *Regs) SetSP(sp uint64) { r.Sp = sp }

// auditArch is how seccomp filters call the processor.
const auditArch = unix.AUDIT_ARCH_AARCH64

// sysEpollWait: there is no such call.
const sysEpollWait = -1

// plainForks: no call creates a process without naming flags.
var plainForks = map[int64]uint64{}

// unsupported refuses to trace: what the rest of this file stands for is not written
// for this processor. See "Another processor" in docs/porting.md.
func unsupported(op string) error {
	return &fail.Error{
		Op:     op,
		Err:    errors.New("code inside a process is patched on x86-64 only so far; this is arm64"),
		Remedy: "trace it by the kernel engine: --engine kernel",
	}

}

// The rest is never called, since no process is attached to or started: unsupported
// comes first.

func missing() { panic("BUG: process: in-process tracing on arm64") }

func (r *Regs) ThreadPointer() uint64                  { missing(); return 0 }
func (r *Regs) call() int64                            { missing(); return 0 }
func (r *Regs) callArg(int) uint64                     { missing(); return 0 }
func (r *Regs) callResult() int64                      { missing(); return 0 }
func (r *Regs) setCallResult(int64)                    { missing() }
func (r *Regs) setCall(uint64, uint64, ...uint64)      { missing() }
func (r *Regs) setPause(uint64, time.Duration)         { missing() }
func (r *Regs) setClock(uint64)                        { missing() }
func (inj *injection) recovery() []byte                { missing(); return nil }
func escapeBytes() []byte                              { missing(); return nil }
func getXSave(int) ([]byte, error)                     { missing(); return nil, nil }
func setXSave(int, []byte) error                       { missing(); return nil }
func classify([]byte) insn                             { missing(); return insn{} }
func (p *Process) fixStep(*task, insnKind)             { missing() }
func (p *Process) doPopf(*task, *Regs) bool            { missing(); return false }
func (p *Process) emulateAt(*task, *Regs, uint64) bool { missing(); return false }

const (
	syscallLen      = 4
	trapHandlerCode = ""
	trapChain       = 0
	trapRestorer    = 0
	trapData        = 0
	escapeData      = 0
	escapeSize      = 0
	escapeMask      = 0
	escapeCallEnd   = 0
)
