package procdir

import (
	"fmt"
	"os"
	"strconv"
)

// Own returns an error unless /proc uses the numbers of this process's PID namespace. Otherwise /proc/PID would
// be another process than PID in system calls.
func Own() error {
	self, err := os.Readlink("/proc/self")
	if err != nil {
		return fmt.Errorf("/proc is not mounted: %w; mount it (mount -t proc proc /proc)", err)
	}
	if self != strconv.Itoa(os.Getpid()) {
		return fmt.Errorf("/proc belongs to another PID namespace (jalon is process %d there, and %d in its own); mount one for this namespace: mount -t proc proc /proc, or unshare --mount-proc", number(self), os.Getpid())
	}
	return nil
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
