package sys

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Results of an interrupted system call that the kernel turns into a restart, or
// into EINTR, on the way back to the program (include/linux/errno.h).
const (
	erestartSys    = 512
	erestartNoIntr = 513
	RestartNoHand  = 514 // restart unless a handler runs, then EINTR
	erestartBlock  = 516
)

// Restarts reports whether the kernel will move the pc back by the length of a syscall instruction when the
// thread continues.
func Restarts(r *Regs) bool {
	if r.Call() < 0 {
		return false
	}
	switch -r.CallResult() {
	case erestartSys, erestartNoIntr, RestartNoHand, erestartBlock:
		return true
	}
	return false
}

// Word is the register at an offset of what ptrace gives (arch.Register.Ptrace).
func (r *Regs) Word(offset int) *uint64 {
	if offset < 0 || offset+8 > int(unsafe.Sizeof(*r)) {
		panic("BUG: sys: there is no such register")
	}
	return (*uint64)(unsafe.Add(unsafe.Pointer(r), offset))
}

// GetRegs reads the general registers of a stopped thread. ErrNot64: it executes code of
// another width.
func GetRegs(tid int, r *Regs) error {
	iov := unix.Iovec{Base: (*byte)(unsafe.Pointer(r)), Len: uint64(unsafe.Sizeof(*r))}
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GETREGSET, uintptr(tid), ntPrstatus, uintptr(unsafe.Pointer(&iov)), 0, 0)
	if e != 0 {
		return e
	}
	if iov.Len != uint64(unsafe.Sizeof(*r)) {
		return ErrNot64 // a 32-bit thread has 17 registers of 4 bytes
	}
	return nil
}

// SetRegs writes the registers. The thread has them when it is resumed; the kernel may then change them
// further on the way back to the program (a restart of a system call).
func SetRegs(tid int, r *Regs) error {
	iov := unix.Iovec{Base: (*byte)(unsafe.Pointer(r)), Len: uint64(unsafe.Sizeof(*r))}
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_SETREGSET, uintptr(tid), ntPrstatus, uintptr(unsafe.Pointer(&iov)), 0, 0)
	if e != 0 {
		return e
	}
	return nil
}

const ntPrstatus = 1

// ErrNot64 is the error of GetRegs for a thread that is not a 64-bit one.
var ErrNot64 = errors.New("not a 64-bit thread")
