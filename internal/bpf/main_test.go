package bpf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/test/testkit"
)

var skipped []string

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-attach-and-wait" {
		attachAndWait()
	}
	if len(os.Args) > 1 && os.Args[1] == "-unprivileged" {
		unprivileged()
	}
	if len(os.Args) > 2 && os.Args[1] == "-call" {
		n, _ := strconv.Atoi(os.Args[2])
		callWith(0, n)
		os.Exit(0)
	}
	prepare()
	release, err := testkit.HoldKernel(true)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	before := open()
	code := m.Run()
	release()
	if after := open(); code == 0 && after != before {
		fmt.Printf("FAIL: %s\nbefore the tests: %s\n", after, before)
		code = 1
	}
	if len(skipped) > 0 {
		fmt.Printf("skipped %d tests for what this kernel lacks: %s\n", len(skipped), strings.Join(skipped, ", "))
	}
	os.Exit(code)
}

// prepare mounts the file systems that a bare guest lacks.
func prepare() {
	for _, m := range [][2]string{{"proc", "/proc"}, {"sysfs", "/sys"}, {"tracefs", "/sys/kernel/tracing"}, {"securityfs", "/sys/kernel/security"}, {"debugfs", "/sys/kernel/debug"}} {
		if entries, err := os.ReadDir(m[1]); err == nil && len(entries) == 0 && os.Getpid() < 100 {
			_ = unix.Mount(m[0], m[1], m[0], 0, "")
		}
	}
}

// open describes the open descriptors of this package's objects.
func open() string {
	fds, _ := os.ReadDir("/proc/self/fd")
	n := map[string]int{}
	for _, fd := range fds {
		to, err := os.Readlink(filepath.Join("/proc/self/fd", fd.Name()))
		if err == nil && strings.Contains(to, "bpf") || strings.Contains(to, "perf_event") {
			n[to]++
		}
	}
	return fmt.Sprint(n)
}

// requireKprobes skips and counts the test if the kernel has no kprobes.
func requireKprobes(t *testing.T, k *Kernel) {
	t.Helper()
	if !k.Features().Kprobe.OK {
		skipped = append(skipped, t.Name())
		t.Skip(k.Features().Kprobe.Text)
	}
}

// require skips and counts the test if a feature is missing.
func require(t *testing.T, f Fact) {
	t.Helper()
	if !f.OK {
		skipped = append(skipped, t.Name())
		t.Skip(f.Text)
	}
}

func openKernel(t *testing.T) *Kernel {
	t.Helper()
	k, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { check(t, k.Close()) })
	return k
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newBuffer(t *testing.T, k *Kernel, size uint64) *Buffer {
	t.Helper()
	b, err := k.NewBuffer("counts", size)
	check(t, err)
	t.Cleanup(func() { check(t, b.Close()) })
	return b
}

func load(t *testing.T, k *Kernel, p Program) *Loaded {
	t.Helper()
	if p.Name == "" {
		p.Name = "jalon_test"
	}
	l, err := k.Load(p)
	check(t, err)
	t.Cleanup(func() { check(t, l.Close()) })
	return l
}

func attach(t *testing.T, l *Loaded, target Target) *Link {
	t.Helper()
	lk, err := l.Attach(target)
	check(t, err)
	t.Cleanup(func() { check(t, lk.Close()) })
	return lk
}

func (b *Buffer) word(i int) uint64 {
	return atomic.LoadUint64((*uint64)(unsafe.Pointer(&b.mem[i*8])))
}

// mine is the start of a program: hits of other processes jump to "out".
func mine() asm.Instructions {
	return asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.FnGetCurrentPidTgid.Call(),
		asm.RSh.Imm(asm.R0, 32),
		asm.JNE.Imm(asm.R0, int32(os.Getpid()), "out"),
	}
}

// addOne adds one to the word of the buffer whose number is in r0.
func addOne(words int) asm.Instructions {
	return asm.Instructions{
		asm.JGE.Imm(asm.R0, int32(words), "out"),
		asm.LSh.Imm(asm.R0, 3),
		asm.LoadMapValue(asm.R1, 0, 0).WithReference("counts"),
		asm.Add.Reg(asm.R1, asm.R0),
		asm.Mov.Imm(asm.R2, 1),
		asm.AddAtomic.Mem(asm.R1, asm.R2, asm.DWord, 0),
	}
}

func out(ret int32) asm.Instructions {
	return asm.Instructions{asm.Mov.Imm(asm.R0, ret).WithSymbol("out"), asm.Return()}
}

