package process

import (
	"encoding/binary"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// neverRestarted are the calls that return EINTR whatever interrupted them (signal(7), "Interruption of
// system calls by stop signals", and sockets with a timeout). If they return it they have done nothing: after
// moving data they return a count.
var neverRestarted = map[int64]bool{
	sys.SysEpollWait: true, unix.SYS_EPOLL_PWAIT: true, unix.SYS_EPOLL_PWAIT2: true,
	unix.SYS_SEMOP: true, unix.SYS_SEMTIMEDOP: true,
	unix.SYS_IO_GETEVENTS: true, unix.SYS_IO_PGETEVENTS: true, unix.SYS_IO_URING_ENTER: true,
	unix.SYS_RT_SIGTIMEDWAIT: true,
	unix.SYS_READ:            true, unix.SYS_READV: true, unix.SYS_WRITE: true, unix.SYS_WRITEV: true,
	unix.SYS_RECVFROM: true, unix.SYS_RECVMSG: true, unix.SYS_RECVMMSG: true,
	unix.SYS_SENDTO: true, unix.SYS_SENDMSG: true, unix.SYS_SENDMMSG: true,
	unix.SYS_ACCEPT: true, unix.SYS_ACCEPT4: true,
}

// hidden remembers a call whose interruption was hidden.
type hidden struct {
	call  [8]uint64 // number, pc, stack pointer and arguments
	first int64     // when it was hidden first, CLOCK_MONOTONIC; 0 = nothing hidden
	// switches is the thread's count of voluntary context switches when it went
	// on. Two more (it slept; it stopped) and it is the same call still, not
	// another one like it.
	switches int
}

// resumed is called when a thread goes on.
func (h *hidden) resumed(tid int) {
	if h.first == 0 {
		return
	}
	if st, err := sys.ReadStatus(tid); err == nil {
		h.switches = st.Switches
	}
}

func (h *hidden) same(tid int, call [8]uint64) bool {
	if h.first == 0 || h.call != call {
		return false
	}
	st, err := sys.ReadStatus(tid)
	return err == nil && st.Switches-h.switches <= 2
}

// hideInterrupt makes our stop invisible to a call that is never restarted.
// A tracer wakes threads that would sleep on: by its interrupts, and because
// signals that the program ignores are delivered to the tracer first. As
// ERESTARTNOHAND the call still returns EINTR when a handler runs, and goes on
// waiting when none does.
//
// Its timeout then starts again. If signals keep arriving, the call would never end; so it gets its EINTR
// after a multiple of the timeout.
func (p *driver) hideInterrupt(t *task) {
	if t.Stop != threads.StopTrap && t.Stop != threads.StopSignal {
		return
	}
	var r Regs
	if sys.GetRegs(t.TID, &r) != nil || r.CallResult() != -int64(unix.EINTR) {
		return
	}
	// The number is a call's only on the way out of that call.
	nr := r.Call()
	if nr < 0 || !neverRestarted[nr] {
		return
	}
	now, limit := sys.Monotonic(), p.timeout(&r)
	call := [8]uint64{uint64(nr), r.PC(), r.SP(), r.CallArg(0), r.CallArg(1), r.CallArg(2), r.CallArg(3), r.CallArg(4)}
	if !t.hidden.same(t.TID, call) {
		t.hidden = hidden{call: call, first: now}
	} else if limit >= 0 && now-t.hidden.first >= patience+4*limit {
		t.hidden = hidden{}
		return
	}
	r.SetCallResult(-sys.RestartNoHand)
	_ = sys.SetRegs(t.TID, &r) // ESRCH: dying
}

// patience is how long a call with any timeout may be kept waiting.
const patience = int64(time.Second)

// socketTimeout is taken for SO_RCVTIMEO and SO_SNDTIMEO, which cannot be seen.
const socketTimeout = int64(time.Second)

// timeout is that of a call of neverRestarted in nanoseconds, -1 when it has none.
func (p *driver) timeout(r *Regs) int64 {
	switch r.Call() {
	case sys.SysEpollWait, unix.SYS_EPOLL_PWAIT:
		return max(int64(int32(r.CallArg(3)))*int64(time.Millisecond), -1)
	case unix.SYS_EPOLL_PWAIT2, unix.SYS_SEMTIMEDOP:
		return p.timespec(r.CallArg(3))
	case unix.SYS_RT_SIGTIMEDWAIT:
		return p.timespec(r.CallArg(2))
	case unix.SYS_IO_GETEVENTS, unix.SYS_IO_PGETEVENTS:
		return p.timespec(r.CallArg(4))
	case unix.SYS_SEMOP:
		return -1
	}
	return socketTimeout
}

func (p *driver) timespec(addr uint64) int64 {
	var b [16]byte
	if addr == 0 || p.space.Read(addr, b[:]) != nil {
		return -1
	}
	sec, nsec := binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])
	if sec > 1<<32 {
		return -1
	}
	return int64(sec)*int64(time.Second) + int64(nsec)
}
