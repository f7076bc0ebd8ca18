package bpf

import (
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/fail"
)

// SoftwareEvents are the kernel's own counters, by their names in perf list and bpftrace (perf_event.h,
// enum perf_sw_ids).
var SoftwareEvents = map[string]uint64{
	"cpu-clock": 0, "cpu": 0, "task-clock": 1, "page-faults": 2, "faults": 2,
	"context-switches": 3, "cs": 3, "cpu-migrations": 4, "minor-faults": 5, "major-faults": 6,
	"alignment-faults": 7, "emulation-faults": 8, "dummy": 9, "bpf-output": 10, "cgroup-switches": 11,
}

// HardwareEvents are the generic counters of CPUs (perf_event.h, enum perf_hw_id).
var HardwareEvents = map[string]uint64{
	"cpu-cycles": 0, "cycles": 0, "instructions": 1, "cache-references": 2, "cache-misses": 3,
	"branch-instructions": 4, "branches": 4, "branch-misses": 5, "bus-cycles": 6,
	"stalled-cycles-frontend": 7, "frontend-stalls": 7, "stalled-cycles-backend": 8, "backend-stalls": 8,
	"ref-cycles": 9,
}

// eventName returns the longest name of a number, or the number itself if it has none.
func eventName(names map[string]uint64, config uint64) string {
	best := ""
	for name, n := range names {
		if n == config && len(name) > len(best) {
			best = name
		}
	}
	if best == "" {
		return strconv.FormatUint(config, 10)
	}
	return best
}

// attachCounter attaches to a counter or timer: one event for each CPU that is online now, or, with Pid,
// one for each thread. Counting starts when all events exist.
//
// The timers of Profile and Interval belong to a CPU. An idle CPU may handle its timer late, as idle CPUs
// of virtual machines do (also with perf record); missed periods are not made up for.
func attachCounter(k *Kernel, prog *ebpf.Program, t *Target) ([]part, error) {
	attr, err := counterAttr(t)
	if err != nil {
		return nil, err
	}
	events, err := openCounter(attr, t)
	if err != nil {
		return nil, err
	}
	return k.putOnAll(events, prog, t.Cookie)
}

func openCounter(attr *unix.PerfEventAttr, t *Target) ([]int, error) {
	if t.Pid != 0 {
		return openThreads(attr, t.Pid, t.Children)
	}
	cpus, err := onlineCPUs()
	if err != nil {
		return nil, err
	}
	if t.Kind == Interval {
		if !slices.Contains(cpus, t.CPU) {
			return nil, unix.ENODEV
		}
		cpus = []int{t.CPU}
	}
	return openOn(attr, cpus)
}

// counterAttr returns the attributes of the disabled event.
func counterAttr(t *Target) (*unix.PerfEventAttr, error) {
	attr := &unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: t.Config, Sample: t.Period, Bits: unix.PerfBitDisabled}
	switch t.Kind {
	case Profile, Interval:
		attr.Config = unix.PERF_COUNT_SW_CPU_CLOCK
		if t.Frequency != 0 {
			// The timer of the clock always has a fixed period.
			attr.Sample = 1e9 / t.Frequency
		}
	case Hardware:
		attr.Type = unix.PERF_TYPE_HARDWARE
		fallthrough
	case Software:
		if t.Frequency != 0 {
			attr.Sample = t.Frequency
			attr.Bits |= unix.PerfBitFreq
		}
	}
	if attr.Sample == 0 {
		return nil, unix.EINVAL
	}
	return attr, nil
}

// openOn opens the event on each CPU for all processes: on all CPUs or none.
func openOn(attr *unix.PerfEventAttr, cpus []int) ([]int, error) {
	var events []int
	for _, cpu := range cpus {
		fd, err := perfOpen(attr, -1, cpu)
		if err != nil {
			closeAll(events)
			return nil, err
		}
		events = append(events, fd)
	}
	return events, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}

// perfBitInheritThread makes an inherited event follow new threads, not new
// processes (Linux 5.13).
const perfBitInheritThread = 1 << 35

// openThreads opens the event for every thread of a process; threads that they start later inherit it, with children processes too. For a
// thread that starts in the meantime it is unknown whether it inherits the event. So if there is a new thread
// at the end, openThreads starts again.
func openThreads(attr *unix.PerfEventAttr, pid int, children bool) ([]int, error) {
	const tries = 100
	attr.Bits |= unix.PerfBitInherit
	if !children {
		attr.Bits |= perfBitInheritThread
	}
	for range tries {
		before, err := threads(pid)
		if err != nil {
			return nil, err
		}
		events, err := openFor(attr, before)
		if err != nil {
			return nil, err
		}
		after, err := threads(pid)
		if err == nil && subset(after, before) {
			return events, nil
		}
		closeAll(events)
		if err != nil {
			return nil, err
		}
	}
	return nil, &fail.Error{
		Op:  fmt.Sprintf("attach to the threads of process %d", pid),
		Err: fmt.Errorf("it started threads during each of %d attempts", tries), Remedy: "leave the process out and test it in the condition ($pid == ...)",
	}
}

// openFor opens the event for each thread that has not ended.
func openFor(attr *unix.PerfEventAttr, tids map[int]bool) ([]int, error) {
	var events []int
	for tid := range tids {
		fd, err := perfOpen(attr, tid, -1)
		if err == unix.ESRCH {
			continue // ended, or ended and not yet waited for
		}
		if err != nil {
			closeAll(events)
			return nil, err
		}
		events = append(events, fd)
	}
	if len(events) == 0 {
		return nil, unix.ESRCH
	}
	return events, nil
}

// threads lists the threads of a process.
func threads(pid int) (map[int]bool, error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil, unix.ESRCH
	}
	tids := map[int]bool{}
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			tids[tid] = true
		}
	}
	return tids, nil
}

func subset(a, b map[int]bool) bool {
	for k := range a {
		if !b[k] {
			return false
		}
	}
	return true
}

// putOnAll attaches to each event and then enables all of them.
func (k *Kernel) putOnAll(events []int, prog *ebpf.Program, cookie uint64) ([]part, error) {
	var parts []part
	for i, event := range events {
		p, err := k.putOn(event, prog, cookie)
		if err != nil {
			closeAll(events[i+1:])
			_ = closeParts(parts)
			return nil, err
		}
		parts = append(parts, p)
	}
	for _, p := range parts {
		if err := unix.IoctlSetInt(p.event, unix.PERF_EVENT_IOC_ENABLE, 0); err != nil {
			_ = closeParts(parts)
			return nil, err
		}
	}
	return parts, nil
}
