package sys

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const debugRegs = 848 // offsetof(struct user, u_debugreg)

// Numbers of debug registers (Intel SDM vol. 3, 18.2): status, and control.
const (
	DR6 = 6
	DR7 = 7
)

// PokeDebug writes debug register n of a stopped thread. The kernel checks addresses
// against DR7 as a whole: what DR7 enables must be valid at each write.
func PokeDebug(tid, n int, v uint64) error {
	return ptrace(unix.PTRACE_POKEUSR, tid, debugRegs+8*uintptr(n), uintptr(v))
}

// PeekDebug reads it; 0 where the thread is dying.
func PeekDebug(tid, n int) (v uint64) {
	_ = ptracePtr(unix.PTRACE_PEEKUSR, tid, debugRegs+8*uintptr(n), unsafe.Pointer(&v))
	return v
}
