package process

import (
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// inherited are the signals that programs which are started inherit as ignored, though jalon does not ignore them
// itself, with what makes jalon receive them again. forking lets one fork at a time ignore them.
var (
	forking   sync.Mutex
	inherited = map[unix.Signal]func(){}
)

// Ignored lets all programs that are started from now on inherit a signal as ignored, as they would without jalon.
// jalon itself ignores it for as long as a fork takes, which cancels all of signal.Notify for it: again repeats
// that.
func Ignored(sig unix.Signal, again func()) {
	forking.Lock()
	defer forking.Unlock()
	inherited[sig] = again
}

// IgnoreChildren is Ignored for SIGCHLD: while jalon ignored it, the kernel would reap children as they end, and take
// their status.
func IgnoreChildren() {
	// Notify installs the runtime's handler again, which Reset does not.
	Ignored(unix.SIGCHLD, func() { signal.Notify(make(chan os.Signal, 1), unix.SIGCHLD) })
}

// forkExec is syscall.ForkExec for a child that is traced (attr.Sys.Ptrace), and which therefore cannot end unseen
// while SIGCHLD is ignored. It cancels all of signal.Notify for SIGCHLD then.
func forkExec(path string, argv []string, attr *syscall.ProcAttr) (pid int, err error) {
	forking.Lock()
	defer forking.Unlock()
	for sig, again := range inherited {
		signal.Ignore(sig)
		defer again()
	}
	return syscall.ForkExec(path, argv, attr)
}
