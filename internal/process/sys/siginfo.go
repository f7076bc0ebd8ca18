package sys

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Siginfo is the head of the kernel's siginfo_t; the rest is carried along.
type Siginfo struct {
	Signo, Errno, Code int32
	_                  int32
	Addr               uint64 // for faults: the address; for signals that were sent: the sender's pid and uid
	_                  [104]byte
}

// Values of Siginfo.Code (asm-generic/siginfo.h).
const (
	SIUser   = 0    // and below: sent by a program
	SITkill  = -6   // by tgkill(2)
	SIKernel = 0x80 // sent by the kernel: int3, non-canonical address, terminal

	// Of a SIGTRAP:
	TrapBrkpt  = 1 // a step over a system call; icebp
	TrapTrace  = 2 // a single step
	TrapHwbkpt = 4 // a debug register
	TrapNotify = 5 // not a signal: a handler's first instruction, reached by a step

	// Of a SIGSYS; Siginfo.Addr is behind the syscall instruction.
	SysSeccomp  = 1 // a filter's answer
	SysDispatch = 2 // syscall user dispatch
)

// GetSiginfo reads what belongs to the stop of a thread. EINVAL: the stop is not that of a
// signal, nor a PTRACE_EVENT; ESRCH: the thread runs.
func GetSiginfo(tid int, si *Siginfo) error {
	return ptracePtr(unix.PTRACE_GETSIGINFO, tid, 0, unsafe.Pointer(si))
}

// SetSiginfo changes what a handler is shown of the signal that is about to be delivered.
func SetSiginfo(tid int, si *Siginfo) error {
	return ptracePtr(unix.PTRACE_SETSIGINFO, tid, 0, unsafe.Pointer(si))
}

// PeekSiginfo reads a queue of pending signals: the thread's own (0), or the process's
// (unix.PTRACE_PEEKSIGINFO_SHARED). n is how many were read.
func PeekSiginfo(tid int, flags uint32, infos []Siginfo) (n int) {
	arg := struct {
		off   uint64
		flags uint32
		nr    int32
	}{0, flags, int32(len(infos))}
	got, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_PEEKSIGINFO, uintptr(tid), uintptr(unsafe.Pointer(&arg)), uintptr(unsafe.Pointer(&infos[0])), 0, 0)
	if e != 0 {
		return 0
	}
	return min(int(got), len(infos))
}

// SigBit is a signal in a mask.
func SigBit(sig unix.Signal) uint64 { return 1 << (uint(sig) - 1) }

// Synchronous are the signals that instructions raise.
const Synchronous = 1<<(unix.SIGSEGV-1) | 1<<(unix.SIGBUS-1) | 1<<(unix.SIGILL-1) | 1<<(unix.SIGTRAP-1) | 1<<(unix.SIGFPE-1)

// SignalName is the name of a signal.
func SignalName(sig unix.Signal) string {
	if name := unix.SignalName(sig); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(sig)) // real-time signals have none
}
