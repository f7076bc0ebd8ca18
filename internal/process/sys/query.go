package sys

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// RseqConf is struct ptrace_rseq_configuration (Linux 5.13).
type RseqConf struct {
	Addr             uint64
	Size, Sig, Flags uint32
	_                uint32
}

// GetRseq returns the address of a stopped thread's struct rseq (rseq(2)); ok is false if it has registered
// none, and before Linux 5.13.
func GetRseq(tid int) (c RseqConf, ok bool) {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GET_RSEQ_CONFIGURATION, uintptr(tid),
		unsafe.Sizeof(c), uintptr(unsafe.Pointer(&c)), 0, 0)
	return c, e == 0 && c.Addr != 0
}

// Dispatch is a thread's syscall user dispatch (prctl(PR_SET_SYSCALL_USER_DISPATCH)): system calls become SIGSYS, but
// those of the code in [Offset, Offset+Len) (modulo 2^64), and all while the byte at Selector is DispatchAllow.
type Dispatch struct {
	Mode, Selector, Offset, Len uint64
}

// DispatchAllow is the selector with which system calls are made.
const DispatchAllow = 0

// GetDispatch reads that of a stopped thread, since Linux 6.4; on is false where it has none, known where that can be read.
func GetDispatch(tid int) (d Dispatch, on, known bool) {
	const getConfig = 0x4211 // PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, getConfig, uintptr(tid), unsafe.Sizeof(d), uintptr(unsafe.Pointer(&d)), 0, 0)
	return d, e == 0 && d.Mode != 0, e == 0
}

// ErrFilter is the error of a filter that is not as the kernel makes them.
var ErrFilter = errors.New("a seccomp filter that cannot be understood")

// SeccompFilter reads the nth filter of a stopped thread (CAP_SYS_ADMIN; the caller itself
// must be under none). ENOENT: there are no more.
func SeccompFilter(tid int, n uint64) ([]unix.SockFilter, error) {
	const getFilter = 0x420c // PTRACE_SECCOMP_GET_FILTER
	size, _, e := unix.RawSyscall6(unix.SYS_PTRACE, getFilter, uintptr(tid), uintptr(n), 0, 0, 0)
	if e != 0 {
		return nil, e
	}
	if size == 0 || size > 4096 {
		return nil, ErrFilter
	}
	prog := make([]unix.SockFilter, size)
	got, _, e := unix.RawSyscall6(unix.SYS_PTRACE, getFilter, uintptr(tid), uintptr(n), uintptr(unsafe.Pointer(&prog[0])), 0, 0)
	if e != 0 {
		return nil, e
	}
	if got != size {
		return nil, ErrFilter
	}
	return prog, nil
}

// SyscallInfo is the head of struct ptrace_syscall_info (Linux 5.3).
type SyscallInfo struct {
	Op   uint8
	_    [7]byte
	IP   uint64
	SP   uint64
	Nr   uint64 // at entry; at exit the result
	Args [6]uint64
}

// Values of SyscallInfo.Op.
const (
	SyscallEntry = 1
	SyscallExit  = 2
)

// GetSyscallInfo describes the syscall-stop that a thread is in; ok is false in another
// stop, and before Linux 5.3.
func GetSyscallInfo(tid int) (info SyscallInfo, ok bool) {
	err := ptracePtr(unix.PTRACE_GET_SYSCALL_INFO, tid, unsafe.Sizeof(info), unsafe.Pointer(&info))
	return info, err == nil && info.Op != 0
}
