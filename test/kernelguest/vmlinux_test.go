package kernelguest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/vmtest"
)

const (
	vmlinux = "/boot/vmlinux"
	cache   = "/root/.cache/jalon"
	lineVar = "JALON_TEST_LINE"
)

// TestVmlinux boots the kernel whose debug information is available. The guest gets the file without its
// relocations, which are half of it and which no tracer needs, and with the index that jalon would make at
// the first use, which takes a minute in emulation.
func TestVmlinux(t *testing.T) {
	image, kernel := vmtest.Vmlinux(t)
	dir := t.TempDir()
	small, index := filepath.Join(dir, "vmlinux"), filepath.Join(dir, "jalon")
	if out, err := exec.CommandContext(t.Context(), "objcopy", "--wildcard", "--remove-section=.rela.*", image, small).CombinedOutput(); err != nil {
		t.Fatalf("objcopy: %v\n%s", err, out)
	}
	m, err := dwarf.Open(small, dwarf.Options{CacheDir: index})
	if err != nil {
		t.Fatal(err)
	}
	entry, err := m.FuncEntry("vfs_read")
	if err != nil || len(entry) != 1 {
		t.Fatalf("vfs_read: %v, %v", entry, err)
	}
	m.Close()
	f := files(t)
	f[vmlinux] = vmtest.File{Host: small}
	f[cache] = vmtest.File{Host: index}
	// `if (ret > 0)`, after the read itself, is 22 lines down in Linux 6.1.
	at := fmt.Sprintf("%s=fs/read_write.c:%d", lineVar, entry[0].Line+22)
	vmtest.Run(t, vmtest.Config{Kernel: kernel, Run: "^TestGuest_Vmlinux", Files: f, Memory: 2048, Env: []string{at}})
}

const debug = "--vmlinux=" + vmlinux

// A line of the kernel with its local variables: the values equal the results of the program's read calls. The
// kernel is relocated (KASLR).
func TestGuest_VmlinuxLine(t *testing.T) {
	at := os.Getenv(lineVar)
	// Reads of a file that is not open for reading end before this line.
	want := returns[3:]
	place := "kprobe:" + at
	o := trace(t, place+" if (ret <= 0)", place, "-c", "ret, $locals, file->f_path.dentry->d_name.name/s, $rip, $bt", debug, "--", calls, "errors")
	var all, some []int64
	for i := range o.hits {
		h := &o.hits[i]
		ret := h.Num(t, "ret")
		if l := h.Values["$locals"].(map[string]any); fmt.Sprint(l["ret"]) != fmt.Sprint(ret) {
			t.Errorf("$locals is %v, ret %d", l, ret)
		}
		if name := str(h, "file->f_path.dentry->d_name.name"); name != "known.bin" && (ret != -21 || name != "/") {
			t.Errorf("the file's name is %q where %d is returned", name, ret)
		}
		frames := h.Values["$bt"].([]any)
		top, next := frames[0].(map[string]any), frames[1].(map[string]any)
		if top["function"] != "vfs_read" || !strings.HasSuffix(at, fmt.Sprint(":", top["line"])) || !strings.HasSuffix(fmt.Sprint(top["file"]), "fs/read_write.c") {
			t.Errorf("the stack begins with %v", top)
		}
		if f := fmt.Sprint(next["function"]); f != "ksys_read" && !strings.Contains(f, "pread64") {
			t.Errorf("it is called by %v", next)
		}
		if off := fmt.Sprint(top["pc"]); off != fmt.Sprint(h.Values["$rip"]) && !strings.HasPrefix(fmt.Sprint(h.Values["$rip"]), off) {
			t.Errorf("$rip is %v, the stack begins at %v", h.Values["$rip"], off)
		}
		all = append(all, ret)
	}
	for _, r := range want {
		if r <= 0 {
			some = append(some, r)
		}
	}
	// Both places see a hit, the first only where its condition holds.
	var merged []int64
	for _, r := range want {
		if r <= 0 {
			merged = append(merged, r)
		}
		merged = append(merged, r)
	}
	same(t, "ret", all, merged)
	if o.totals.False != uint64(len(want)-len(some)) {
		t.Errorf("totals %+v", o.totals)
	}
}

// As it is written for the whole machine: without a program FILE:LINE is the kernel's.
func TestGuest_VmlinuxSystemWide(t *testing.T) {
	tr := start(t, os.Getenv(lineVar)+" if (ret == -21)", "-c", "ret, $task->comm", debug)
	work(t, "errors").Wait()
	hits := tr.stop().hits
	if len(hits) == 0 {
		t.Fatal("no event")
	}
	if h := &hits[0]; h.Comm != "calls" || str(h, "$task->comm") != "calls" || h.Num(t, "ret") != -21 {
		t.Errorf("%+v", h)
	}
}

// Functions, globals and per-CPU variables by DWARF, and the same by BTF.
func TestGuest_VmlinuxNames(t *testing.T) {
	const list = "count, file->f_inode->i_size, this_cpu(runqueues).cpu, per_cpu(runqueues, 0).curr == $task, *pos"
	by := map[string]*outcome{
		"DWARF": trace(t, "kprobe:vfs_read", "-c", list+", init_task.comm, init_uts_ns.name.sysname", debug, "--", calls, "reads"),
		"BTF":   trace(t, "kprobe:vfs_read", "-c", list, "--", calls, "reads"),
	}
	for what, o := range by {
		same(t, what, o.nums(t, "kprobe:vfs_read", "count"), sizes)
		for i := range o.hits {
			h := &o.hits[i]
			if h.Num(t, "file->f_inode->i_size") != 20000 || h.Num(t, "this_cpu(runqueues).cpu") != 0 || h.Num(t, "per_cpu(runqueues, 0).curr == $task") != 1 {
				t.Errorf("%s: %v", what, h.Values)
			}
			if what == "DWARF" && (str(h, "init_task.comm") != "swapper/0" && str(h, "init_task.comm") != "swapper" || str(h, "init_uts_ns.name.sysname") != "Linux") {
				t.Errorf("globals: %v", h.Values)
			}
		}
	}
}

