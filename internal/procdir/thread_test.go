package procdir

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestThread compares what is read about a thread of this process with the results of system calls.
func TestThread(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pid, tid := os.Getpid(), syscall.Gettid()
	for field, want := range map[string]int{"Uid": os.Getuid(), "Gid": os.Getgid(), "Pid": tid, "Tgid": pid} {
		if got, err := Status(pid, tid, field); err != nil || got != uint64(want) {
			t.Errorf("%s is %d, %v, want %d", field, got, err, want)
		}
	}
	if _, err := Status(pid, tid, "Nothing"); err == nil {
		t.Error("a missing field has a value")
	}
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil || !strings.Contains("\n"+string(b), "\n0::") {
		t.Skipf("no cgroup of version 2: %v", err)
	}
	_, path, _ := strings.Cut("\n"+string(b), "\n0::")
	path, _, _ = strings.Cut(path, "\n")
	dir := cgroupRoots[0] + path
	if _, err := os.Stat(dir + "/cgroup.procs"); err != nil {
		t.Skipf("cgroup2 is not mounted as usual: %v", err)
	}
	out, err := exec.Command("stat", "-c", "%i", dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	want, _ := strconv.ParseUint(strings.TrimSpace(string(out)), 10, 64)
	if got, err := Cgroup(pid, tid); err != nil || got != want {
		t.Errorf("cgroup %d, %v, want %d", got, err, want)
	}
}

// TestUndelivered looks at a program of one thread: in a stop of its tracer, asleep, and stopped with a signal pending.
func TestUndelivered(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	traced := &exec.Cmd{Path: "/bin/sleep", Args: []string{"sleep", "1000"}, SysProcAttr: &syscall.SysProcAttr{Ptrace: true}}
	asleep := exec.Command("/bin/sleep", "1000")
	for _, c := range []*exec.Cmd{traced, asleep} {
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = c.Process.Kill()
			_, _ = c.Process.Wait()
		}()
	}
	state := func(pid int, want string) {
		for {
			b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
			if err != nil {
				t.Fatal(err)
			}
			if _, rest, _ := strings.Cut(string(b), ") "); strings.HasPrefix(rest, want) {
				return
			}
			runtime.Gosched()
		}
	}
	const interrupt = 1 << (syscall.SIGINT - 1)
	state(traced.Process.Pid, "t")
	if !Undelivered(traced.Process.Pid, interrupt) {
		t.Error("a stop of the tracer may be the report of the signal")
	}
	pid := asleep.Process.Pid
	state(pid, "S")
	if Undelivered(pid, interrupt) {
		t.Error("no signal is on its way to a program that sleeps")
	}
	_ = asleep.Process.Signal(syscall.SIGSTOP)
	state(pid, "T")
	_ = asleep.Process.Signal(syscall.SIGINT)
	if Undelivered(pid, interrupt) {
		t.Error("a stopped program takes no signal before it continues")
	}
}
