package sys

import (
	"encoding/binary"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/arch/amd64"
)

// Regs are the general registers of a thread, as PTRACE_GETREGSET gives them.
type Regs struct{ unix.PtraceRegs }

// PC is the address of the next instruction.
func (r *Regs) PC() uint64 { return r.Rip }

// SetPC sets it.
func (r *Regs) SetPC(pc uint64) { r.Rip = pc }

// SP is the stack pointer.
func (r *Regs) SP() uint64 { return r.Rsp }

// SetSP sets it.
func (r *Regs) SetSP(sp uint64) { r.Rsp = sp }

// ThreadPointer is the base of thread-local storage.
func (r *Regs) ThreadPointer() uint64 { return r.Fs_base }

// Call returns the number of the system call that the thread is in or is leaving; negative: none.
func (r *Regs) Call() int64 { return int64(r.Orig_rax) }

// CallArg is argument n of that call.
func (r *Regs) CallArg(n int) uint64 { return *r.Word(callWords[n]) }

// callWords are where the arguments of system calls are in Regs.
var callWords = func() (at [6]int) {
	for n, reg := range amd64.Processor.CallArgs {
		at[n] = amd64.Processor.Register(reg).Ptrace
	}
	return at
}()

// CallResult is the result of a call, negative for an error.
func (r *Regs) CallResult() int64 { return int64(r.Rax) }

// SetCallResult changes the result of a call.
func (r *Regs) SetCallResult(v int64) { r.Rax = uint64(v) }

// SetCall makes the thread run a system call from pc on, where a syscall instruction
// is. The kernel restarts no call that the thread was in: orig_rax is -1.
func (r *Regs) SetCall(pc, nr uint64, args ...uint64) {
	r.Rip, r.Rax, r.Orig_rax = pc, nr, ^uint64(0)
	for n, at := range callWords {
		v := uint64(0)
		if n < len(args) {
			v = args[n]
		}
		*r.Word(at) = v
	}
	r.Eflags &^= TrapFlag | DirectionFlag // no single-step, string direction up
}

// Uncall undoes what the kernel has prepared for a call to be restarted: the thread
// runs its syscall instruction again.
func (r *Regs) Uncall() {
	r.Rip -= SyscallLen
	if r.CallResult() == -erestartBlock {
		r.Rax = unix.SYS_RESTART_SYSCALL
	} else {
		r.Rax = r.Orig_rax
	}
}

// SetPause makes the thread sleep from pc on, where a syscall instruction is.
func (r *Regs) SetPause(pc uint64, d time.Duration) {
	r.SetCall(pc, unix.SYS_POLL, 0, 0, uint64(d.Milliseconds()))
}

// EntersHandler reports whether the registers can be those at the first instruction of a signal's handler.
func (r *Regs) EntersHandler(sig unix.Signal) bool {
	return r.Rdi == uint64(sig) && r.Rax == 0 && r.Rdx == r.Rsp+frameContext && r.Rsi == r.Rsp+frameInfo
}

// EndsHandler reports whether, at rt_sigreturn(2), the frame is that of the handler that began with this stack pointer:
// the handler's return has taken an address from it.
func (r *Regs) EndsHandler(began uint64) bool { return r.Rsp == began+8 }

// AlternateStack is where the frame of a handler that is about to begin has the thread's struct stack_t.
func (r *Regs) AlternateStack() uint64 { return r.Rsp + frameStack }

// Of struct rt_sigframe in the kernel's arch/x86/include/asm/sigframe.h: struct ucontext, its uc_stack, and siginfo_t.
const (
	frameContext = 8
	frameStack   = frameContext + 16
	frameInfo    = frameContext + 304
)

// SavedSegments is how far the word with the segment registers is behind the stack pointer in struct sigcontext, which
// frames of signal handlers have (arch/x86/include/uapi/asm/sigcontext.h).
const SavedSegments = 24

// InterruptedSP returns the stack pointer that a signal frame has, if the word at an offset of a stack is that of its
// segment registers: those of 64-bit programs are always the same.
func InterruptedSP(stack []byte, at int) (sp uint64, ok bool) {
	const userSegments = 0x2b<<48 | 0x33 // ss, fs, gs, cs
	if binary.LittleEndian.Uint64(stack[at:]) != userSegments {
		return 0, false
	}
	return binary.LittleEndian.Uint64(stack[at-SavedSegments:]), true
}

// SetClock does what rdtsc at the pc would do.
func (r *Regs) SetClock(tsc uint64) {
	r.Rax, r.Rdx, r.Rip = tsc&(1<<32-1), tsc>>32, r.Rip+rdtscLen
}

// PlainForks are the calls that create a process without naming flags, with the
// equivalent flags of clone(2).
var PlainForks = map[int64]uint64{unix.SYS_FORK: 0, unix.SYS_VFORK: unix.CLONE_VM | unix.CLONE_VFORK}

// Calls that not every processor has.
const SysEpollWait = unix.SYS_EPOLL_WAIT

// AuditArch is how seccomp filters call the processor.
const AuditArch = unix.AUDIT_ARCH_X86_64

const (
	TrapFlag      = 1 << 8
	DirectionFlag = 1 << 10
	SyscallLen    = 2
	rdtscLen      = 2
)

const ntX86Xstate = 0x202

// xsaveLimit is more than any CPU's area needs (AMX: 11 KiB).
const xsaveLimit = 32 << 10

func GetXSave(tid int) ([]byte, error) {
	b := make([]byte, xsaveLimit)
	iov := unix.Iovec{Base: &b[0], Len: uint64(len(b))}
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GETREGSET, uintptr(tid), ntX86Xstate, uintptr(unsafe.Pointer(&iov)), 0, 0)
	if e != 0 {
		return nil, e
	}
	return b[:iov.Len:iov.Len], nil
}

func SetXSave(tid int, b []byte) error {
	if len(b) == 0 {
		return unix.EINVAL
	}
	iov := unix.Iovec{Base: &b[0], Len: uint64(len(b))}
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_SETREGSET, uintptr(tid), ntX86Xstate, uintptr(unsafe.Pointer(&iov)), 0, 0)
	if e != 0 {
		return e
	}
	return nil
}
