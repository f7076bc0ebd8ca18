package callargs

import "golang.org/x/sys/unix"

// kindOf returns the constants of an argument of a system call, nil for a number. The names of arguments are the
// kernel's.
func kindOf(call, arg string) *kind {
	if k := arguments[call][arg]; k != nil {
		return k
	}
	return everywhere[arg]
}

// everywhere are arguments that mean the same in all system calls which have them.
var everywhere = map[string]*kind{
	"mode": {print: octal}, "sig": {print: signal}, "signo": {print: signal},
}

// arguments are those of single system calls.
var arguments = map[string]map[string]*kind{
	"open": {"flags": openFlags}, "openat": {"flags": openFlags}, "mq_open": {"oflag": openFlags},
	"open_by_handle_at": {"flags": openFlags}, "pipe2": {"flags": pipeFlags}, "dup3": {"flags": pipeFlags},
	"umask":     {"mask": {print: octal}},
	"fallocate": {"mode": fallocateModes}, "mbind": {"mode": policies}, "set_mempolicy": {"mode": policies},
	"access": {"mode": accessModes}, "faccessat": {"mode": accessModes}, "faccessat2": {"mode": accessModes, "flags": atFlags},
	"mmap":     {"prot": protection, "flags": mapFlags, "len": nil},
	"mprotect": {"prot": protection}, "pkey_mprotect": {"prot": protection},
	"lseek":      {"whence": {mask: whole, values: map[uint64]string{0: "SEEK_SET", 1: "SEEK_CUR", 2: "SEEK_END", 3: "SEEK_DATA", 4: "SEEK_HOLE"}}},
	"newfstatat": {"flag": atFlags}, "statx": {"flags": atFlags}, "fchmodat2": {"flags": atFlags},
	"fchownat": {"flag": atFlags}, "linkat": {"flags": atFlags}, "utimensat": {"flags": atFlags}, "name_to_handle_at": {"flag": atFlags},
	"execveat": {"flags": atFlags},
	"unlinkat": {"flag": {flags: named(flag{unix.AT_REMOVEDIR, "AT_REMOVEDIR"})}},
	"socket":   {"family": families, "type": socketTypes}, "socketpair": {"family": families, "type": socketTypes},
	"accept4": {"flags": socketFlags},
	"send":    {"flags": messageFlags}, "sendto": {"flags": messageFlags}, "sendmsg": {"flags": messageFlags}, "sendmmsg": {"flags": messageFlags},
	"recv": {"flags": messageFlags}, "recvfrom": {"flags": messageFlags}, "recvmsg": {"flags": messageFlags}, "recvmmsg": {"flags": messageFlags},
	"shutdown":       {"how": {mask: whole, values: map[uint64]string{0: "SHUT_RD", 1: "SHUT_WR", 2: "SHUT_RDWR"}}},
	"rt_sigprocmask": {"how": {mask: whole, values: map[uint64]string{0: "SIG_BLOCK", 1: "SIG_UNBLOCK", 2: "SIG_SETMASK"}}},
	"clone":          {"clone_flags": cloneFlags}, "unshare": {"unshare_flags": cloneFlags},
	"madvise": {"behavior": advice},
	"futex":   {"op": futexOperations},
	"fcntl":   {"cmd": fcntlCommands},
	"wait4":   {"options": waitOptions}, "waitid": {"options": waitOptions},
	"eventfd2":      {"flags": {flags: named(flag{unix.EFD_CLOEXEC, "EFD_CLOEXEC"}, flag{unix.EFD_NONBLOCK, "EFD_NONBLOCK"}, flag{1, "EFD_SEMAPHORE"})}},
	"epoll_create1": {"flags": {flags: named(flag{unix.EPOLL_CLOEXEC, "EPOLL_CLOEXEC"})}},
	"epoll_ctl":     {"op": {mask: whole, values: map[uint64]string{1: "EPOLL_CTL_ADD", 2: "EPOLL_CTL_DEL", 3: "EPOLL_CTL_MOD"}}},
	"memfd_create":  {"flags": {flags: named(flag{unix.MFD_CLOEXEC, "MFD_CLOEXEC"}, flag{unix.MFD_ALLOW_SEALING, "MFD_ALLOW_SEALING"}, flag{unix.MFD_HUGETLB, "MFD_HUGETLB"})}},
	"renameat2":     {"flags": {flags: named(flag{unix.RENAME_NOREPLACE, "RENAME_NOREPLACE"}, flag{unix.RENAME_EXCHANGE, "RENAME_EXCHANGE"}, flag{unix.RENAME_WHITEOUT, "RENAME_WHITEOUT"})}},
	"getrandom":     {"flags": {flags: named(flag{unix.GRND_NONBLOCK, "GRND_NONBLOCK"}, flag{unix.GRND_RANDOM, "GRND_RANDOM"})}},
	"inotify_init1": {"flags": {flags: named(flag{unix.IN_CLOEXEC, "IN_CLOEXEC"}, flag{unix.IN_NONBLOCK, "IN_NONBLOCK"})}},
	"clock_gettime": {"which_clock": clocks}, "clock_nanosleep": {"which_clock": clocks}, "clock_getres": {"which_clock": clocks}, "timerfd_create": {"clockid": clocks},
	"getpriority": {"which": {mask: whole, values: map[uint64]string{0: "PRIO_PROCESS", 1: "PRIO_PGRP", 2: "PRIO_USER"}}},
	"setpriority": {"which": {mask: whole, values: map[uint64]string{0: "PRIO_PROCESS", 1: "PRIO_PGRP", 2: "PRIO_USER"}}},
}

