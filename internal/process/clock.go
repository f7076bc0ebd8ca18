package process

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/inject"
	"github.com/jalon-trace/jalon/internal/process/sys"
)

// A thread may be forbidden to read the time stamp counter (prctl(2), PR_SET_TSC; strict seccomp does it
// too): rdtsc then raises SIGSEGV as a general protection fault. Each thread has its own setting, threads
// inherit it from their creator, and no file shows it.

// readClock handles such a fault of rdtsc: the tracer's counter is the same one.
func (p *signals) readClock(tid int, sig unix.Signal, code int32, regs *Regs) bool {
	if sig != unix.SIGSEGV || code != sys.SIKernel || p.cfg.OnClock == nil {
		return false
	}
	tsc, ok := p.cfg.OnClock(tid, regs.PC())
	if ok {
		regs.SetClock(tsc)
	}
	return ok
}

// ClockForbidden reports whether a thread is known that may not read the time stamp counter. It tests the
// thread in which the system call is run, and looks for threads under strict seccomp.
func (s *Stopped) ClockForbidden() (bool, error) {
	for _, t := range s.tasks() {
		if st, err := sys.ReadStatus(t.TID); err == nil && st.Seccomp == inject.SeccompStrict {
			return true, nil
		}
	}
	scratch, err := s.scratch()
	if err != nil {
		return false, s.wrap("ask whether the time stamp counter may be read", err)
	}
	if _, err := s.Syscall(unix.SYS_PRCTL, unix.PR_GET_TSC, scratch, 0, 0, 0); err != nil {
		return false, s.wrap("ask whether the time stamp counter may be read", err)
	}
	var b [4]byte
	if err := s.sp.Read(scratch, b[:]); err != nil {
		return false, s.wrap("ask whether the time stamp counter may be read", err)
	}
	return binary.LittleEndian.Uint32(b[:]) == unix.PR_TSC_SIGSEGV, nil
}
