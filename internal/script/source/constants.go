package source

import (
	"strings"
	"syscall"

	"github.com/jalon-trace/jalon/internal/callargs"
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/script/syscalls"
	"golang.org/x/sys/unix"
)

// constants are names of C's headers that are not enumerators, so that the kernel's BTF does not have them:
// error numbers, signals, and those that scripts ask for most.
var constants = func() map[string]int64 {
	m := map[string]int64{
		"AF_UNSPEC": 0, "AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16, "AF_PACKET": 17,
		"O_RDONLY": 0, "O_WRONLY": 1, "O_RDWR": 2, "O_CREAT": 0o100, "O_EXCL": 0o200, "O_TRUNC": 0o1000, "O_APPEND": 0o2000,
		"O_NONBLOCK": 0o4000, "O_CLOEXEC": 0o2000000,
		"S_IFMT": 0o170000, "S_IFSOCK": 0o140000, "S_IFLNK": 0o120000, "S_IFREG": 0o100000, "S_IFBLK": 0o060000,
		"S_IFDIR": 0o040000, "S_IFCHR": 0o020000, "S_IFIFO": 0o010000,
		"PROT_READ": 1, "PROT_WRITE": 2, "PROT_EXEC": 4, "MAP_SHARED": 1, "MAP_PRIVATE": 2, "MAP_FIXED": 16, "MAP_ANONYMOUS": 32,
		"CLONE_VM": 0x100, "CLONE_THREAD": 0x10000, "AT_FDCWD": -100, "NULL": 0, "PATH_MAX": 4096, "TASK_COMM_LEN": 16,
		"ETH_P_IP": 0x0800, "ETH_P_ARP": 0x0806, "ETH_P_IPV6": 0x86dd, "INT_MAX": 1<<31 - 1,
		// Bits of prev_state and task_struct.__state, the same in all kernels from 4.14 on.
		"TASK_RUNNING": 0, "TASK_INTERRUPTIBLE": 1, "TASK_UNINTERRUPTIBLE": 2, "__TASK_STOPPED": 4, "__TASK_TRACED": 8,
		"EXIT_DEAD": 0x10, "EXIT_ZOMBIE": 0x20, "TASK_PARKED": 0x40, "TASK_DEAD": 0x80,
	}
	for i := 1; i < 200; i++ {
		if name := unix.ErrnoName(syscall.Errno(i)); name != "" {
			m[name] = int64(i)
		}
		if name := unix.SignalName(syscall.Signal(i)); name != "" {
			m[name] = int64(i)
		}
	}
	return m
}()

// argument returns a constant of the system calls' arguments, which BTF has as an enumerator in some cases.
func argument(name string) (*ctype.Type, int64) {
	if v, ok := callargs.Constant(name); ok {
		return ctype.IntT, v
	}
	return nil, 0
}

// constant returns a constant of C's headers as an int.
func constant(name string) (*ctype.Type, int64) {
	for _, prefix := range []string{"__NR_", "SYS_"} {
		if call, ok := strings.CutPrefix(name, prefix); ok {
			if n, ok := syscalls.Number(call); ok {
				return ctype.IntT, int64(n)
			}
		}
	}
	if v, ok := constants[name]; ok {
		return ctype.IntT, v
	}
	return nil, 0
}
