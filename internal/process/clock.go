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

// Learn reads what must be known before code is installed: the actions of the signals that it may raise, and
// whether some thread is known not to be allowed to read the time stamp counter: the one that runs the calls, and
// those under strict seccomp. WriteMem after it does not read the actions again.
func (s *Stopped) Learn() (noClock bool, err error) {
	const op = "ask whether the time stamp counter may be read"
	for _, t := range s.tasks() {
		if st, err := sys.ReadStatus(t.TID); err == nil && st.Seccomp == inject.SeccompStrict {
			return true, nil
		}
	}
	scratch, err := s.scratch()
	if err != nil {
		return false, s.wrap(op, err)
	}
	results, err := s.Syscalls(append(readActions(scratch, guarded), SystemCall(unix.SYS_PRCTL, unix.PR_GET_TSC, scratch+clockAt)))
	if err == nil {
		err = s.p.dispositions.noteActions(scratch, guarded, results)
	}
	if err == nil {
		err = results[len(guarded)].Err
	}
	if err != nil {
		return false, s.wrap(op, err)
	}
	s.Learned()
	var b [4]byte
	if err := s.sp.Read(scratch+clockAt, b[:]); err != nil {
		return false, s.wrap(op, err)
	}
	return binary.LittleEndian.Uint32(b[:]) == unix.PR_TSC_SIGSEGV, nil
}

// Learned records that Learn was called in an earlier stop.
func (s *Stopped) Learned() { s.learned = true }

// clockAt is where the answer is in the scratch page, behind those of readActions.
const clockAt = 1024
