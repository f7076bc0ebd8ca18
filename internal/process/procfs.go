package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// status is what /proc/TID/status says, as far as it is of use here.
type status struct {
	name     string
	state    byte // R S D T t Z X
	tgid     int
	ppid     int
	tracer   int
	uid      int    // effective
	pending  uint64 // for this thread
	blocked  uint64
	ignored  uint64
	caught   uint64
	seccomp  int
	filters  int // seccomp filters in force; -1 before Linux 5.9
	capEff   uint64
	switches int // voluntary context switches
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

func readStatus(tid int) (*status, error) {
	b, err := readProc(tid, "status")
	if err != nil {
		return nil, err
	}
	return parseStatus(b), nil
}

func parseStatus(b []byte) *status {
	s := &status{filters: -1}
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

var statusFields = map[string]func(s *status, v string){
	"Name":   func(s *status, v string) { s.name = v },
	"State":  func(s *status, v string) { s.state = firstByte(v) },
	"Tgid":   func(s *status, v string) { s.tgid = atoi(v) },
	"PPid":   func(s *status, v string) { s.ppid = atoi(v) },
	"Uid":    func(s *status, v string) { s.uid = secondField(v) },
	"SigPnd": func(s *status, v string) { s.pending = hexWord(v) },
	"SigBlk": func(s *status, v string) { s.blocked = hexWord(v) },
	"SigIgn": func(s *status, v string) { s.ignored = hexWord(v) },
	"SigCgt": func(s *status, v string) { s.caught = hexWord(v) },
	"CapEff": func(s *status, v string) { s.capEff = hexWord(v) },

	"TracerPid":               func(s *status, v string) { s.tracer = atoi(v) },
	"Seccomp":                 func(s *status, v string) { s.seccomp = atoi(v) },
	"Seccomp_filters":         func(s *status, v string) { s.filters = atoi(v) },
	"voluntary_ctxt_switches": func(s *status, v string) { s.switches = atoi(v) },
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

// threadState is the letter of the thread's stat, 0 when there is no such thread. For
// /proc/TID/stat the kernel adds up the times of all threads of the process; for the
// same file below task it does not.
func threadState(tid int) byte {
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

// isKernelThread looks at PF_KTHREAD in the flags of /proc/PID/stat.
func isKernelThread(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	return len(f) > 6 && atoi(f[6])&0x00200000 != 0
}

// blockedAt gives pc and stack pointer of a thread that sleeps in the kernel and
// cannot be stopped for the moment (/proc/TID/syscall; it needs no ptrace-stop).
func blockedAt(tid int) (pc, sp uint64, ok bool) {
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

func threadsOf(pid int) ([]int, error) {
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

func commOf(tid int) string {
	b, err := readProc(tid, "comm")
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(b), "\n")
}
