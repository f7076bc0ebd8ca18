package image

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
	"github.com/jalon-trace/jalon/internal/procdir"
	"github.com/jalon-trace/jalon/test/testkit"
)

// child is a running program that has written a byte at the point for the test.
type child struct {
	t   *testing.T
	pid int
	cmd *exec.Cmd
}

func runChild(t *testing.T, path string, env []string, args ...string) *child {
	t.Helper()
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), env...)
	return &child{t: t, pid: testkit.StartReady(t, cmd), cmd: cmd}
}

func (c *child) memory() Memory { return testkit.Memory(c.t, c.pid) }

func (c *child) auxv() []byte {
	c.t.Helper()
	b, err := procdir.Auxv(c.pid)
	if err != nil {
		c.t.Fatal(err)
	}
	return b
}

func (c *child) linkMaps() []Namespace {
	c.t.Helper()
	list, err := LinkMaps(c.memory(), c.auxv())
	if err != nil {
		c.t.Fatal(err)
	}
	return list
}

// symbol is the value of a symbol of a file.
func symbol(t *testing.T, path, name string) uint64 {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list := f.Lookup(name)
	if len(list) != 1 {
		t.Fatalf("%s has %d symbols %s", path, len(list), name)
	}
	return list[0].Value
}

// fsBase reads the thread pointer of a thread.
func fsBase(t *testing.T, tid int) uint64 {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.PtraceSeize(tid); err != nil {
		t.Fatal(err)
	}
	if err := unix.PtraceInterrupt(tid); err != nil {
		t.Fatal(err)
	}
	var ws unix.WaitStatus
	if _, err := unix.Wait4(tid, &ws, unix.WALL, nil); err != nil || !ws.Stopped() {
		t.Fatalf("thread %d: %v, status %#x", tid, err, ws)
	}
	var regs unix.PtraceRegs
	if err := unix.PtraceGetRegs(tid, &regs); err != nil {
		t.Fatal(err)
	}
	if err := unix.PtraceDetach(tid); err != nil {
		t.Fatal(err)
	}
	return regs.Fs_base
}

// plugins compiles a library under two names.
func plugins(t *testing.T) []string {
	t.Helper()
	flags := []string{"-shared", "-fPIC", "-ftls-model=global-dynamic"}
	return []string{compile(t, "plugin.c", flags...), compile(t, "plugin.c", flags...)}
}

// threads are the first thread and the last.
func (c *child) threads() (first, last int) {
	c.t.Helper()
	dir, err := os.Open(fmt.Sprintf("/proc/%d/task", c.pid))
	if err != nil {
		c.t.Fatal(err)
	}
	defer dir.Close()
	list, err := dir.Readdirnames(-1) // in the order of their start; numbers are reused at some time
	if err != nil {
		c.t.Fatal(err)
	}
	last, err = strconv.Atoi(list[len(list)-1])
	if err != nil || last == c.pid {
		c.t.Fatalf("threads %v, %v", list, err)
	}
	return c.pid, last
}

// variable reads a pointer of the program, or the i-th of an array.
func (c *child) variable(name string, i int) uint64 {
	c.t.Helper()
	p, err := readProgram(c.memory(), c.auxv())
	if err != nil {
		c.t.Fatal(err)
	}
	v, err := c.memory().word(p.bias + symbol(c.t, c.cmd.Path, name) + 8*uint64(i))
	if err != nil {
		c.t.Fatal(err)
	}
	return v
}

// local finds a thread-local variable by its symbol, whose value is its offset.
func (c *child) local(file, name string, linkMap uint64, tid int) (uint64, error) {
	c.t.Helper()
	return ThreadLocal(c.pid, c.memory(), fsBase(c.t, tid), symbol(c.t, file, name), linkMap)
}

// linkMapOf finds a library in the list.
func (c *child) linkMapOf(name string) uint64 {
	c.t.Helper()
	for _, ns := range c.linkMaps() {
		for _, l := range ns.List {
			if l.Name == name {
				return l.Addr
			}
		}
	}
	c.t.Fatalf("no library %s: %+v", name, c.linkMaps())
	return 0
}

func (c *child) mainLinkMap() uint64 { return c.linkMaps()[0].List[0].Addr }

func (c *child) wantLocal(file, name string, linkMap uint64, tid int, want uint64) {
	c.t.Helper()
	got, err := c.local(file, name, linkMap, tid)
	if err != nil || got != want || want == 0 {
		c.t.Errorf("%s of thread %d: %#x, %v; the program has it at %#x", name, tid, got, err, want)
	}
}

