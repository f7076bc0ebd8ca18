package procdir

import (
	"fmt"
	"os"
	"strconv"
)

// Own reports an error unless the numbers in /proc are those of this process's PID
// namespace: otherwise /proc/PID shows another process than the one that PID means to
// system calls.
func Own() error {
	self, err := os.Readlink("/proc/self")
	if err != nil {
		return fmt.Errorf("/proc is not mounted for this process: %w; mount it (mount -t proc proc /proc)", err)
	}
	if self != strconv.Itoa(os.Getpid()) {
		return fmt.Errorf("/proc is that of another PID namespace (jalon is process %d there, and %d in its own); mount one for this namespace: mount -t proc proc /proc, or unshare --mount-proc", number(self), os.Getpid())
	}
	return nil
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