var openFlags = &kind{
	mask: unix.O_ACCMODE, values: map[uint64]string{unix.O_RDONLY: "O_RDONLY", unix.O_WRONLY: "O_WRONLY", unix.O_RDWR: "O_RDWR"},
	flags: named(
		flag{unix.O_CREAT, "O_CREAT"}, flag{unix.O_EXCL, "O_EXCL"}, flag{unix.O_NOCTTY, "O_NOCTTY"}, flag{unix.O_TRUNC, "O_TRUNC"},
		flag{unix.O_APPEND, "O_APPEND"}, flag{unix.O_NONBLOCK, "O_NONBLOCK"}, flag{unix.O_DSYNC, "O_DSYNC"}, flag{unix.O_SYNC, "O_SYNC"},
		flag{unix.O_ASYNC, "O_ASYNC"}, flag{unix.O_DIRECT, "O_DIRECT"}, flag{unix.O_DIRECTORY, "O_DIRECTORY"},
		flag{unix.O_NOFOLLOW, "O_NOFOLLOW"}, flag{unix.O_NOATIME, "O_NOATIME"}, flag{unix.O_CLOEXEC, "O_CLOEXEC"}, flag{unix.O_PATH, "O_PATH"},
		flag{unix.O_TMPFILE, "O_TMPFILE"},
	),
}

// pipeFlags have no mode of access: 0 is not O_RDONLY there.
var pipeFlags = &kind{flags: named(
	flag{unix.O_CLOEXEC, "O_CLOEXEC"}, flag{unix.O_NONBLOCK, "O_NONBLOCK"}, flag{unix.O_DIRECT, "O_DIRECT"}, flag{unix.O_EXCL, "O_NOTIFICATION_PIPE"},
)}

// fallocateModes and policies are arguments with the name mode that are not modes of files.
var fallocateModes = &kind{flags: named(
	flag{1, "FALLOC_FL_KEEP_SIZE"}, flag{2, "FALLOC_FL_PUNCH_HOLE"}, flag{8, "FALLOC_FL_COLLAPSE_RANGE"}, flag{16, "FALLOC_FL_ZERO_RANGE"},
	flag{32, "FALLOC_FL_INSERT_RANGE"}, flag{64, "FALLOC_FL_UNSHARE_RANGE"},
)}

