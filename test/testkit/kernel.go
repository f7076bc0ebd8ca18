package testkit

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
)

// HoldKernel waits for a lock on this machine's kernel, because packages whose tests run at the same time
// see each other's programs in it. A gate takes hits from all tests, and a second user of a tracepoint
// affects the first. Alone is exclusive, for tests that open gates or all places; the others share the
// lock. release, or the end of the process, releases it. A test binary that only lists its tests takes no lock:
// vmtest executes the binary for that while it has the lock.
func HoldKernel(alone bool) (release func(), err error) {
	if slices.ContainsFunc(os.Args, func(a string) bool { return strings.HasPrefix(a, "-test.list") }) {
		return func() {}, nil
	}
	name := fmt.Sprintf("/tmp/jalon-kernel-tests-%d.lock", os.Getuid()) // TMPDIR may be the run's own
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("waiting for other tests of the kernel: %w", err)
	}
	how := syscall.LOCK_SH
	if alone {
		how = syscall.LOCK_EX
	}
	for {
		if err = syscall.Flock(int(f.Fd()), how); err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("waiting for other tests of the kernel: lock %s: %w", name, err)
	}
	return func() { f.Close() }, nil
}