// The variables of the function that calls a static tracepoint, in a condition on it: fork's flags are the
// values passed by the C library, and the tracepoint's arguments equal those of a probe on the tracepoint
// itself at the same hits.
func TestGuest_VmlinuxCallersLocals(t *testing.T) {
	const (
		settid, cleartid = 0x01000000, 0x00200000 // CLONE_CHILD_*
		caller           = "tracepoint:sched:sched_process_fork"
		itself           = "rawtracepoint:sched_process_fork"
	)
	before := remains(t)
	o := trace(t, script(t,
		point{caller, fmt.Sprintf("clone_flags & %d && parent->tgid == $pid", settid), "clone_flags, parent->pid, child->pid, p->pid, $bt"},
		point{itself, "", "parent->pid, child->pid"},
		point{"tracepoint:sched:sched_process_exit", "group_dead && tsk->exit_code == 0", "group_dead, tsk->pid, p->pid"},
		point{"tracepoint:sched:sched_process_fork", "clone_flags == 1", "clone_flags"},
	), debug, "--", calls, "run", "3")
	at, raw := o.of(caller), o.of(itself)
	if len(at) != 3 || len(raw) != 3 {
		t.Fatalf("%d and %d events of 3 forks; %+v", len(at), len(raw), o.totals)
	}
	for i := range at {
		h, r := &at[i], &raw[i]
		if f := h.Num(t, "clone_flags"); f != settid|cleartid {
			t.Errorf("clone_flags is %#x", f)
		}
		if h.Function != "kernel_clone" {
			t.Errorf("the place is in %s", h.Function)
		}
		if child := r.Num(t, "child->pid"); h.Num(t, "child->pid") != child || h.Num(t, "p->pid") != child || child == int64(h.Pid) {
			t.Errorf("the child is %v at the call, %v for the tracepoint", h.Values, r.Values)
		}
		if parent := r.Num(t, "parent->pid"); h.Num(t, "parent->pid") != parent || parent != int64(h.Pid) {
			t.Errorf("the parent is %v at the call, %v for the tracepoint", h.Values, r.Values)
		}
		if h.Time > r.Time { // the call comes first
			t.Errorf("at the call %d, in the tracepoint %d", h.Time, r.Time)
		}
		frames := h.Values["$bt"].([]any)
		inner, outer := frames[0].(map[string]any), frames[1].(map[string]any)
		if inner["function"] != "trace_sched_process_fork" || inner["inlined"] != true || !strings.HasPrefix(fmt.Sprint(outer["function"]), "kernel_clone") {
			t.Errorf("the stack begins with %v, %v", inner, outer)
		}
	}
	exits := o.of("tracepoint:sched:sched_process_exit")
	if len(exits) != 1 || exits[0].Num(t, "group_dead") != 1 || exits[0].Num(t, "tsk->pid") != exits[0].Num(t, "p->pid") || exits[0].Num(t, "p->pid") != int64(exits[0].Pid) {
		t.Errorf("the program's exit: %+v", exits)
	}
	if o.totals.False != 3 {
		t.Errorf("totals %+v", o.totals)
	}
	gone(t, before)
	// Without another probe: the tracepoint is enabled because of the probe at its call.
	o = trace(t, caller+fmt.Sprintf(" if (clone_flags == %d)", settid|cleartid), debug, "--", calls, "run", "2")
	if o.totals.Recorded != 2 || o.totals.Hits != 2 {
		t.Errorf("totals %+v", o.totals)
	}
	for _, h := range o.hits { // without a collect list the tracepoint's arguments are shown
		if h.Values["child"] == nil || h.Values["child"] == h.Values["parent"] {
			t.Errorf("%+v", h)
		}
	}
	gone(t, before)
}

// The reason why the caller's variables are unavailable is reported.
func TestGuest_VmlinuxErrors(t *testing.T) {
	for _, c := range []struct {
		args []string
		says []string
	}{
		{[]string{"tracepoint:sched:sched_process_fork if (clone_flags)"}, []string{`no variable "clone_flags"`, "--vmlinux PATH", "the arguments are parent, child"}},
		{[]string{"tracepoint:sched:sched_process_fork if (clone_flgs)", debug}, []string{`no variable "clone_flgs"`, "nor does kernel_clone have it"}},
		{[]string{"tracepoint:sched:sched_process_fork if (clone_flags)", "-c", "$_sdata", debug}, []string{"$_sdata", "the place is the call of the tracepoint in kernel_clone"}},
		{[]string{"tracepoint:sched:sched_process_exec if (old_vpid)", debug}, []string{`"old_vpid" is optimised out here`, "exec_binprm"}},
		{[]string{"tracepoint:sched:sched_switch if (rq->nr_running)", debug}, []string{"__schedule", "notrace"}},
		{[]string{"kprobe:fs/read_write.c:1", "-c", "nothing", debug}, []string{`no variable "nothing"`}},
		{[]string{"kprobe:fs/read_wrote.c:1", debug}, []string{"fs/read_wrote.c", "did you mean"}},
	} {
		o := run(t, append(c.args, "--", calls, "none")...)
		if o.status != 2 {
			t.Errorf("%q ended with status %d", c.args, o.status)
		}
		for _, s := range c.says {
			if !strings.Contains(o.stderr, s) {
				t.Errorf("%q does not say %q:\n%s", c.args, s, o.stderr)
			}
		}
	}
}
