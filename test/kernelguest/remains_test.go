package kernelguest

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Commands of bpf(2) that go through the ids of all objects of a kind.
var objects = map[string]uintptr{"programs": 11, "maps": 12, "links": 31}

// remains lists the objects of tracers in the kernel.
func remains(t *testing.T) map[string]int {
	t.Helper()
	n := map[string]int{}
	for what, next := range objects {
		for attr := (struct{ start, next, flags uint32 }{}); ; attr.start = attr.next {
			_, _, errno := unix.Syscall(unix.SYS_BPF, next, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
			if errors.Is(errno, unix.ENOENT) {
				break
			}
			if errno != 0 {
				t.Fatalf("listing bpf %s: %v", what, errno)
			}
			n[what]++
		}
	}
	for what, file := range map[string]string{
		"kprobes":           "/sys/kernel/debug/kprobes/list",
		"functions":         "/sys/kernel/tracing/enabled_functions",
		"kprobes of ftrace": "/sys/kernel/tracing/kprobe_events",
		"uprobes of ftrace": "/sys/kernel/tracing/uprobe_events",
	} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		n[what] = strings.Count(string(b), "\n")
	}
	return n
}

// gone waits until only the previous objects remain: the kernel frees some when all CPUs have left them.
func gone(t *testing.T, before map[string]int) {
	t.Helper()
	now := map[string]int{}
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); {
		if now = remains(t); fmt.Sprint(now) == fmt.Sprint(before) {
			return
		}
		unix.Sync() // gives the kernel's threads time
	}
	t.Errorf("there was %v, there remains %v", before, now)
}

// everything are places of all kinds; each is attached in a way of its own.
var everything = []string{
	"kprobe:vfs_read", "kprobe:vfs_re*", "kretprobe:vfs_read", "fentry:vfs_read", "fexit:vfs_read", "tracepoint:syscalls:sys_enter_read",
	"tracepoint:sched:sched_switch if (prev->prio < 0)", "rawtracepoint:sched_process_exit", "syscall:write", "process:exec", "profile:hz:10",
	"software:page-faults:100", "uprobe:" + calls + ":work", "uretprobe:" + calls + ":work", "usdt:" + calls + ":marked",
}

// Whether jalon ends normally, is interrupted or killed: nothing stays attached.
func TestGuest_NothingRemains(t *testing.T) {
	// Nothing else in the guest traces. What the test before used may still be on its way out.
	before := map[string]int{"functions": 0, "kprobes": 0, "kprobes of ftrace": 0, "uprobes of ftrace": 0}
	gone(t, before)
	trace(t, append([]string{"-c", "$cpu", "--format=none", "--all"}, append(everything, "--", calls, "reads")...)...)
	gone(t, before)
	const group = "/sys/fs/cgroup/remains" // jalon's own output is not traced
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Fatal(err)
	}
	w := work(t, "works", "1")
	join(t, group, w.Pid())
	for _, how := range []string{"interrupted", "killed"} {
		tr := start(t, append([]string{"-c", "$cpu", "--all", "--cgroup=remains"}, everything...)...)
		w.once()
		if now := remains(t); now["programs"] <= before["programs"] || now["links"] <= before["links"] || now["functions"] <= before["functions"] {
			t.Errorf("in a running trace there is %v", now)
		}
		if how == "interrupted" {
			tr.stop()
		} else {
			tr.Kill()
		}
		gone(t, before)
		w.once()
	}
}
