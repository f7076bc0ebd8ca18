package sys

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/procdir"
)

// Monotonic is the machine's CLOCK_MONOTONIC in nanoseconds.
func Monotonic() int64 { return procdir.Monotonic() }

// Pause sleeps without giving the thread to other goroutines: for times that are shorter
// than the way back.
func Pause(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0) // a signal ends it early
}
