package syscalls

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestNames(t *testing.T) {
	for n, want := range map[uint64]string{
		unix.SYS_READ: "read", unix.SYS_NANOSLEEP: "nanosleep", unix.SYS_OPENAT: "openat", unix.SYS_CLONE3: "clone3",
		unix.SYS_IO_URING_SETUP: "io_uring_setup", unix.SYS_PIDFD_SEND_SIGNAL: "pidfd_send_signal", unix.SYS_EXECVEAT: "execveat",
		100000: "", 1 << 63: "",
	} {
		if got := Name(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
		if k, ok := Number(want); want != "" && (!ok || k != n) {
			t.Errorf("%s is %d, want %d", want, k, n)
		}
	}
	if _, ok := Number("no_such_call"); ok {
		t.Error("a call that does not exist has a number")
	}
}