var policies = &kind{
	mask: 0xff, values: map[uint64]string{0: "MPOL_DEFAULT", 1: "MPOL_PREFERRED", 2: "MPOL_BIND", 3: "MPOL_INTERLEAVE", 4: "MPOL_LOCAL"},
	flags: named(flag{0x8000, "MPOL_F_STATIC_NODES"}, flag{0x4000, "MPOL_F_RELATIVE_NODES"}, flag{0x2000, "MPOL_F_NUMA_BALANCING"}),
}

var accessModes = &kind{none: "F_OK", flags: named(flag{4, "R_OK"}, flag{2, "W_OK"}, flag{1, "X_OK"})}

var protection = &kind{none: "PROT_NONE", flags: named(
	flag{unix.PROT_READ, "PROT_READ"}, flag{unix.PROT_WRITE, "PROT_WRITE"}, flag{unix.PROT_EXEC, "PROT_EXEC"},
	flag{unix.PROT_GROWSDOWN, "PROT_GROWSDOWN"}, flag{unix.PROT_GROWSUP, "PROT_GROWSUP"},
)}

var mapFlags = &kind{
	mask: unix.MAP_TYPE, values: map[uint64]string{unix.MAP_SHARED: "MAP_SHARED", unix.MAP_PRIVATE: "MAP_PRIVATE", unix.MAP_SHARED_VALIDATE: "MAP_SHARED_VALIDATE"},
	flags: named(
		flag{unix.MAP_FIXED, "MAP_FIXED"}, flag{unix.MAP_ANONYMOUS, "MAP_ANONYMOUS"}, flag{unix.MAP_GROWSDOWN, "MAP_GROWSDOWN"},
		flag{unix.MAP_DENYWRITE, "MAP_DENYWRITE"}, flag{unix.MAP_EXECUTABLE, "MAP_EXECUTABLE"}, flag{unix.MAP_LOCKED, "MAP_LOCKED"},
		flag{unix.MAP_NORESERVE, "MAP_NORESERVE"}, flag{unix.MAP_POPULATE, "MAP_POPULATE"}, flag{unix.MAP_NONBLOCK, "MAP_NONBLOCK"},
		flag{unix.MAP_STACK, "MAP_STACK"}, flag{unix.MAP_HUGETLB, "MAP_HUGETLB"}, flag{unix.MAP_FIXED_NOREPLACE, "MAP_FIXED_NOREPLACE"},
	),
}

var atFlags = &kind{flags: named(
	flag{unix.AT_SYMLINK_NOFOLLOW, "AT_SYMLINK_NOFOLLOW"}, flag{unix.AT_EACCESS, "AT_EACCESS"}, flag{unix.AT_SYMLINK_FOLLOW, "AT_SYMLINK_FOLLOW"},
	flag{unix.AT_NO_AUTOMOUNT, "AT_NO_AUTOMOUNT"}, flag{unix.AT_EMPTY_PATH, "AT_EMPTY_PATH"},
	flag{unix.AT_STATX_FORCE_SYNC, "AT_STATX_FORCE_SYNC"}, flag{unix.AT_STATX_DONT_SYNC, "AT_STATX_DONT_SYNC"},
)}

var families = &kind{mask: whole, values: map[uint64]string{
	unix.AF_UNSPEC: "AF_UNSPEC", unix.AF_UNIX: "AF_UNIX", unix.AF_INET: "AF_INET", unix.AF_INET6: "AF_INET6", unix.AF_NETLINK: "AF_NETLINK",
	unix.AF_PACKET: "AF_PACKET", unix.AF_VSOCK: "AF_VSOCK", unix.AF_ALG: "AF_ALG", unix.AF_BLUETOOTH: "AF_BLUETOOTH", unix.AF_XDP: "AF_XDP",
}}

var socketFlags = &kind{flags: named(flag{unix.SOCK_CLOEXEC, "SOCK_CLOEXEC"}, flag{unix.SOCK_NONBLOCK, "SOCK_NONBLOCK"})}

