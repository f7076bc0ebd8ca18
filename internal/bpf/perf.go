package bpf

import (
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// onAnyCPU opens an event that only serves to attach a program. The program of a tracepoint or a probe runs
// on all CPUs and for all processes, independent of the event's CPU and process, and even if the event is
// disabled. So the event stays disabled: perf has no work at a hit.
func onAnyCPU(attr *unix.PerfEventAttr, pid int) (int, error) {
	attr.Bits |= unix.PerfBitDisabled
	if pid != 0 {
		return perfOpen(attr, pid, -1)
	}
	cpus, err := onlineCPUs()
	if err != nil {
		return -1, err
	}
	return perfOpen(attr, -1, cpus[0])
}

func perfOpen(attr *unix.PerfEventAttr, pid, cpu int) (int, error) {
	attr.Size = uint32(unsafe.Sizeof(*attr))
	for {
		fd, err := unix.PerfEventOpen(attr, pid, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// putOn attaches a program to a perf event, which the part then owns. If attaching fails, the event is
// closed.
func (k *Kernel) putOn(event int, prog *ebpf.Program, cookie uint64) (part, error) {
	if !k.features.PerfLink.OK {
		if err := unix.IoctlSetInt(event, unix.PERF_EVENT_IOC_SET_BPF, prog.FD()); err != nil {
			_ = unix.Close(event)
			return part{}, err
		}
		return part{event: event}, nil
	}
	fd, err := linkPerf(event, prog.FD(), cookie)
	if err != nil {
		_ = unix.Close(event)
		return part{}, err
	}
	return linkOf(fd, event)
}

// putOnOne is putOn for kinds with one event for each place.
func (k *Kernel) putOnOne(event int, prog *ebpf.Program, cookie uint64) ([]part, error) {
	p, err := k.putOn(event, prog, cookie)
	if err != nil {
		return nil, err
	}
	return []part{p}, nil
}
