package inject

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/internal/process/sys"
)

// Modes in /proc/PID/status (seccomp(2)).
const (
	SeccompStrict = 1
	seccompFilter = 2
)

// Actions of a filter by which a call is made.
const (
	retAllow  = 0x7fff0000
	retLog    = 0x7ffc0000
	retAction = 0xffff0000
)

// mayInject refuses where a seccomp filter could answer a call of ours by killing
// the program. With CAP_SYS_ADMIN filters rest during the injection (rest); then they
// must allow what the recovery stub does without jalon (mayRecover). A
// filter that jalon is under as well (the same container) has let jalon's own
// calls pass. filtered: there are filters.
func (in *Injector[T]) mayInject(t T) (rest, filtered bool, err error) {
	st, err := sys.ReadStatus(t.Core().TID)
	if err != nil {
		return false, false, sys.ErrThreadGone
	}
	switch st.Seccomp {
	case 0:
		return false, false, nil
	case SeccompStrict:
		return false, false, in.strict()
	}
	const suspend = sys.Options | unix.PTRACE_O_SUSPEND_SECCOMP
	if err := sys.SetOptions(t.Core().TID, suspend); err == nil {
		return true, true, nil
	} else if sys.Gone(err) {
		return false, false, sys.ErrThreadGone
	}
	if self, err := sys.ReadStatus(os.Getpid()); err == nil && self.Seccomp == seccompFilter && self.Filters == st.Filters {
		return false, true, nil
	}
	return false, true, &fail.Error{
		Op:     fmt.Sprintf("run a system call in process %d", in.threads.PID),
		Err:    errors.New("it is under a seccomp filter, which could kill it for the call"),
		Remedy: "run jalon as root (CAP_SYS_ADMIN), or inside the same container",
	}
}

// strict is the refusal for a thread under strict seccomp, whose only calls are read,
// write, exit and rt_sigreturn: any other ends it.
func (in *Injector[T]) strict() error {
	return &fail.Error{
		Op:  fmt.Sprintf("run a system call in process %d", in.threads.PID),
		Err: errors.New("it is in strict seccomp mode, where the kernel kills it for any call of ours"),
	}
}

// undispatched refuses an injection into a thread whose system calls become SIGSYS for a handler of the program, by
// syscall user dispatch: the call would not be made, nor that of the recovery stub if jalon were killed. known: this can
// be found out (since Linux 6.4).
func (in *Injector[T]) undispatched(t T, sp *Workspace) (known bool, err error) {
	d, on, known := sys.GetDispatch(t.Core().TID)
	if !on || sp.Stub+StubSize-d.Offset < d.Len && sp.Stub-d.Offset < d.Len {
		return known, nil
	}
	selector := []byte{sys.DispatchAllow + 1}
	if d.Selector != 0 && sp.Read(d.Selector, selector) == nil && selector[0] == sys.DispatchAllow {
		return known, nil
	}
	return false, &fail.Error{
		Op:     fmt.Sprintf("run a system call in process %d", in.threads.PID),
		Err:    errors.New("a handler of the program gets its system calls (PR_SET_SYSCALL_USER_DISPATCH)"),
		Remedy: "try again: it may allow them at another moment",
	}
}

// mustRecover refuses an injection after which a thread could not continue without jalon.
func (in *Injector[T]) mustRecover(t T, stub uint64) error {
	st, err := sys.ReadStatus(t.Core().TID)
	if err != nil {
		return sys.ErrThreadGone
	}
	if in.recovers[t.Core().TID] == st.Filters && st.Filters > 0 {
		return nil // looked at before; filters are only ever added
	}
	ok, err := mayRecover(t.Core().TID, stub)
	switch {
	case sys.Gone(err):
		return sys.ErrThreadGone
	case err != nil:
		err = fmt.Errorf("its seccomp filters cannot be read: %w", err)
	case !ok:
		err = errors.New("its seccomp filter forbids rt_sigprocmask, without which a thread would be harmed if jalon were killed")
	default:
		in.recovers[t.Core().TID] = st.Filters
		return nil
	}
	return &fail.Error{Op: fmt.Sprintf("run a system call in process %d", in.threads.PID), Err: err}
}

// mayRecover reports whether a thread's filters allow the call by which the recovery
// stub puts the signal mask back. Filters rest during an injection, but not when jalon is
// killed.
func mayRecover(tid int, stub uint64) (bool, error) {
	for n := uint64(0); ; n++ {
		prog, err := sys.SeccompFilter(tid, n)
		if errors.Is(err, unix.ENOENT) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		action, err := runFilter(prog, callData(stub, unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, stub+stubMask, 0, 8))
		if err != nil {
			return false, err
		}
		if action &= retAction; action != retAllow && action != retLog {
			return false, nil
		}
	}
}

// callData is struct seccomp_data of a call from the stub.
func callData(stub uint64, nr uint64, args ...uint64) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, uint32(nr))
	b = le.AppendUint32(b, sys.AuditArch)
	b = le.AppendUint64(b, stub+stubCallEnd)
	for i := range 6 {
		v := uint64(0)
		if i < len(args) {
			v = args[i]
		}
		b = le.AppendUint64(b, v)
	}
	return b
}