var socketTypes = &kind{mask: 0xf, flags: socketFlags.flags, values: map[uint64]string{
	unix.SOCK_STREAM: "SOCK_STREAM", unix.SOCK_DGRAM: "SOCK_DGRAM", unix.SOCK_RAW: "SOCK_RAW", unix.SOCK_RDM: "SOCK_RDM",
	unix.SOCK_SEQPACKET: "SOCK_SEQPACKET", unix.SOCK_PACKET: "SOCK_PACKET",
}}

var messageFlags = &kind{flags: named(
	flag{unix.MSG_OOB, "MSG_OOB"}, flag{unix.MSG_PEEK, "MSG_PEEK"}, flag{unix.MSG_DONTROUTE, "MSG_DONTROUTE"}, flag{unix.MSG_TRUNC, "MSG_TRUNC"},
	flag{unix.MSG_DONTWAIT, "MSG_DONTWAIT"}, flag{unix.MSG_EOR, "MSG_EOR"}, flag{unix.MSG_WAITALL, "MSG_WAITALL"}, flag{unix.MSG_CONFIRM, "MSG_CONFIRM"},
	flag{unix.MSG_ERRQUEUE, "MSG_ERRQUEUE"}, flag{unix.MSG_NOSIGNAL, "MSG_NOSIGNAL"}, flag{unix.MSG_MORE, "MSG_MORE"},
	flag{unix.MSG_WAITFORONE, "MSG_WAITFORONE"}, flag{unix.MSG_FASTOPEN, "MSG_FASTOPEN"}, flag{unix.MSG_CMSG_CLOEXEC, "MSG_CMSG_CLOEXEC"},
)}

// cloneFlags: the low byte is the signal at the end of the child.
var cloneFlags = &kind{
	mask: 0xff, values: map[uint64]string{17: "SIGCHLD"},
	flags: named(
		flag{unix.CLONE_VM, "CLONE_VM"}, flag{unix.CLONE_FS, "CLONE_FS"}, flag{unix.CLONE_FILES, "CLONE_FILES"}, flag{unix.CLONE_SIGHAND, "CLONE_SIGHAND"},
		flag{unix.CLONE_PTRACE, "CLONE_PTRACE"}, flag{unix.CLONE_VFORK, "CLONE_VFORK"}, flag{unix.CLONE_PARENT, "CLONE_PARENT"}, flag{unix.CLONE_THREAD, "CLONE_THREAD"},
		flag{unix.CLONE_NEWNS, "CLONE_NEWNS"}, flag{unix.CLONE_SYSVSEM, "CLONE_SYSVSEM"}, flag{unix.CLONE_SETTLS, "CLONE_SETTLS"},
		flag{unix.CLONE_PARENT_SETTID, "CLONE_PARENT_SETTID"}, flag{unix.CLONE_CHILD_CLEARTID, "CLONE_CHILD_CLEARTID"},
		flag{unix.CLONE_DETACHED, "CLONE_DETACHED"}, flag{unix.CLONE_UNTRACED, "CLONE_UNTRACED"}, flag{unix.CLONE_CHILD_SETTID, "CLONE_CHILD_SETTID"},
		flag{unix.CLONE_NEWCGROUP, "CLONE_NEWCGROUP"}, flag{unix.CLONE_NEWUTS, "CLONE_NEWUTS"}, flag{unix.CLONE_NEWIPC, "CLONE_NEWIPC"},
		flag{unix.CLONE_NEWUSER, "CLONE_NEWUSER"}, flag{unix.CLONE_NEWPID, "CLONE_NEWPID"}, flag{unix.CLONE_NEWNET, "CLONE_NEWNET"}, flag{unix.CLONE_IO, "CLONE_IO"},
		flag{unix.CLONE_PIDFD, "CLONE_PIDFD"},
	),
}

