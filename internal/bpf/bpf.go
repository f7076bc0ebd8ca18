package bpf

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Two calls of bpf(2) that the library does not offer: a raw tracepoint with a cookie, and a link on a perf
// event that keeps the kernel's error number.

// attrRawTracepoint is union bpf_attr's raw_tracepoint.
type attrRawTracepoint struct {
	name   *byte
	progFD uint32
	_      uint32
	cookie uint64 // Linux 6.10; older kernels require zero
}

// attrLinkPerf is union bpf_attr's link_create for a perf event.
type attrLinkPerf struct {
	progFD, targetFD, attachType, flags uint32
	cookie                              uint64
}

// rawTracepointOpen attaches a raw tracepoint program and returns the link's descriptor.
func rawTracepointOpen(name string, progFD int, cookie uint64) (int, error) {
	p, err := unix.BytePtrFromString(name)
	if err != nil {
		return -1, unix.ENOENT // no tracepoint has a NUL in its name
	}
	attr := attrRawTracepoint{name: p, progFD: uint32(progFD), cookie: cookie}
	fd, err := bpf(unix.BPF_RAW_TRACEPOINT_OPEN, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
	runtime.KeepAlive(p)
	return fd, err
}

// linkPerf attaches a program to a perf event (Linux 5.15) and returns the link's descriptor.
func linkPerf(eventFD, progFD int, cookie uint64) (int, error) {
	attr := attrLinkPerf{progFD: uint32(progFD), targetFD: uint32(eventFD), attachType: unix.BPF_PERF_EVENT, cookie: cookie}
	return bpf(unix.BPF_LINK_CREATE, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
}

func bpf(cmd uintptr, attr unsafe.Pointer, size uintptr) (int, error) {
	for {
		fd, _, errno := unix.Syscall(unix.SYS_BPF, cmd, uintptr(attr), size)
		switch errno {
		case 0:
			return int(fd), nil
		case unix.EINTR:
		default:
			return -1, errno
		}
	}
}
