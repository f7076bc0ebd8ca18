package kernelguest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/vmtest"
)

// System calls by their events and by their functions, in one session with a place in the program itself:
// one time line, in the right order.
func TestGuest_Mixed(t *testing.T) {
	o := trace(t, script(t,
		point{"prog.c:" + line(t, "if (read(w, buf, 10)"), "", "w, fd"},
		point{"syscall:read", "", "args->fd, args->count, $_sdata"},
		point{"kprobe:vfs_read", "count == 10", "count"},
		point{"kretprobe:vfs_read", "retval == -9", "retval"},
		point{"tracepoint:syscalls:sys_exit_read", "args->ret == -9", "args->ret, $_sdata"},
	), "--", calls, "errors")
	var order []string
	for i, h := range o.hits {
		kind, _, _ := strings.Cut(h.Place, ":")
		order = append(order, kind)
		if i > 0 && h.Time < o.hits[i-1].Time {
			t.Errorf("event %d is older than the one before", i)
		}
	}
	round := []string{"prog.c", "syscall", "kprobe", "kretprobe", "tracepoint"}
	want := slices.Concat(round, round, round, []string{"syscall", "kprobe", "kprobe", "kprobe"})
	if !slices.Equal(order, want) {
		t.Errorf("the order of the events is %v, not %v", order, want)
	}
	local := o.of("prog.c:" + line(t, "if (read(w, buf, 10)"))
	for i, h := range o.of("syscall:read")[:3] {
		if fd, w := h.Num(t, "args->fd"), local[i].Num(t, "w"); fd != w || h.Num(t, "args->count") != 10 {
			t.Errorf("read %d: the file is %d for the program, %d for the kernel; %v", i, w, fd, h.Values)
		}
	}
	for _, h := range o.of("tracepoint:syscalls:sys_exit_read") {
		if h.Num(t, "args->ret") != -9 {
			t.Errorf("%v", h.Values)
		}
	}
}

// line is the number of the line of the program that holds text.
func line(t *testing.T, text string) string {
	t.Helper()
	b, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	before, _, ok := strings.Cut(string(b), text)
	if !ok {
		t.Fatalf("the program has no %q", text)
	}
	return fmt.Sprint(1 + strings.Count(before, "\n"))
}

// A condition on raw arguments and their targets selects the kernel's own record; both describe the same hit.
func TestGuest_RawArguments(t *testing.T) {
	const list = "prev->pid, next->pid, prev->comm, next->comm"
	o := trace(t, script(t,
		point{"tracepoint:sched:sched_switch", "prev->tgid == $pid && next->prio < 200", list},
		point{"rawtracepoint:sched_switch", "prev->tgid == $pid && next->prio < 200", list},
		point{"tracepoint:sched:sched_switch", "args->prev_prio < 200", "args->prev_pid, args->next_pid, args->prev_comm, args->next_comm"},
	), "--", calls, "run", "3")
	// Both see the same switches; only the record's place sees others.
	raw, rec := o.of("rawtracepoint:sched_switch"), o.of("tracepoint:sched:sched_switch")
	byTime := map[string]bool{}
	records := 0
	for i := range rec {
		if _, ok := rec[i].Values["args->prev_pid"]; !ok {
			continue
		}
		records++
		h := &rec[i]
		byTime[fmt.Sprint(h.Num(t, "args->prev_pid"), h.Num(t, "args->next_pid"), str(h, "args->prev_comm"), str(h, "args->next_comm"))] = true
	}
	if len(raw) < 3 || records < len(raw) {
		t.Errorf("%d switches by raw arguments, %d by records", len(raw), records)
	}
	for i := range raw {
		h := &raw[i]
		if key := fmt.Sprint(h.Num(t, "prev->pid"), h.Num(t, "next->pid"), str(h, "prev->comm"), str(h, "next->comm")); !byTime[key] {
			t.Errorf("no record of %s; there are %v", key, byTime)
		}
		if h.Pid != int(h.Num(t, "prev->pid")) {
			t.Errorf("%+v", h)
		}
	}
	o = trace(t, "tracepoint:sched:sched_switch if (prev->tgid == $pid && next->prio < 200)", "-c", "$_sdata, args->next_comm", "--", calls, "run", "2")
	if len(o.hits) == 0 {
		t.Errorf("no record was selected by raw arguments; %+v", o.totals)
	}
	for i := range o.hits {
		if h := &o.hits[i]; !strings.Contains(fmt.Sprint(h.Values["$_sdata"]), str(h, "args->next_comm")) {
			t.Errorf("%+v", h.Values)
		}
	}
}