// Variables of the program have the addresses that the program prints, in all kinds of programs.
func TestProgramThreadLocal(t *testing.T) {
	for _, flags := range [][]string{{"-pie"}, {"-no-pie"}} {
		c := runChild(t, compile(t, "loader.c", flags...), nil)
		first, last := c.threads()
		for _, lm := range []uint64{0, c.mainLinkMap()} {
			c.wantLocal(c.cmd.Path, "main_tls", lm, first, c.variable("main_address", 0))
			c.wantLocal(c.cmd.Path, "main_zero", lm, first, c.variable("zero_address", 0))
			c.wantLocal(c.cmd.Path, "main_tls", lm, last, c.variable("thread_address", 0))
		}
	}
	for _, flags := range [][]string{{"-static"}, {"-static-pie"}} {
		c := runChild(t, compile(t, "stand.c", flags...), nil)
		c.wantLocal(c.cmd.Path, "stand_tls", 0, c.pid, c.variable("stand_address", 0))
	}
}

// Variables of libraries that are loaded later, in two namespaces.
func TestLibraryThreadLocal(t *testing.T) {
	libs := plugins(t)
	c := runChild(t, compile(t, "loader.c"), []string{"TOUCH=1"}, libs...)
	first, last := c.threads()
	for i, lib := range libs {
		c.wantLocal(lib, "plugin_tls", c.linkMapOf(lib), first, c.variable("plugin_addresses", i))
	}
	c.wantLocal(libs[0], "plugin_tls", c.linkMapOf(libs[0]), last, c.variable("thread_plugin", 0))
	if _, err := c.local(libs[1], "plugin_tls", c.linkMapOf(libs[1]), last); !errors.Is(err, ErrNotAllocated) {
		t.Errorf("data that the thread has not used: %v", err)
	}
	if _, err := c.local(libs[1], "plugin_tls", 0x1234, last); err == nil || err.Error() != "no library has its link map at 0x1234" {
		t.Error(err)
	}
}

// A library that the program is linked with has its block at a fixed distance.
func TestLinkedLibraryThreadLocal(t *testing.T) {
	lib := plugins(t)[0]
	so := filepath.Join(filepath.Dir(lib), "libplugin.so")
	if err := os.Rename(lib, so); err != nil {
		t.Fatal(err)
	}
	c := runChild(t, compile(t, "linked.c", "-L"+filepath.Dir(so), "-lplugin", "-Wl,-rpath,"+filepath.Dir(so)), nil)
	want := c.variable("plugin_address_seen", 0)
	c.wantLocal(so, "plugin_tls", c.linkMapOf(so), c.pid, want)
	off, err := c.module(so).TLSOffset()
	if got := fsBase(t, c.pid) + uint64(off) + symbol(t, so, "plugin_tls"); err != nil || got != want {
		t.Errorf("at %d from the thread pointer: %#x, %v; the program has it at %#x", off, got, err, want)
	}
}

// module is a file of the child's image, opened.
func (c *child) module(path string) *Module {
	c.t.Helper()
	im, err := OfProcess(c.pid, files(c.t))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, m := range im.Modules() {
		if m.Path == path {
			if err := m.Open(); err != nil {
				c.t.Fatal(err)
			}
			return m
		}
	}
	c.t.Fatalf("no module %s", path)
	return nil
}

// TestFixedOffset: the program's block is at the distance that the ABI defines; that of a library loaded
// later has no fixed distance.
func TestFixedOffset(t *testing.T) {
	libs := plugins(t)
	c := runChild(t, compile(t, "loader.c"), []string{"TOUCH=1"}, libs...)
	off, err := c.module(c.cmd.Path).TLSOffset()
	if got, want := fsBase(t, c.pid)+uint64(off)+symbol(t, c.cmd.Path, "main_tls"), c.variable("main_address", 0); err != nil || got != want {
		t.Errorf("the program's variable: %#x, %v; want %#x", got, err, want)
	}
	for _, lib := range libs {
		if off, err := c.module(lib).TLSOffset(); err == nil || err.Error() != "the thread-local block of "+lib+" is not at the same offset in all threads" {
			t.Errorf("%d, %v", off, err)
		}
	}
}

// With musl there is nothing but the relocations.
func TestMuslThreadLocal(t *testing.T) {
	if _, err := exec.LookPath("musl-gcc"); err != nil {
		t.Skip("no musl-gcc")
	}
	dir := t.TempDir()
	lib, prog := filepath.Join(dir, "plugin.so"), filepath.Join(dir, "loader")
	for _, args := range [][]string{
		{"-shared", "-fPIC", "-o", lib, "testdata/plugin.c"},
		{"-g", "-o", prog, "-DNO_DLMOPEN", "testdata/loader.c"},
	} {
		if msg, err := exec.Command("musl-gcc", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, msg)
		}
	}
	c := runChild(t, prog, []string{"TOUCH=1"}, lib)
	first, last := c.threads()
	c.wantLocal(prog, "main_tls", c.mainLinkMap(), first, c.variable("main_address", 0))
	c.wantLocal(prog, "main_tls", 0, last, c.variable("thread_address", 0))
	c.wantLocal(lib, "plugin_tls", c.linkMapOf(lib), first, c.variable("plugin_addresses", 0))
	c.wantLocal(lib, "plugin_tls", c.linkMapOf(lib), last, c.variable("thread_plugin", 0))
}

