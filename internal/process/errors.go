package process

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/internal/process/memory"
	"github.com/jalon-trace/jalon/internal/process/sys"
)

// ErrGone is the error of every request after the process has ended, was
// detached from, or was killed while the request ran.
var ErrGone = memory.ErrGone

const capSysPtrace = 1 << 19

// diagnoseAttach returns the reason why PTRACE_SEIZE was refused.
func diagnoseAttach(pid int, err error) error {
	op := fmt.Sprintf("attach to process %d", pid)
	if sys.Gone(err) || errors.Is(err, os.ErrNotExist) {
		return &fail.Error{Op: op, Err: errors.New("there is no such process")}
	}
	st, serr := sys.ReadStatus(pid)
	if serr != nil {
		if errors.Is(serr, os.ErrNotExist) {
			return &fail.Error{Op: op, Err: errors.New("there is no such process")}
		}
		return &fail.Error{Op: op, Err: err}
	}
	self, _ := sys.ReadStatus(os.Getpid())
	if self == nil {
		self = &sys.Status{}
	}
	if !errors.Is(err, unix.EPERM) {
		return &fail.Error{Op: op, Err: err}
	}
	return &fail.Error{Op: op, Err: fail.Explain(refusal(pid, st, self).Error(), err), Remedy: remedy(pid, st, self)}
}

// refusal names the first of the kernel's checks (__ptrace_may_access,
// yama_ptrace_access_check, ptrace_attach) that explains an EPERM.
func refusal(pid int, st, self *sys.Status) error {
	switch {
	case st.Tracer != 0:
		// The number is that of the tracing thread.
		by := st.Tracer
		if tr, err := sys.ReadStatus(by); err == nil {
			by = tr.TGID
		}
		return fmt.Errorf("it is already traced by process %d (%s)", by, sys.CommOf(by))
	case sys.IsKernelThread(pid):
		return errors.New("it is a kernel thread")
	case st.State == 'Z' || st.State == 'X':
		return errors.New("it has ended and waits for its parent (zombie)")
	case self.CapEff&capSysPtrace != 0:
		return errors.New("the kernel refuses although CAP_SYS_PTRACE is there (another user namespace, or a security module)")
	case st.Uid != os.Geteuid():
		return fmt.Errorf("it belongs to %s and jalon runs as %s", userName(st.Uid), userName(os.Geteuid()))
	case yamaScope() > 0:
		return fmt.Errorf("kernel.yama.ptrace_scope is %d: %s", yamaScope(), yamaMeaning[min(yamaScope(), 3)])
	default:
		return errors.New("it is protected: a set-user-ID program, one with capabilities, or one that set itself undumpable (PR_SET_DUMPABLE)")
	}
}

func remedy(pid int, st, self *sys.Status) string {
	switch {
	case st.Tracer != 0:
		return "end that debugger or tracer first (a process has one tracer)"
	case sys.IsKernelThread(pid) || st.State == 'Z' || st.State == 'X':
		return ""
	case self.CapEff&capSysPtrace != 0:
		return "trace from inside its container, or see the kernel's audit log"
	case st.Uid != os.Geteuid():
		user := "root"
		if st.Uid != 0 {
			user = userName(st.Uid) + " or as root"
		}
		return "run jalon as " + user + ", or give it CAP_SYS_PTRACE"
	case yamaScope() == 1:
		return "start the program under jalon (jalon trace ... -- PROGRAM), run as root, or set `sysctl kernel.yama.ptrace_scope=0`"
	case yamaScope() == 3:
		return "it cannot be changed before the next boot"
	default:
		return "run jalon as root or give it CAP_SYS_PTRACE"
	}
}

var yamaMeaning = [...]string{
	1: "only descendants may be traced",
	2: "only with CAP_SYS_PTRACE",
	3: "no process may trace",
}

// yamaScope is -1 where the kernel has no Yama.
func yamaScope() int {
	b, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	if err != nil {
		return -1
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return -1
	}
	return n
}

func userName(uid int) string {
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return fmt.Sprintf("user %d", uid)
	}
	return u.Username
}
