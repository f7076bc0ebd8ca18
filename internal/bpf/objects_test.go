package bpf

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/procdir"
)

func openObjects(t *testing.T) *Objects {
	t.Helper()
	k := openKernel(t)
	require(t, k.Features().BTF)
	o, err := k.Objects()
	check(t, err)
	t.Cleanup(func() { check(t, o.Close()) })
	return o
}

// firstPIDs skips the test in a PID namespace, where the iterators' numbers are others.
func firstPIDs(t *testing.T) {
	t.Helper()
	var st unix.Stat_t
	if check(t, unix.Stat("/proc/self/ns/pid", &st)); st.Ino != 0xEFFFFFFC {
		skipped = append(skipped, t.Name())
		t.Skip("the test runs in a PID namespace")
	}
}

// TestTasks: the iterator has what /proc has of this process's threads, and of a thread of the kernel.
func TestTasks(t *testing.T) {
	firstPIDs(t)
	o := openObjects(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	old, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/comm", unix.Gettid()))
	check(t, err)
	name := func(s string) {
		check(t, os.WriteFile(fmt.Sprintf("/proc/self/task/%d/comm", unix.Gettid()), []byte(s), 0))
	}
	name("as long as names")
	defer name(strings.TrimSpace(string(old)))
	var own, kthreadd *Task
	last := 0
	check(t, o.Tasks(func(x *Task) bool {
		c := *x
		if x.Tid == unix.Gettid() {
			own = &c
		}
		if x.Name == "kthreadd" && x.Parent == 0 {
			kthreadd = &c
		}
		if x.Tid <= last {
			t.Errorf("thread %d behind %d", x.Tid, last)
		}
		last = x.Tid
		return true
	}))
	want := Task{Pid: os.Getpid(), Tid: unix.Gettid(), Parent: os.Getppid(), UID: uint32(os.Getuid()), Name: "as long as name"}
	if own == nil || *own != want {
		t.Errorf("%+v, want %+v", own, want)
	}
	if kthreadd == nil || !kthreadd.Kernel {
		t.Errorf("kthreadd is %+v", kthreadd)
	}
	n := 0
	check(t, o.Tasks(func(*Task) bool { n++; return n < 2 }))
	if n != 2 {
		t.Errorf("%d threads, want 2", n)
	}
}

// TestMapped: the mappings of files are those of /proc/self/maps.
func TestMapped(t *testing.T) {
	firstPIDs(t)
	o := openObjects(t)
	file := filepath.Join(t.TempDir(), "removed")
	check(t, os.WriteFile(file, make([]byte, 3<<12), 0o600))
	f, err := os.Open(file)
	check(t, err)
	defer f.Close()
	mem, err := unix.Mmap(int(f.Fd()), 1<<12, 2<<12, unix.PROT_READ, unix.MAP_PRIVATE)
	check(t, err)
	defer func() { check(t, unix.Munmap(mem)) }()
	check(t, os.Remove(file))
	row := func(start, end, offset uint64, code bool, path string) string {
		return fmt.Sprintf("%x-%x %x %t %s", start, end, offset, code, path)
	}
	var got, want []string
	check(t, o.Mapped(func(m *MappedFile) bool {
		if m.Pid == os.Getpid() {
			got = append(got, row(m.Start, m.End, m.Offset, m.Code, m.Path))
		}
		return true
	}))
	maps, err := procdir.Maps(os.Getpid())
	check(t, err)
	for _, m := range maps {
		if !strings.HasPrefix(m.Path, "/") && !strings.HasPrefix(m.Path, "anon_inode:") {
			continue
		}
		if m.Deleted {
			m.Path += " (deleted)"
		}
		want = append(want, row(m.Start, m.End, m.Offset, m.Prot&unix.PROT_EXEC != 0, m.Path))
	}
	if !slices.Equal(got, want) {
		t.Errorf("the mappings are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !slices.ContainsFunc(got, func(s string) bool { return strings.HasSuffix(s, " 1000 false "+file+" (deleted)") }) {
		t.Errorf("%s is not among them:\n%s", file, strings.Join(got, "\n"))
	}
}

// TestOpened: the open files are those of /proc/self/fd, with pipes and sockets.
func TestOpened(t *testing.T) {
	firstPIDs(t)
	o := openObjects(t)
	r, w, err := os.Pipe()
	check(t, err)
	defer r.Close()
	defer w.Close()
	got := map[int]string{}
	check(t, o.Opened(func(x *OpenFile) bool {
		if x.Pid == os.Getpid() {
			got[x.FD] = x.Path
		}
		return true
	}))
	list, err := os.ReadDir("/proc/self/fd")
	check(t, err)
	n := 0
	for _, e := range list {
		path, err := os.Readlink("/proc/self/fd/" + e.Name())
		var fd int
		_, _ = fmt.Sscan(e.Name(), &fd)
		if err != nil { // that of the directory
			continue
		}
		if n++; got[fd] != path {
			t.Errorf("%d is %q, want %q", fd, got[fd], path)
		}
	}
	if n < 5 || got[int(r.Fd())] == "" {
		t.Errorf("%d files: %v", n, got)
	}
}

// TestLoadIter: a program of an iterator is loaded without the library's reader of BTF; of an unknown one it is not.
func TestLoadIter(t *testing.T) {
	k := openKernel(t)
	require(t, k.Features().BTF)
	spec := ebpf.ProgramSpec{Name: "nothing", Type: ebpf.Tracing, AttachType: ebpf.AttachTraceIter, AttachTo: "task", License: "GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}}
	prog, err := loadIter(&spec)
	check(t, err)
	check(t, prog.Close())
	spec.AttachTo = "no_such_iterator"
	if prog, err := loadIter(&spec); err == nil {
		_ = prog.Close()
		t.Error("an unknown iterator was loaded")
	}
}
