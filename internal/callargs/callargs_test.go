package callargs

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestAppend(t *testing.T) {
	minus := func(n int64) uint64 { return uint64(n) }
	for _, tt := range []struct {
		call string
		arg  Arg
		want string
	}{
		{"openat", Arg{Name: "dfd", Word: 0xffffff9c, Signed: true, Size: 4}, "AT_FDCWD"},
		{"openat", Arg{Name: "dfd", Word: 7, Signed: true, Size: 4}, "7"},
		{"openat", Arg{Name: "flags", Word: unix.O_WRONLY | unix.O_CREAT | unix.O_CLOEXEC, Signed: true, Size: 4}, "O_WRONLY|O_CREAT|O_CLOEXEC"},
		{"openat", Arg{Name: "flags", Word: unix.O_TMPFILE | unix.O_RDWR, Signed: true, Size: 4}, "O_RDWR|O_TMPFILE"},
		{"openat", Arg{Name: "flags", Word: 1 << 30, Signed: true, Size: 4}, "O_RDONLY|0x40000000"},
		{"openat", Arg{Name: "mode", Word: 0o644, Size: 2}, "0644"},
		{"mmap", Arg{Name: "prot", Size: 8}, "PROT_NONE"},
		{"mmap", Arg{Name: "flags", Word: unix.MAP_PRIVATE | unix.MAP_ANONYMOUS, Size: 8}, "MAP_PRIVATE|MAP_ANONYMOUS"},
		{"mmap", Arg{Name: "fd", Word: minus(-1), Size: 8}, "-1"},
		{"mmap", Arg{Name: "addr", Word: 0x7f0000001000, Size: 8}, "0x7f0000001000"},
		{"kill", Arg{Name: "sig", Word: 9, Signed: true, Size: 4}, "SIGKILL"},
		{"kill", Arg{Name: "sig", Word: 0, Signed: true, Size: 4}, "0"},
		{"kill", Arg{Name: "pid", Word: 0xdead00000000 | 0xffffffff, Signed: true, Size: 4}, "-1"}, // the bits above mean nothing
		{"access", Arg{Name: "mode", Word: 5, Signed: true, Size: 4}, "R_OK|X_OK"},
		{"access", Arg{Name: "mode", Size: 4}, "F_OK"},
		{"socket", Arg{Name: "type", Word: unix.SOCK_STREAM | unix.SOCK_CLOEXEC, Signed: true, Size: 4}, "SOCK_STREAM|SOCK_CLOEXEC"},
		{"futex", Arg{Name: "op", Word: 128 | 9 | 256, Signed: true, Size: 4}, "FUTEX_WAIT_BITSET|FUTEX_PRIVATE_FLAG|FUTEX_CLOCK_REALTIME"},
		{"read", Arg{Name: "buf", Pointer: true, Size: 8}, "NULL"},
		{"read", Arg{Name: "buf", Word: 0x1000, Pointer: true, Size: 8}, "0x1000"},
		{"read", Arg{Name: "count", Word: 4096, Size: 8}, "4096"},
		{"madvise", Arg{Name: "behavior", Word: 4, Signed: true, Size: 4}, "MADV_DONTNEED"},
		{"pipe2", Arg{Name: "fildes", Word: 0x7fff53d06ef8, Pointer: true, Size: 8}, "0x7fff53d06ef8"}, // int *, not a descriptor
		{"pipe2", Arg{Name: "fildes", Pointer: true, Size: 8}, "NULL"},
		{"pipe2", Arg{Name: "flags", Signed: true, Size: 4}, "0"},
		{"pipe2", Arg{Name: "flags", Word: unix.O_NONBLOCK | unix.O_DIRECT, Signed: true, Size: 4}, "O_NONBLOCK|O_DIRECT"},
		{"dup3", Arg{Name: "flags", Word: unix.O_CLOEXEC, Signed: true, Size: 4}, "O_CLOEXEC"},
		{"fallocate", Arg{Name: "mode", Word: 3, Signed: true, Size: 4}, "FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE"},
		{"fallocate", Arg{Name: "mode", Signed: true, Size: 4}, "0"},
		{"set_mempolicy", Arg{Name: "mode", Word: 0x8003, Signed: true, Size: 4}, "MPOL_INTERLEAVE|MPOL_F_STATIC_NODES"},
		{"lseek", Arg{Name: "whence", Word: 9, Size: 4}, "9"}, // constants, not flags: not SEEK_CUR|0x8
		{"lseek", Arg{Name: "whence", Word: 1, Size: 4}, "SEEK_CUR"},
		{"shutdown", Arg{Name: "how", Word: 6, Signed: true, Size: 4}, "6"},
		{"clock_gettime", Arg{Name: "which_clock", Word: 0xfffff902, Signed: true, Size: 4}, "-1790"}, // of a process
		{"fcntl", Arg{Name: "cmd", Word: 0x1801, Size: 4}, "6145"},
		{"socket", Arg{Name: "family", Word: 0x102, Signed: true, Size: 4}, "258"},
		{"umask", Arg{Name: "mask", Word: 0o22, Signed: true, Size: 4}, "022"},
		{"none", Arg{Name: "x", Word: minus(-5), Signed: true, Size: 8}, "-5"},
	} {
		if got := string(Append(nil, tt.call, tt.arg)); got != tt.want {
			t.Errorf("%s %s=%#x: %s, want %s", tt.call, tt.arg.Name, tt.arg.Word, got, tt.want)
		}
	}
}

func TestAppendResult(t *testing.T) {
	for _, tt := range []struct {
		call string
		n    int64
		want string
	}{
		{"openat", 3, "3"},
		{"openat", -2, "-2 ENOENT"},
		{"read", -512, "-512 ERESTARTSYS"},
		{"read", -4000, "-4000"},
		{"mmap", 0x7f0000001000, "0x7f0000001000"},
		{"mmap", -12, "-12 ENOMEM"},
		{"umask", 0o77, "077"},
		{"umask", 0, "0"},
		{"lseek", 1 << 40, "1099511627776"},
		{"x", -1 << 62, "-4611686018427387904"},
	} {
		if got := string(AppendResult(nil, tt.call, tt.n)); got != tt.want {
			t.Errorf("%s = %d: %s, want %s", tt.call, tt.n, got, tt.want)
		}
	}
}
