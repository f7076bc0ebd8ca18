package testkit

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// HoldKernel waits for a lock on this machine's kernel, because packages whose tests run at the same time
// see each other's programs in it. A gate takes hits from all tests, and a second user of a tracepoint
// affects the first. Alone is exclusive, for tests that open gates or all places; the others share the
// lock. release, or the end of the process, releases it.
func HoldKernel(alone bool) (release func(), err error) {
	name := filepath.Join(os.TempDir(), fmt.Sprintf("jalon-kernel-tests-%d.lock", os.Getuid()))
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
