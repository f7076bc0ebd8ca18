package kernel

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// instance is a trace buffer of the kernel's own for one test.
type instance struct {
	t   *testing.T
	dir string
}

func newInstance(t *testing.T) *instance {
	t.Helper()
	in := &instance{t, filepath.Join(tracefs, "instances", fmt.Sprintf("jalon-test-%d-%d", os.Getpid(), len(t.Name())))}
	if err := os.Mkdir(in.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.write("tracing_on", "0")
		in.write("events/enable", "0")
		if err := os.Remove(in.dir); err != nil {
			t.Errorf("removing the trace buffer: %v", err)
		}
	})
	in.write("buffer_size_kb", "16384")
	in.write("trace_clock", "mono")
	in.write("options/hash-ptr", "0")
	return in
}

func (in *instance) write(file, text string) {
	in.t.Helper()
	if err := os.WriteFile(filepath.Join(in.dir, file), []byte(text), 0); err != nil {
		in.t.Fatalf("writing %q: %v", text, err)
	}
}

// enable records an event of one thread.
func (in *instance) enable(event string, tid int) {
	in.t.Helper()
	dir := "events/" + strings.Replace(event, ":", "/", 1)
	in.write(dir+"/filter", fmt.Sprintf("common_pid == %d", tid))
	in.write(dir+"/enable", "1")
}

// linePrefix matches the text before an event: the thread, the CPU, flags, the time. The third flag is the
// context.
var linePrefix = regexp.MustCompile(`^.{16,}?-\d+ +\[\d+\] \S\S(\S)\S* +\d+\.\d+: `)

// lines lists the recorded hits.
func (in *instance) lines() []line {
	in.t.Helper()
	b, err := os.ReadFile(filepath.Join(in.dir, "trace"))
	if err != nil {
		in.t.Fatal(err)
	}
	var out []line
	for text := range strings.Lines(string(b)) {
		text = strings.TrimSuffix(text, "\n")
		if at := linePrefix.FindStringSubmatch(text); at != nil {
			// A hard interrupt in a soft one (H), one that cannot be masked in either (Z).
			out = append(out, line{text[len(at[0]):], strings.ToLower(at[1])[0]})
		} else if len(out) > 0 && !strings.HasPrefix(text, "#") {
			out[len(out)-1].text += "\n" + text // an event of several lines
		}
	}
	return out
}

// Marks around the actions of a program (see testdata/things.c).
const markEvent = "syscalls:sys_enter_getpriority"

// between is where the marks are; 0 and 0 when one is not there.
func between(list []string) (from, to int) {
	from = slices.IndexFunc(list, func(l string) bool { return strings.HasPrefix(l, "sys_getpriority(which: 0x6f, who: 1)") })
	to = slices.IndexFunc(list, func(l string) bool { return strings.HasPrefix(l, "sys_getpriority(which: 0x6f, who: 2)") })
	if from < 0 || to < from {
		return 0, 0
	}
	return from, to
}

// textCases are events with the actions that cause them.
var textCases = []struct {
	deeds  string
	events []string
}{
	{"names", []string{"task:task_rename", "raw_syscalls:sys_enter", "raw_syscalls:sys_exit", "syscalls:sys_enter_prctl"}},
	{"files", []string{
		"syscalls:sys_enter_openat", "syscalls:sys_exit_openat", "syscalls:sys_enter_write", "syscalls:sys_exit_write", "syscalls:sys_enter_unlink",
		"syscalls:sys_enter_mkdir", "syscalls:sys_exit_mkdir", "filemap:mm_filemap_add_to_page_cache", "filemap:mm_filemap_delete_from_page_cache",
		"kmem:kmalloc", "kmem:kfree", "kmem:kmem_cache_alloc", "kmem:kmem_cache_free", "writeback:writeback_dirty_inode", "ext4:ext4_[du]*",
	}},
	{"memory", []string{
		"syscalls:sys_enter_mmap", "syscalls:sys_exit_mmap", "syscalls:sys_enter_munmap", "syscalls:sys_enter_mprotect", "kmem:mm_page_alloc", "kmem:mm_page_free",
		"kmem:rss_stat", "mmap:vm_unmapped_area", "exceptions:page_fault_user", "percpu:percpu_alloc_percpu", "maple_tree:ma_write", "mmap_lock:mmap_lock_released",
	}},
	{"signals", []string{"signal:signal_generate", "signal:signal_deliver", "syscalls:sys_enter_kill", "syscalls:sys_enter_rt_sigaction", "syscalls:sys_enter_tgkill"}},
	{"children", []string{"sched:sched_process_fork", "sched:sched_process_wait", "task:task_newtask", "sched:sched_wakeup_new", "sched:sched_switch", "sched:sched_waking", "cgroup:cgroup_attach_task"}},
	{"sockets", []string{
		"sock:inet_sock_set_state", "sock:sk_data_ready", "sock:sock_send_length", "sock:sock_recv_length", "net:net_dev_queue", "net:net_dev_xmit", "net:netif_rx",
		"net:netif_receive_skb", "tcp:tcp_destroy_sock", "tcp:tcp_rcv_space_adjust", "tcp:tcp_probe", "skb:consume_skb", "skb:kfree_skb", "syscalls:sys_enter_connect", "syscalls:sys_enter_socketpair",
	}},
	{"timers", []string{"timer:itimer_state", "timer:hrtimer_start", "timer:hrtimer_cancel", "timer:hrtimer_setup", "timer:timer_start", "sched:sched_stat_runtime", "irq:softirq_entry", "irq:softirq_exit", "irq:softirq_raise", "sched:sched_migrate_task"}},
}

