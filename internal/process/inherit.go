package process

import (
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// ignoreChildren: programs that are started ignore SIGCHLD.
var ignoreChildren atomic.Bool

// IgnoreChildren lets all programs that are started from now on inherit an ignored SIGCHLD, as they would without
// jalon. jalon itself must not ignore it for longer than a fork takes: the kernel then reaps children as they end, and
// takes their status.
func IgnoreChildren() { ignoreChildren.Store(true) }

var forking sync.Mutex // one fork at a time changes what happens to SIGCHLD

// forkExec is syscall.ForkExec for a child that is traced (attr.Sys.Ptrace), and which therefore cannot end unseen
// while SIGCHLD is ignored. It cancels all of signal.Notify for SIGCHLD then.
func forkExec(path string, argv []string, attr *syscall.ProcAttr) (pid int, err error) {
	if !ignoreChildren.Load() {
		return syscall.ForkExec(path, argv, attr)
	}
	forking.Lock()
	defer forking.Unlock()
	signal.Ignore(unix.SIGCHLD)
	// Notify installs the runtime's handler again, which Reset does not.
	defer signal.Notify(make(chan os.Signal, 1), unix.SIGCHLD)
	return syscall.ForkExec(path, argv, attr)
}
