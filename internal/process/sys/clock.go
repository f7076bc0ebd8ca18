package sys

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Monotonic is CLOCK_MONOTONIC in nanoseconds.
func Monotonic() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // fails for unknown clocks only
	return ts.Nano()
}

// Pause sleeps without giving the thread to other goroutines: for times that are shorter
// than the way back.
func Pause(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0) // a signal ends it early
}
