package process

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Flags of wait(2) that x/sys lacks for 64-bit arithmetic.
const (
	waitAll = 0x40000000 // __WALL: threads and clones with any exit signal
	waitOwn = 0x20000000 // __WNOTHREAD: not the children of jalon's other threads
)

// seizeOptions ask for the events in events.go. No EXITKILL: when jalon dies the
// program goes on.
const seizeOptions = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE |
	unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACEEXEC |
	unix.PTRACE_O_TRACEEXIT

// ptrace is the bare request. Every call must come from the tracer's thread;
// from any other the kernel answers ESRCH. No request but PTRACE_SEIZE (see seize)
// blocks, hence RawSyscall.
func ptrace(req, tid int, addr, data uintptr) error {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(req), uintptr(tid), addr, data, 0, 0)
	if e != 0 {
		return e
	}
	return nil
}

// Word is the register at an offset of what ptrace gives (arch.Register.Ptrace).
func (r *Regs) Word(offset int) *uint64 {
	if offset < 0 || offset+8 > int(unsafe.Sizeof(*r)) {
		panic("BUG: process: there is no such register")
	}
	return (*uint64)(unsafe.Add(unsafe.Pointer(r), offset))
}

func getRegs(tid int, r *Regs) error {
	iov := unix.Iovec{Base: (*byte)(unsafe.Pointer(r)), Len: uint64(unsafe.Sizeof(*r))}
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GETREGSET, uintptr(tid), ntPrstatus, uintptr(unsafe.Pointer(&iov)), 0, 0)
	if e != 0 {
		return e
	}
	if iov.Len != uint64(unsafe.Sizeof(*r)) {
		return errNot64 // a 32-bit thread has 17 registers of 4 bytes
	}
	return nil
}

func setRegs(tid int, r *Regs) error {
	iov := unix.Iovec{Base: (*byte)(unsafe.Pointer(r)), Len: uint64(unsafe.Sizeof(*r))}
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_SETREGSET, uintptr(tid), ntPrstatus, uintptr(unsafe.Pointer(&iov)), 0, 0)
	if e != 0 {
		return e
	}
	return nil
}

const ntPrstatus = 1

var errNot64 = errors.New("not a 64-bit thread")

// siginfo is the head of the kernel's siginfo_t; the rest is carried along.
type siginfo struct {
	signo, errno, code int32
	_                  int32
	addr               uint64 // for faults: the address
	_                  [104]byte
}

func getSiginfo(tid int, si *siginfo) error {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GETSIGINFO, uintptr(tid), 0, uintptr(unsafe.Pointer(si)), 0, 0)
	if e != 0 {
		return e
	}
	return nil
}

func eventMessage(tid int) (int, error) {
	var msg uint64
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GETEVENTMSG, uintptr(tid), 0, uintptr(unsafe.Pointer(&msg)), 0, 0)
	if e != 0 {
		return 0, e
	}
	return int(msg), nil
}

// Signal masks are 64 bits, signal n in bit n-1.
func getSigmask(tid int) (mask uint64, err error) {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GETSIGMASK, uintptr(tid), 8, uintptr(unsafe.Pointer(&mask)), 0, 0)
	if e != 0 {
		return 0, e
	}
	return mask, nil
}

func setSigmask(tid int, mask uint64) error {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_SETSIGMASK, uintptr(tid), 8, uintptr(unsafe.Pointer(&mask)), 0, 0)
	if e != 0 {
		return e
	}
	return nil
}

func sigbit(sig unix.Signal) uint64 { return 1 << (uint(sig) - 1) }

// wait4 takes the state change of one thread, or says that there is none.
func wait4(tid int) (ws unix.WaitStatus, ok bool) {
	var st int32
	for {
		r, _, e := unix.RawSyscall6(unix.SYS_WAIT4, uintptr(tid), uintptr(unsafe.Pointer(&st)), unix.WNOHANG|waitAll|waitOwn, 0, 0, 0)
		if e == unix.EINTR {
			continue
		}
		return unix.WaitStatus(st), e == 0 && int(r) == tid
	}
}

// waitInfo is the kernel's siginfo_t as waitid(2) fills it.
type waitInfo struct {
	signo, errno, code, _ int32
	pid, uid, status      int32
	_                     [100]byte
}

// peekWait says which child of this thread has a state change, without taking it:
// any for 0, else whether that one has.
func peekWait(tid int) int {
	which := uintptr(unix.P_PID)
	if tid == 0 {
		which = unix.P_ALL
	}
	var info waitInfo
	for {
		_, _, e := unix.RawSyscall6(unix.SYS_WAITID, which, uintptr(tid), uintptr(unsafe.Pointer(&info)),
			unix.WEXITED|unix.WSTOPPED|unix.WNOHANG|unix.WNOWAIT|waitAll|waitOwn, 0, 0)
		if e == unix.EINTR {
			continue
		}
		if e != 0 {
			return 0
		}
		return int(info.pid)
	}
}

// gone reports whether err says that the thread does not exist any more, or is
// dying: SIGKILL may come between any two requests, and is no error of ours.
func gone(err error) bool {
	return errors.Is(err, unix.ESRCH) || errors.Is(err, errGone)
}

var errGone = errors.New("the thread is gone")
