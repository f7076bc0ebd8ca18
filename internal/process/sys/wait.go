package sys

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Flags of wait(2) that x/sys lacks for 64-bit arithmetic.
const (
	waitAll = 0x40000000 // __WALL: threads and clones with any exit signal
	waitOwn = 0x20000000 // __WNOTHREAD: not the children of jalon's other threads
)

// Sysgood is the signal of a syscall-stop: SIGTRAP with bit 7 (PTRACE_O_TRACESYSGOOD).
const Sysgood = 1<<7 | unix.SIGTRAP

// SignalOf is the signal in the wait status of a stop, with the bit of Sysgood.
func SignalOf(ws unix.WaitStatus) unix.Signal { return unix.Signal(int(ws) >> 8 & 0xff) }

// EventOf is the PTRACE_EVENT in the wait status of a stop; 0: it is a signal-delivery-stop
// or a syscall-stop.
func EventOf(ws unix.WaitStatus) int { return int(ws) >> 16 }

// Ends reports whether a wait status means that the thread executes no more code of the program: it has
// ended, or is at PTRACE_EVENT_EXIT.
func Ends(ws unix.WaitStatus) bool {
	return ws.Exited() || ws.Signaled() || EventOf(ws) == unix.PTRACE_EVENT_EXIT
}

// Wait takes the state change of one tracee of this thread, or reports that there is none. A change that
// was taken is not reported again: the caller must resume the thread.
func Wait(tid int) (ws unix.WaitStatus, ok bool) {
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

// wait is what wait4(2) would give.
func (w *waitInfo) wait() unix.WaitStatus {
	const exited, killed, dumped = 1, 2, 3 // CLD_*; the others are of stops
	switch w.code {
	case exited:
		return unix.WaitStatus(w.status << 8)
	case killed:
		return unix.WaitStatus(w.status)
	case dumped:
		return unix.WaitStatus(w.status | 0x80)
	}
	return unix.WaitStatus(w.status<<8 | 0x7f)
}

// PeekWait returns which child of this thread has a state change, and the change, without taking it: any
// child for 0, otherwise whether that one has. The kernel searches its list from the start each time, so a
// child whose change is not taken hides those after it.
//
// In a signal-delivery-stop, task_struct.exit_code is the signal that the thread will deliver. wait(2) sets
// it to 0, unless WNOWAIT is given (wait_task_stopped in kernel/exit.c); the resume sets it to the tracer's
// choice; and when the tracer dies it keeps its value (ptrace_stop in kernel/signal.c returns it). So the
// signal of a stop that was not taken is delivered without a tracer.
func PeekWait(tid int) (child int, ws unix.WaitStatus) {
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
		if e != 0 || info.pid == 0 {
			return 0, 0
		}
		return int(info.pid), info.wait()
	}
}

// SignalStop reports whether a wait status is that of a signal-delivery-stop.
func SignalStop(ws unix.WaitStatus) bool {
	return ws.Stopped() && EventOf(ws) == 0 && SignalOf(ws) != Sysgood
}

// ReapEnded takes the end of a thread that another thread of jalon traces, and leaves its
// stops: wait(2) serves the tracees of all threads of a process, ptrace(2) does not.
func ReapEnded(tid int) bool {
	var info waitInfo
	_, _, e := unix.RawSyscall6(unix.SYS_WAITID, unix.P_PID, uintptr(tid), uintptr(unsafe.Pointer(&info)),
		unix.WEXITED|unix.WNOHANG|waitAll, 0, 0)
	return e == 0 && int(info.pid) == tid
}