// What native GDB prints for all threads is what we find.
func TestThreadLocalAgainstGDB(t *testing.T) {
	lib := plugins(t)[0]
	c := runChild(t, compile(t, "loader.c"), []string{"TOUCH=1"}, lib)
	first, last := c.threads()
	out := testkit.GDB(t, []string{"-p", fmt.Sprint(c.pid)}, "thread apply all print &main_tls", "thread apply all print &main_zero", "thread apply all print &plugin_tls")
	shown := regexp.MustCompile(`LWP (\d+)[^\n]*\n\$\d+ = [^\n]*(0x[0-9a-f]+)`).FindAllStringSubmatch(out, -1)
	if len(shown) != 6 {
		t.Fatalf("GDB prints\n%s", out)
	}
	var got, want []string
	for _, v := range []struct {
		name, file string
		linkMap    uint64
	}{
		{"main_tls", c.cmd.Path, c.mainLinkMap()},
		{"main_zero", c.cmd.Path, c.mainLinkMap()},
		{"plugin_tls", lib, c.linkMapOf(lib)},
	} {
		for _, tid := range []int{last, first} { // GDB's order
			addr, err := c.local(v.file, v.name, v.linkMap, tid)
			if err != nil {
				t.Error(err)
			}
			got = append(got, fmt.Sprintf("%d %#x", tid, addr))
		}
	}
	for _, m := range shown {
		want = append(want, m[1]+" "+m[2])
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q\nGDB prints\n%q", got, want)
	}
}

// FuzzThreadLocal looks for data in memory of which every page is the same.
func FuzzThreadLocal(f *testing.F) {
	aux := binary.LittleEndian.AppendUint64(nil, procdir.AuxPhdr)
	for _, w := range []uint64{64, procdir.AuxPhent, 56, procdir.AuxPhnum, 3, 0, 0} {
		aux = binary.LittleEndian.AppendUint64(aux, w)
	}
	f.Add(aux, []byte("\x06\x00\x00\x00\x04\x00\x00\x00\x40\x00\x00\x00\x00\x00\x00\x00"), uint64(0x30000))
	f.Add(aux, []byte{2, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0}, uint64(0))
	f.Fuzz(func(t *testing.T, auxv, page []byte, at uint64) {
		budget := 1 << 16
		read := func(addr uint64, b []byte) error {
			budget -= len(b)
			if len(page) == 0 || budget < 0 {
				return unix.EFAULT
			}
			for i := range b {
				b[i] = page[(addr+uint64(i))%uint64(len(page))]
			}
			return nil
		}
		_, _ = findThreadLocal(read, auxv, 0x7000, 8, at)
		lm := &LinkMap{Addr: at, Dynamic: at}
		_, _ = libraryBlock(read, []LinkMap{*lm}, lm, 0x7000)
		_, _ = relocatedBlock(read, lm, muslVector, 0x7000)
	})
}

// Without descriptions, as with an older glibc, the relocations have the same result.
func TestRelocatedBlock(t *testing.T) {
	lib := plugins(t)[0]
	c := runChild(t, compile(t, "loader.c"), []string{"TOUCH=1"}, lib)
	first, last := c.threads()
	read := c.memory()
	list := c.linkMaps()[0].List
	if vectorOf(read, list) != glibcVector {
		t.Error("glibc is not recognised")
	}
	m := findModule(c.linkMaps(), c.linkMapOf(lib))
	for tid, name := range map[int]string{first: "plugin_addresses", last: "thread_plugin"} {
		base := fsBase(t, tid)
		got, err1 := relocatedBlock(read, m, glibcVector, base)
		want, err2 := libraryBlock(read, list, m, base)
		if err1 != nil || err2 != nil || got != want || want > c.variable(name, 0) {
			t.Errorf("thread %d: %#x, %v; described: %#x, %v", tid, got, err1, want, err2)
		}
	}
}

// A thread's vector may still have the block of a library that is gone, under the
// number of another.
func TestStaleThreadLocal(t *testing.T) {
	libs := plugins(t)
	c := runChild(t, compile(t, "reload.c"), nil, libs...)
	first, last := c.threads()
	c.wantLocal(libs[1], "plugin_tls", c.linkMapOf(libs[1]), first, c.variable("plugin_addresses", 0))
	if addr, err := c.local(libs[1], "plugin_tls", c.linkMapOf(libs[1]), last); !errors.Is(err, ErrNotAllocated) {
		t.Errorf("data that the thread has not used: %#x, %v", addr, err)
	}
}
