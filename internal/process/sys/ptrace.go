package sys

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Options request the stops that package process handles. Not EXITKILL: if jalon is killed, the program
// continues.
const Options = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE |
	unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACEEXEC |
	unix.PTRACE_O_TRACEEXIT

// How a stopped thread is resumed.
type How int

// The ways of PTRACE_CONT, PTRACE_SYSCALL and PTRACE_SINGLESTEP.
const (
	Free   How = unix.PTRACE_CONT       // until something happens to it
	ToCall How = unix.PTRACE_SYSCALL    // also until the next entry to or exit from a system call
	ByStep How = unix.PTRACE_SINGLESTEP // by one instruction
)

// ptrace is the bare request. Every call must come from the tracer's thread; from any other the kernel
// returns ESRCH. No request except PTRACE_SEIZE (see SeizeBlocking) blocks, hence RawSyscall.
func ptrace(req, tid int, addr, data uintptr) error {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(req), uintptr(tid), addr, data, 0, 0)
	if e != 0 {
		return e
	}
	return nil
}

func ptracePtr(req, tid int, addr uintptr, data unsafe.Pointer) error {
	return ptrace(req, tid, addr, uintptr(data))
}

// Resume resumes a stopped thread. In a signal-delivery-stop sig is delivered to it, and 0 suppresses the
// signal; in a stop of another kind the kernel ignores sig. ESRCH: the thread is dying (SIGKILL wakes a
// stopped thread), and wait will report its end.
func Resume(tid int, how How, sig unix.Signal) error {
	return ptrace(int(how), tid, 0, uintptr(sig))
}

// Cont is Resume with Free.
func Cont(tid int, sig unix.Signal) error { return Resume(tid, Free, sig) }

// Listen resumes a thread in a group-stop so that it stays stopped as the program has it:
// it executes nothing, and reports PTRACE_EVENT_STOP when SIGCONT ends the stop.
func Listen(tid int) error { return ptrace(unix.PTRACE_LISTEN, tid, 0, 0) }

// Interrupt has a seized thread stop with PTRACE_EVENT_STOP before it executes another
// instruction of the program; a system call that it sleeps in is interrupted. In a
// stopped thread the interrupt stays pending. A thread that stops for another reason
// first still has it pending, unless that stop was a PTRACE_EVENT_STOP.
func Interrupt(tid int) error { return ptrace(unix.PTRACE_INTERRUPT, tid, 0, 0) }

// Detach resumes a stopped thread that is traced no more; sig is delivered as by Resume.
// The kernel refuses with ESRCH while the thread runs.
func Detach(tid int, sig unix.Signal) error {
	return ptrace(unix.PTRACE_DETACH, tid, 0, uintptr(sig))
}

// Seize attaches to a thread without stopping it. The thread must not be inside execve,
// nor another one of its process: see SeizeBlocking.
func Seize(tid int, options uintptr) error {
	return ptrace(unix.PTRACE_SEIZE, tid, 0, options)
}

// SeizeBlocking is Seize for threads of any process: the kernel blocks the request while a thread of the
// process is inside execve (cred_guard_mutex), so Go's scheduler must be informed.
func SeizeBlocking(tid int, options uintptr) error {
	_, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(tid), 0, options, 0, 0)
	if e != 0 {
		return e
	}
	return nil
}

// SetOptions replaces the options of a stopped thread.
func SetOptions(tid int, options uintptr) error {
	return ptrace(unix.PTRACE_SETOPTIONS, tid, 0, options)
}

// EventMessage is what belongs to a PTRACE_EVENT stop: the new thread's number at clone,
// fork and vfork, the wait status at exit.
func EventMessage(tid int) (int, error) {
	var msg uint64
	if err := ptracePtr(unix.PTRACE_GETEVENTMSG, tid, 0, unsafe.Pointer(&msg)); err != nil {
		return 0, err
	}
	return int(msg), nil
}

// GetSigmask reads the blocked signals of a stopped thread: signal n is bit n-1.
func GetSigmask(tid int) (mask uint64, err error) {
	err = ptracePtr(unix.PTRACE_GETSIGMASK, tid, unsafe.Sizeof(mask), unsafe.Pointer(&mask))
	return mask, err
}

// SetSigmask sets them. SIGKILL and SIGSTOP cannot be blocked; the kernel leaves them out.
func SetSigmask(tid int, mask uint64) error {
	return ptracePtr(unix.PTRACE_SETSIGMASK, tid, unsafe.Sizeof(mask), unsafe.Pointer(&mask))
}

// Gone reports whether err means that the thread does not exist any more, or is dying: SIGKILL may arrive
// between any two requests, and is not an error.
func Gone(err error) bool {
	return errors.Is(err, unix.ESRCH) || errors.Is(err, ErrThreadGone)
}

// ErrThreadGone is the error of waiting for a thread that ends.
var ErrThreadGone = errors.New("the thread is gone")