var advice = &kind{mask: whole, values: map[uint64]string{
	unix.MADV_NORMAL: "MADV_NORMAL", unix.MADV_RANDOM: "MADV_RANDOM", unix.MADV_SEQUENTIAL: "MADV_SEQUENTIAL", unix.MADV_WILLNEED: "MADV_WILLNEED",
	unix.MADV_DONTNEED: "MADV_DONTNEED", unix.MADV_FREE: "MADV_FREE", unix.MADV_REMOVE: "MADV_REMOVE", unix.MADV_DONTFORK: "MADV_DONTFORK",
	unix.MADV_DOFORK: "MADV_DOFORK", unix.MADV_HUGEPAGE: "MADV_HUGEPAGE", unix.MADV_NOHUGEPAGE: "MADV_NOHUGEPAGE", unix.MADV_COLLAPSE: "MADV_COLLAPSE",
	unix.MADV_DONTDUMP: "MADV_DONTDUMP", unix.MADV_COLD: "MADV_COLD", unix.MADV_PAGEOUT: "MADV_PAGEOUT", unix.MADV_POPULATE_READ: "MADV_POPULATE_READ",
	unix.MADV_POPULATE_WRITE: "MADV_POPULATE_WRITE",
}}

var futexOperations = &kind{
	mask: 0x7f,
	values: map[uint64]string{
		0: "FUTEX_WAIT", 1: "FUTEX_WAKE", 3: "FUTEX_REQUEUE", 4: "FUTEX_CMP_REQUEUE", 5: "FUTEX_WAKE_OP", 6: "FUTEX_LOCK_PI", 7: "FUTEX_UNLOCK_PI",
		8: "FUTEX_TRYLOCK_PI", 9: "FUTEX_WAIT_BITSET", 10: "FUTEX_WAKE_BITSET", 11: "FUTEX_WAIT_REQUEUE_PI", 12: "FUTEX_CMP_REQUEUE_PI", 13: "FUTEX_LOCK_PI2",
	},
	flags: named(flag{128, "FUTEX_PRIVATE_FLAG"}, flag{256, "FUTEX_CLOCK_REALTIME"}),
}

var fcntlCommands = &kind{mask: whole, values: map[uint64]string{
	unix.F_DUPFD: "F_DUPFD", unix.F_GETFD: "F_GETFD", unix.F_SETFD: "F_SETFD", unix.F_GETFL: "F_GETFL", unix.F_SETFL: "F_SETFL", unix.F_GETLK: "F_GETLK",
	unix.F_SETLK: "F_SETLK", unix.F_SETLKW: "F_SETLKW", unix.F_SETOWN: "F_SETOWN", unix.F_GETOWN: "F_GETOWN", unix.F_DUPFD_CLOEXEC: "F_DUPFD_CLOEXEC",
	unix.F_OFD_GETLK: "F_OFD_GETLK", unix.F_OFD_SETLK: "F_OFD_SETLK", unix.F_OFD_SETLKW: "F_OFD_SETLKW", unix.F_GETPIPE_SZ: "F_GETPIPE_SZ",
	unix.F_SETPIPE_SZ: "F_SETPIPE_SZ", unix.F_ADD_SEALS: "F_ADD_SEALS", unix.F_GET_SEALS: "F_GET_SEALS",
}}

var waitOptions = &kind{flags: named(
	flag{unix.WNOHANG, "WNOHANG"}, flag{unix.WUNTRACED, "WUNTRACED"}, flag{unix.WEXITED, "WEXITED"}, flag{unix.WCONTINUED, "WCONTINUED"},
	flag{unix.WNOWAIT, "WNOWAIT"}, flag{unix.WNOTHREAD, "__WNOTHREAD"}, flag{unix.WALL, "__WALL"}, flag{unix.WCLONE, "__WCLONE"},
)}

var clocks = &kind{mask: whole, values: map[uint64]string{
	0: "CLOCK_REALTIME", 1: "CLOCK_MONOTONIC", 2: "CLOCK_PROCESS_CPUTIME_ID", 3: "CLOCK_THREAD_CPUTIME_ID", 4: "CLOCK_MONOTONIC_RAW",
	5: "CLOCK_REALTIME_COARSE", 6: "CLOCK_MONOTONIC_COARSE", 7: "CLOCK_BOOTTIME", 8: "CLOCK_REALTIME_ALARM", 9: "CLOCK_BOOTTIME_ALARM", 11: "CLOCK_TAI",
}}