// TestText: jalon's text of static tracepoints equals the kernel's for the same hits, in the same order.
func TestText(t *testing.T) {
	for _, tt := range textCases {
		t.Run(tt.deeds, func(t *testing.T) {
			in := newInstance(t)
			child := startIn(t, things(t), "ready", "wait", "begin", tt.deeds, "end", "ready", "wait").AwaitOut("ready\n")
			events := expand(t, tt.events)
			var args []string
			for _, e := range append(events, markEvent) {
				in.enable(e, child.Pid())
				args = append(args, "tracepoint:"+e)
			}
			tr := begin(t, append(args, "--no-follow", "-p", fmt.Sprint(child.Pid()), "--buffer", "16M")...).armed()
			child.Send("go")
			child.AwaitOut("ready\nready\n")
			in.write("tracing_on", "0")
			tr.stop()
			var recorded []string
			for _, e := range tr.events() {
				recorded = append(recorded, e.Text())
			}
			c := tr.counts()
			window, absent, err := match(in.lines(), recorded)
			if err != nil {
				t.Fatalf("%v\n%+v", err, c)
			}
			// Missed are the hits of all threads of this machine.
			if c.Lost != 0 || c.Faults != 0 || c.Missed < uint64(len(absent)) {
				t.Errorf("absent %q: %+v", absent, c)
			}
			seen := map[string]bool{}
			for _, l := range window {
				seen[l.text[:strings.IndexAny(l.text+" ", ":( ")]] = true
			}
			t.Logf("%d lines of %d kinds", len(window), len(seen))
		})
	}
}

// expand expands patterns, and omits events that this kernel does not have.
func expand(t *testing.T, patterns []string) []string {
	t.Helper()
	var out []string
	for _, p := range patterns {
		list, err := filepath.Glob(filepath.Join(tracefs, "events", strings.Replace(p, ":", "/", 1), "format"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range list {
			dir := filepath.Dir(f)
			out = append(out, filepath.Base(filepath.Dir(dir))+":"+filepath.Base(dir))
		}
	}
	return out
}

// startIn starts a program in a directory of its own.
func startIn(t *testing.T, args ...string) *process {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = t.TempDir()
	return startCmd(t, cmd)
}

// TestJiffies: the age of a dirty file in the text of writeback_single_inode is the age at the hit, from
// the tick count that is recorded there.
func TestJiffies(t *testing.T) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(t.TempDir(), &st); err != nil || st.Type == 0x01021994 {
		skip(t, "temporary files are in memory: nothing writes them back")
	}
	for tries := 1; !ageOfDirty(t, filepath.Join(t.TempDir(), "dirty")); tries++ {
		if tries == 5 { // another process may call sync before: then the file is clean
			t.Fatal("no event with the age of a file")
		}
	}
}

// ageOfDirty writes a file, writes it back when it is a second old, and reports whether the event shows that age.
func ageOfDirty(t *testing.T, file string) (found bool) {
	t.Helper()
	tr := begin(t, "tracepoint:writeback:writeback_single_inode").armed()
	before := time.Now()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	dirty := time.Now()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	ino := info.Sys().(*syscall.Stat_t).Ino
	for time.Since(dirty) < 1300*time.Millisecond { // an age of whole seconds
		time.Sleep(10 * time.Millisecond)
	}
	from := time.Since(dirty)
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	to := time.Since(before)
	tr.stop()
	const late = 200 * time.Millisecond // of the tick count, where the machine itself waits for a CPU
	for _, ev := range tr.events() {
		own, _ := ev.Values["$_sdata"].(map[string]any)
		if fmt.Sprint(own["ino"]) != fmt.Sprint(ino) {
			continue
		}
		_, rest, _ := strings.Cut(fmt.Sprint(own["text"]), " age=")
		var age int
		if n, err := fmt.Sscan(rest, &age); n != 1 {
			t.Fatalf("no age in %v: %v", own["text"], err)
		}
		if lo, hi := int((from - late).Seconds()), int((to + late).Seconds()); age > hi {
			t.Errorf("age %d, want %d to %d: %v", age, lo, hi, own["text"])
		} else if age >= lo { // else the kernel has written it back before
			found = true
		}
	}
	return found
}

// TestWordsAsText: argN and retval in format /s are the strings that they point to;
// arrays of characters of the kernel's structs end with their first NUL.
func TestWordsAsText(t *testing.T) {
	bin := compile(t, "gcc", "words.c", "-O1")
	for _, tt := range []struct{ place, item, want string }{
		{"uprobe:" + bin + ":skip", "arg0/s", "a word"},
		{"uretprobe:" + bin + ":skip", "retval/s", " word"},
		{"uretprobe:" + bin + ":skip", "$retval/s", " word"},
	} {
		for _, engine := range []string{"kernel", "auto"} {
			tr := run(t, tt.place, "-c", tt.item+", "+tt.item[:strings.Index(tt.item, "/")], "--engine="+engine, "--", bin)
			list := tr.events()
			tr.check("events", uint64(len(list)), 3)
			for _, ev := range list {
				if key := strings.TrimSuffix(tt.item, "/s"); ev.Str(key) != tt.want {
					t.Errorf("%s %s: %v, want %q", tt.place, tt.item, ev.Values, tt.want)
				}
			}
		}
	}
	p := jalon(t, "trace", "rawtracepoint:sched_process_exit if (p->tgid == $pid)", "-c", "p->comm, *p->nsproxy->uts_ns", "-n", "1", "--", "/bin/true")
	if text := p.Out.String(); !strings.Contains(text, `p->comm="true" `) || !strings.Contains(text, `sysname = "Linux", `) {
		t.Errorf("no strings in:\n%s%s", text, p.Errs.String())
	}
}
