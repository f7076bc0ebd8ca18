package sys

import (
	"time"

	"golang.org/x/sys/unix"
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

// AuditArch is how seccomp filters call the processor.
const AuditArch = unix.AUDIT_ARCH_AARCH64

// SysEpollWait: there is no such call.
const SysEpollWait = -1

// PlainForks: no call creates a process without naming flags.
var PlainForks = map[int64]uint64{}

// SyscallLen is the length of a syscall instruction.
const SyscallLen = 4

// The rest is never called: package process refuses to attach to or start a process on this
// processor.

// SavedSegments is written for x86-64 only.
const SavedSegments = 24

func unwritten() { panic("BUG: process: in-process tracing on arm64") }

// ThreadPointer and what follows are written for x86-64 only.
func (r *Regs) ThreadPointer() uint64             { unwritten(); return 0 }
func (r *Regs) Call() int64                       { unwritten(); return 0 }
func (r *Regs) CallArg(int) uint64                { unwritten(); return 0 }
func (r *Regs) CallResult() int64                 { unwritten(); return 0 }
func (r *Regs) SetCallResult(int64)               { unwritten() }
func (r *Regs) SetCall(uint64, uint64, ...uint64) { unwritten() }
func (r *Regs) SetPause(uint64, time.Duration)    { unwritten() }
func (r *Regs) SetClock(uint64)                   { unwritten() }
func (r *Regs) EntersHandler(unix.Signal) bool    { unwritten(); return false }
func (r *Regs) EndsHandler(uint64) bool           { unwritten(); return false }
func (r *Regs) AlternateStack() uint64            { unwritten(); return 0 }
func InterruptedSP([]byte, int) (uint64, bool)    { unwritten(); return 0, false }
func GetXSave(int) ([]byte, error)                { unwritten(); return nil, nil }
func SetXSave(int, []byte) error                  { unwritten(); return nil }
