package sys

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Status has the needed fields of /proc/TID/status.
type Status struct {
	Name     string
	State    byte // R S D T t Z X
	TGID     int
	Tracer   int
	Uid      int    // effective
	Pending  uint64 // for this thread
	Blocked  uint64
	Ignored  uint64
	Caught   uint64
	Seccomp  int
	Filters  int // seccomp filters in force; -1 before Linux 5.9
	CapEff   uint64
	Switches int // voluntary context switches
	// The numbers of the thread and of its process in its own pid namespace; 0 before Linux 4.1.
	OwnTID, OwnTGID int
}

// readProc reads a small file of a thread's directory in /proc. The tracer reads some for
// every thread of a stopped process: a read through package os would give the tracer's
// CPU to another goroutine each time. None of these files keeps its reader waiting.
func readProc(tid int, name string) ([]byte, error) {
	path := fmt.Sprintf("/proc/%d/%s", tid, name)
	fail := func(e unix.Errno) ([]byte, error) { return nil, &os.PathError{Op: "read", Path: path, Err: e} }
	ptr, err := unix.BytePtrFromString(path)
	if err != nil {
		return nil, err
	}
	at := unix.AT_FDCWD
	fd, _, e := unix.RawSyscall6(unix.SYS_OPENAT, uintptr(at), uintptr(unsafe.Pointer(ptr)), unix.O_RDONLY|unix.O_CLOEXEC, 0, 0, 0)
	if e != 0 {
		return fail(e)
	}
	defer func() { _, _, _ = unix.RawSyscall(unix.SYS_CLOSE, fd, 0, 0) }()
	b := make([]byte, 2048)
	for have := 0; ; {
		if have == len(b) {
			b = append(b, make([]byte, len(b))...)
		}
		n, _, e := unix.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&b[have])), uintptr(len(b)-have))
		switch {
		case e == unix.EINTR:
		case e != 0:
			return fail(e)
		case n == 0:
			return b[:have], nil
		default:
			have += int(n)
		}
	}
}

// ReadStatus reads /proc/TID/status.
func ReadStatus(tid int) (*Status, error) {
	b, err := readProc(tid, "status")
	if err != nil {
		return nil, err
	}
	return ParseStatus(b), nil
}

// ParseStatus reads the text of such a file.
func ParseStatus(b []byte) *Status {
	s := &Status{Filters: -1}
	for _, line := range strings.Split(string(b), "\n") {
		key, val, ok := strings.Cut(line, ":")
		set := statusFields[key]
		if !ok || set == nil {
			continue
		}
		set(s, strings.TrimSpace(val))
	}
	return s
}

var statusFields = map[string]func(s *Status, v string){
	"Name":   func(s *Status, v string) { s.Name = v },
	"State":  func(s *Status, v string) { s.State = firstByte(v) },
	"Tgid":   func(s *Status, v string) { s.TGID = atoi(v) },
	"Uid":    func(s *Status, v string) { s.Uid = secondField(v) },
	"SigPnd": func(s *Status, v string) { s.Pending = hexWord(v) },
	"SigBlk": func(s *Status, v string) { s.Blocked = hexWord(v) },
	"SigIgn": func(s *Status, v string) { s.Ignored = hexWord(v) },
	"SigCgt": func(s *Status, v string) { s.Caught = hexWord(v) },
	"CapEff": func(s *Status, v string) { s.CapEff = hexWord(v) },

	"NSpid":  func(s *Status, v string) { s.OwnTID = lastField(v) },
	"NStgid": func(s *Status, v string) { s.OwnTGID = lastField(v) },

	"TracerPid":               func(s *Status, v string) { s.Tracer = atoi(v) },
	"Seccomp":                 func(s *Status, v string) { s.Seccomp = atoi(v) },
	"Seccomp_filters":         func(s *Status, v string) { s.Filters = atoi(v) },
	"voluntary_ctxt_switches": func(s *Status, v string) { s.Switches = atoi(v) },
}

func atoi(v string) int { n, _ := strconv.Atoi(v); return n }

func hexWord(v string) uint64 { n, _ := strconv.ParseUint(v, 16, 64); return n }

func firstByte(v string) byte {
	if v == "" {
		return 0
	}
	return v[0]
}

func secondField(v string) int {
	f := strings.Fields(v)
	if len(f) < 2 {
		return -1
	}
	return atoi(f[1])
}

