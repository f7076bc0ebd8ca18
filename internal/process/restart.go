package process

import "golang.org/x/sys/unix"

// Results of an interrupted system call that the kernel turns into a restart, or
// into EINTR, on the way back to the program (include/linux/errno.h).
const (
	erestartSys    = 512
	erestartNoIntr = 513
	erestartNoHand = 514 // restart unless a handler runs, then EINTR
	erestartBlock  = 516
)

// neverRestarted are the calls that return EINTR whatever interrupted them
// (signal(7), "Interruption of system calls by stop signals", and sockets with a
// timeout). They have done nothing when they do: with data moved they return a count.
var neverRestarted = map[uint64]bool{
	unix.SYS_EPOLL_WAIT: true, unix.SYS_EPOLL_PWAIT: true, unix.SYS_EPOLL_PWAIT2: true,
	unix.SYS_SEMOP: true, unix.SYS_SEMTIMEDOP: true,
	unix.SYS_IO_GETEVENTS: true, unix.SYS_IO_PGETEVENTS: true, unix.SYS_IO_URING_ENTER: true,
	unix.SYS_RT_SIGTIMEDWAIT: true,
	unix.SYS_READ:            true, unix.SYS_READV: true, unix.SYS_WRITE: true, unix.SYS_WRITEV: true,
	unix.SYS_RECVFROM: true, unix.SYS_RECVMSG: true, unix.SYS_RECVMMSG: true,
	unix.SYS_SENDTO: true, unix.SYS_SENDMSG: true, unix.SYS_SENDMMSG: true,
	unix.SYS_ACCEPT: true, unix.SYS_ACCEPT4: true,
}

// hideInterrupt makes our stop invisible to a call that is never restarted.
// A tracer wakes threads that nobody else would: by its interrupts, and because
// signals that the program ignores are delivered to the tracer first. As
// ERESTARTNOHAND the call still returns EINTR when a handler runs, and goes on
// waiting (a relative timeout starts again) when none does.
func hideInterrupt(t *task) {
	if t.stop != stopTrap && t.stop != stopSignal {
		return
	}
	var regs Regs
	if getRegs(t.tid, &regs) != nil || int64(regs.Rax) != -int64(unix.EINTR) {
		return
	}
	// orig_rax is a call's number only on the way out of that call.
	if int64(regs.Orig_rax) < 0 || !neverRestarted[regs.Orig_rax] {
		return
	}
	regs.Rax = ^uint64(erestartNoHand) + 1
	_ = setRegs(t.tid, &regs) // ESRCH: dying
}

// restarts reports whether the kernel will move the pc back by the two bytes of a
// syscall instruction when the thread goes on.
func restarts(r *Regs) bool {
	if int64(r.Orig_rax) < 0 {
		return false
	}
	switch -int64(r.Rax) {
	case erestartSys, erestartNoIntr, erestartNoHand, erestartBlock:
		return true
	}
	return false
}
