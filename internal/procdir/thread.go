package procdir

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Information about one thread in /proc.

// CPU returns the CPU on which a stopped thread ran last.
func CPU(pid, tid int) (int, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", pid, tid))
	if err != nil {
		return 0, err
	}
	// proc_pid_stat(5): the CPU is field 39; the state, after the name, is field 3.
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) <= 36 {
		return 0, fmt.Errorf("thread %d: its stat has %d fields after the name", tid, len(fields))
	}
	return strconv.Atoi(fields[36])
}

// Status returns the first number of a field of a thread's status (proc_pid_status(5)). Of Uid and Gid this
// is the real one.
func Status(pid, tid int, field string) (uint64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/status", pid, tid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		name, rest, _ := strings.Cut(line, ":")
		if list := strings.Fields(rest); name == field && len(list) > 0 {
			return strconv.ParseUint(list[0], 10, 64)
		}
	}
	return 0, fmt.Errorf("thread %d: its status has no %s", tid, field)
}

// Undelivered reports whether one of the signals (bit N-1 is signal N) may be on its way to a thread of a process. It is
// pending, and will be delivered as soon as the thread gets a CPU: the thread does not block it and does not sleep. Or
// the thread is in a stop of its tracer, which may be the report of the signal: it is not pending any more then.
func Undelivered(pid int, signals uint64) bool {
	own := fmt.Sprintf("/proc/%d", pid) // the first thread's; threads has the others
	for _, dir := range append([]string{own}, threads(own)...) {
		b, err := os.ReadFile(dir + "/status")
		if err != nil {
			continue
		}
		var pending, blocked uint64
		ready, stopped := false, false
		for line := range strings.Lines(string(b)) {
			name, rest, _ := strings.Cut(line, ":")
			rest = strings.TrimSpace(rest)
			switch name {
			case "State":
				ready, stopped = strings.HasPrefix(rest, "R"), strings.HasPrefix(rest, "t")
			case "SigPnd", "ShdPnd":
				n, _ := strconv.ParseUint(rest, 16, 64)
				pending |= n
			case "SigBlk":
				blocked, _ = strconv.ParseUint(rest, 16, 64)
			}
		}
		if stopped || ready && pending&^blocked&signals != 0 {
			return true
		}
	}
	return false
}

// cgroupRoots are the usual mount points of cgroup2; the second is used beside version 1.
var cgroupRoots = []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}

// Cgroup returns the kernel's number of a thread's cgroup of version 2, which is the inode of its
// directory.
func Cgroup(pid, tid int) (uint64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/cgroup", pid, tid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok {
			return cgroupAt(path)
		}
	}
	return 0, fmt.Errorf("thread %d is in no cgroup of version 2", tid)
}

func cgroupAt(path string) (uint64, error) {
	dir, err := cgroupDir(path)
	if err != nil {
		return 0, err
	}
	var st syscall.Stat_t
	err = syscall.Stat(dir, &st)
	return st.Ino, err
}

// cgroupDir is the directory of a cgroup of version 2.
func cgroupDir(path string) (string, error) {
	const cgroup2 = 0x63677270 // CGROUP2_SUPER_MAGIC
	if strings.HasPrefix(path, "/..") {
		return "", errors.New("the thread's cgroup is not below jalon's cgroup namespace")
	}
	for _, root := range cgroupRoots {
		dir := filepath.Join(root, path)
		var fs syscall.Statfs_t
		if syscall.Statfs(dir, &fs) == nil && fs.Type == cgroup2 {
			return dir, nil
		}
	}
	return "", fmt.Errorf("the directory of cgroup %s does not exist", path)
}

// freezerRoot is the usual mount point of version 1 of the freezer.
const freezerRoot = "/sys/fs/cgroup/freezer"

// Frozen returns the file of the control group that has frozen a process, or is about to; "" if none has, or it cannot be seen.
func Frozen(pid int) (file string) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		switch {
		case len(f) < 3:
		case f[0] == "0":
			dir, err := cgroupDir(f[2])
			if err != nil {
				continue
			}
			// The group itself, or one above it, is to be frozen. The file of events has the state that is reached.
			for up := dir; strings.HasPrefix(up, "/sys/fs/cgroup"); up = filepath.Dir(up) {
				name := filepath.Join(up, "cgroup.freeze")
				if state, _ := os.ReadFile(name); strings.HasPrefix(string(state), "1") {
					return name
				}
			}
		case slices.Contains(strings.Split(f[1], ","), "freezer"):
			name := filepath.Join(freezerRoot, f[2], "freezer.state")
			if state, _ := os.ReadFile(name); strings.HasPrefix(string(state), "FR") { // FROZEN, FREEZING; of a group above, too
				return name
			}
		}
	}
	return ""
}