func lastField(v string) int {
	f := strings.Fields(v)
	if len(f) == 0 {
		return 0
	}
	return atoi(f[len(f)-1])
}

// ThreadState is the letter of the thread's stat, 0 when there is no such thread. For
// /proc/TID/stat the kernel adds up the times of all threads of the process; for the
// same file below task it does not.
func ThreadState(tid int) byte {
	b, err := readProc(tid, fmt.Sprintf("task/%d/stat", tid))
	if err != nil {
		return 0
	}
	// The name is in parentheses and may hold any byte, parentheses too.
	i := bytes.LastIndexByte(b, ')')
	if i < 0 || i+2 >= len(b) {
		return 0
	}
	return b[i+2]
}

// TimeOnCPU is how long a thread has run, as of its last tick or switch. ok is false if there is no such thread, or
// the kernel has no such file (CONFIG_SCHED_INFO).
func TimeOnCPU(tid int) (ran time.Duration, ok bool) {
	b, err := readProc(tid, fmt.Sprintf("task/%d/schedstat", tid))
	if err != nil {
		return 0, false
	}
	field, _, _ := strings.Cut(string(b), " ")
	n, err := strconv.ParseInt(field, 10, 64)
	return time.Duration(n), err == nil
}

// IsKernelThread looks at PF_KTHREAD in the flags of /proc/PID/stat.
func IsKernelThread(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	return len(f) > 6 && atoi(f[6])&0x00200000 != 0
}

// BlockedAt gives pc and stack pointer of a thread that sleeps in the kernel and
// cannot be stopped for the moment (/proc/TID/syscall; it needs no ptrace-stop).
func BlockedAt(tid int) (pc, sp uint64, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", tid))
	if err != nil {
		return 0, 0, false
	}
	f := strings.Fields(string(b))
	if len(f) < 3 { // "running"
		return 0, 0, false
	}
	sp, err1 := strconv.ParseUint(strings.TrimPrefix(f[len(f)-2], "0x"), 16, 64)
	pc, err2 := strconv.ParseUint(strings.TrimPrefix(f[len(f)-1], "0x"), 16, 64)
	return pc, sp, err1 == nil && err2 == nil
}

// BlockedIn is the system call in which a thread sleeps in the kernel.
func BlockedIn(tid int) (nr int64, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", tid))
	if err != nil {
		return 0, false
	}
	first, _, _ := strings.Cut(string(b), " ")
	nr, err = strconv.ParseInt(first, 10, 64)
	return nr, err == nil
}

// SameMemory reports whether two processes share their memory (kcmp(2); without it in the kernel the result
// is false).
func SameMemory(a, b int) bool {
	const vm = 1 // KCMP_VM
	r, _, e := unix.RawSyscall6(unix.SYS_KCMP, uintptr(a), uintptr(b), vm, 0, 0, 0)
	return e == 0 && r == 0
}

// ThreadsOf lists the threads of a process, not at one moment: threads may be born and end
// while the list is read.
func ThreadsOf(pid int) ([]int, error) {
	ents, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil, err
	}
	var tids []int
	for _, e := range ents {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			tids = append(tids, n)
		}
	}
	return tids, nil
}

// CommOf is the name of a thread; "" where there is no such thread.
func CommOf(tid int) string {
	b, err := readProc(tid, "comm")
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(b), "\n")
}

// Children are the children of a thread's process whose parent that thread is (a kernel with
// CONFIG_PROC_CHILDREN; else none). When a thread ends, another one of its process becomes
// the parent.
func Children(tid int) (pids []int) {
	b, err := readProc(tid, fmt.Sprintf("task/%d/children", tid))
	if err != nil {
		return nil
	}
	for _, f := range strings.Fields(string(b)) {
		pids = append(pids, atoi(f))
	}
	return pids
}

// LastCPU is the CPU that a thread ran on last (field 39 of /proc/TID/stat); -1: not known.
func LastCPU(tid int) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", tid))
	if err != nil {
		return -1
	}
	s := string(b)
	f := strings.Fields(s[strings.LastIndexByte(s, ')')+1:])
	const processor = 39 - 3 // the first here is field 3
	if len(f) <= processor {
		return -1
	}
	return atoi(f[processor])
}

// ThreadList is ThreadsOf where a process that is gone has no threads.
func ThreadList(pid int) []int {
	tids, err := ThreadsOf(pid)
	if err != nil {
		return nil
	}
	return tids
}