func join(parts ...asm.Instructions) asm.Instructions {
	var all asm.Instructions
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// byCookie counts this process's hits in the word that the cookie selects.
func byCookie(words int, ret int32) asm.Instructions {
	return join(mine(), asm.Instructions{asm.Mov.Reg(asm.R1, asm.R6), asm.FnGetAttachCookie.Call()}, addOne(words), out(ret))
}

// ofSyscall jumps to "out" unless the raw tracepoint sys_enter was hit for this number.
func ofSyscall(nr int) asm.Instructions {
	return asm.Instructions{
		asm.LoadMem(asm.R0, asm.R6, 8, asm.DWord),
		asm.JNE.Imm(asm.R0, int32(nr), "out"),
	}
}

// word0 sets r0 to the number of the buffer's first word.
func word0() asm.Instructions { return asm.Instructions{asm.Mov.Imm(asm.R0, 0)} }

// hit makes a system call that nothing else in this program makes.
func hit() { _, _, _ = unix.RawSyscall(unix.SYS_GETPGID, 0, 0, 0) }

func hits(n int) {
	for range n {
		hit()
	}
}

func want(t *testing.T, b *Buffer, word int, n uint64) {
	t.Helper()
	if got := b.word(word); got != n {
		t.Fatalf("word %d: %d hits, want %d", word, got, n)
	}
}

// waitFor waits until the condition holds.
func waitFor(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Minute)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("waited a minute for: %s", what)
		}
		<-tick.C
	}
}

// functionSize is what each function has in the file of functions. Before them is an empty
// page, after them a page of data with USDT semaphores.
const functionSize = 16

type code struct {
	path string
	n    int
	text []byte // the functions, mapped for execution
	data []byte // the page after them, mapped for writing
}

// newCode makes a file of n functions and maps it.
func newCode(t *testing.T, n int) *code {
	t.Helper()
	size := (n*functionSize + 4095) &^ 4095
	file := make([]byte, 4096+size+4096)
	for i := range n {
		copy(file[4096+i*functionSize:], function)
	}
	c := &code{path: filepath.Join(t.TempDir(), "code"), n: n}
	check(t, os.WriteFile(c.path, file, 0o755))
	f, err := os.Open(c.path)
	check(t, err)
	defer f.Close()
	c.text, err = unix.Mmap(int(f.Fd()), 4096, size, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
	check(t, err)
	c.data, err = unix.Mmap(int(f.Fd()), int64(4096+size), 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	check(t, err)
	t.Cleanup(func() { check(t, unix.Munmap(c.text)); check(t, unix.Munmap(c.data)) })
	return c
}

// offset returns a function's offset in the file.
func (c *code) offset(i int) uint64 { return uint64(4096 + i*functionSize) }

// write changes function i in the file, and so in memory.
func (c *code) write(t *testing.T, i int, b ...byte) {
	t.Helper()
	f, err := os.OpenFile(c.path, os.O_WRONLY, 0)
	check(t, err)
	_, err = f.WriteAt(b, int64(c.offset(i)))
	check(t, err)
	check(t, f.Close())
}

// first returns the first byte of function i in memory.
func (c *code) first(i int) byte { return c.text[i*functionSize] }

// call runs function i. The function takes no arguments, needs 8 bytes of stack and preserves all
// registers, so Go may call it.
func (c *code) call(i int) {
	pc := uintptr(unsafe.Pointer(&c.text[i*functionSize]))
	fn := &pc
	(*(*func())(unsafe.Pointer(&fn)))()
	runtime.KeepAlive(fn)
}

func (c *code) semaphore(i int) uint16 { return binary.NativeEndian.Uint16(c.data[i*2:]) }

// semaphoreOffset returns the semaphore's offset in the file.
func (c *code) semaphoreOffset(i int) uint64 { return uint64(4096 + len(c.text) + i*2) }

// maps returns the number of maps of this name in the kernel.
func maps(name string) int {
	n := 0
	for id, err := ebpf.MapGetNextID(0); err == nil; id, err = ebpf.MapGetNextID(id) {
		m, err := ebpf.NewMapFromID(id)
		if err != nil {
			continue // closed meanwhile
		}
		if info, err := m.Info(); err == nil && info.Name == name {
			n++
		}
		_ = m.Close()
	}
	return n
}

// objects returns the number of programs of this name in the kernel, and of their links.
func objects(t *testing.T, name string) (progs, links int) {
	t.Helper()
	ids := map[ebpf.ProgramID]bool{}
	for id, err := ebpf.ProgramGetNextID(0); err == nil; id, err = ebpf.ProgramGetNextID(id) {
		p, err := ebpf.NewProgramFromID(id)
		if err != nil {
			continue // closed meanwhile
		}
		if info, err := p.Info(); err == nil && info.Name == name {
			ids[id] = true
		}
		_ = p.Close()
	}
	var it link.Iterator
	defer it.Close()
	for it.Next() {
		if info, err := it.Link.Info(); err == nil && ids[info.Program] {
			links++
		}
	}
	check(t, it.Err())
	return len(ids), links
}

// errorOf checks that err is an *Error and returns it.
func errorOf(t *testing.T, err error) *fail.Error {
	t.Helper()
	var e *fail.Error
	if !errors.As(err, &e) {
		t.Fatalf("not an *Error: %v", err)
	}
	return e
}