// Processes of a cgroup only: those that run in it at the time of the hit.
func TestGuest_ProcessesOfCgroup(t *testing.T) {
	const name = "/sys/fs/cgroup/traced"
	if err := os.Mkdir(name, 0o755); err != nil {
		t.Fatal(err)
	}
	w := work(t, "works", "3")
	tr := start(t, "process:exec", "process:fork", "process:exit", "kprobe:vfs_read", "uprobe:"+calls+":work", "--all", "--cgroup=traced", "-c", "$comm, $cgroup")
	join(t, name, w.Pid())
	w.once()
	outside := work(t, "works", "3")
	outside.once()
	w.once()
	o := tr.stop()
	for i := range o.hits {
		if o.hits[i].Pid != w.Pid() {
			t.Errorf("%+v is of another process than %d", o.hits[i], w.Pid())
		}
	}
	if n := len(o.of("uprobe:" + calls + ":work")); n != 6 {
		t.Errorf("%d hits of work in the cgroup: %s", n, o.stderr)
	}
}

func join(t *testing.T, cgroup string, pid int) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(cgroup, "cgroup.procs"), []byte(fmt.Sprint(pid)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// All processes of the machine: a program, its children, their execs and exits.
func TestGuest_ProcessEvents(t *testing.T) {
	tr := start(t, "process:exec", "process:fork", "process:exit", "process:signal", "-c", "$comm, $_sdata")
	w := work(t, "run", "2")
	w.Wait()
	n := map[string]int{}
	for _, h := range tr.stop().hits {
		if h.Pid == w.Pid() || h.Comm == "exe" {
			n[h.Place+" "+h.Comm]++
		}
	}
	want := map[string]int{"process:exec calls": 1, "process:fork calls": 2, "process:exec exe": 2, "process:exit exe": 2, "process:exit calls": 1}
	for what, count := range want {
		if n[what] != count {
			t.Errorf("%s: %d, not %d", what, n[what], count)
		}
	}
	if n["process:signal exe"] < 2 {
		t.Errorf("the children's ends are signals: %v", n)
	}
}

// Timers and counters of the kernel.
func TestGuest_Timers(t *testing.T) {
	o := trace(t, "interval:ms:20", "-c", "nsecs, "+processor.pc, "-n", "5")
	for i := 1; i < len(o.hits); i++ {
		if d := o.hits[i].Num(t, "nsecs") - o.hits[i-1].Num(t, "nsecs"); d <= 0 {
			t.Errorf("times %d and %d are %d ns apart", i-1, i, d)
		}
	}
	if len(o.hits) != 5 {
		t.Errorf("%d events of an interval, not 5", len(o.hits))
	}
	o = trace(t, "profile:hz:200", "software:page-faults:1", "-c", "$task->tgid, $task->comm", "--", calls, "hot", "50000")
	faults := o.of("software:page-faults:1")
	if len(faults) < 10 {
		t.Errorf("%d page faults of a new program", len(faults))
	}
	for i := range o.hits {
		if h := &o.hits[i]; h.Num(t, "$task->tgid") != int64(h.Pid) || str(h, "$task->comm") != "calls" {
			t.Errorf("%+v", h)
		}
	}
}

// TestGuest_UserStacks: the stack of a program at a system call goes to its main by call frame information.
func TestGuest_UserStacks(t *testing.T) {
	o := trace(t, "rawtracepoint:sys_enter if (id == "+processor.pread+")", "-v", "-c", "$ubt", "--", calls, "reads")
	whole := 0
	for i := range o.hits {
		text := fmt.Sprint(o.hits[i].Values["$ubt"])
		if strings.Contains(text, "function:reads") && strings.Contains(text, "function:main") {
			whole++
		}
	}
	// The program has all of its code from the start.
	if followed := fmt.Sprintf(" %d followed at the hit, 0 copied", len(o.hits)); vmtest.Arch == "amd64" && !strings.Contains(o.stderr, followed) {
		t.Errorf("no %q in %s", followed, o.stderr)
	}
	if whole < 14 {
		t.Errorf("%d of %d stacks of pread go to main: %+v", whole, len(o.hits), o.hits)
	}
}
