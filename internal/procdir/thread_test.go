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
