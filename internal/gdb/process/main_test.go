package process

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/image"
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/test/testkit"
)

// compile builds a C program of testdata, or of that of package image, with gcc.
func compile(t *testing.T, source string, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(source), ".c"))
	path := filepath.Join("testdata", source)
	if _, err := os.Stat(path); err != nil {
		path = filepath.Join("../../image/testdata", source)
	}
	args := append([]string{"-g", "-O1", "-o", out, path}, flags...)
	if msg, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc %v: %v\n%s", args, err, msg)
	}
	return out
}

// child is a process of a test. The test holds its own thread: ptrace wants it.
type child struct {
	t   *testing.T
	pid int
	cmd *exec.Cmd
}

// traced starts a program, stopped at its first instruction.
func traced(t *testing.T, path string, args ...string) *child {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	cmd := exec.Command(path, args...)
	cmd.SysProcAttr = &unix.SysProcAttr{Ptrace: true, Pdeathsig: unix.SIGKILL}
	c := &child{t: t, cmd: cmd}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.pid = cmd.Process.Pid
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_, _ = cmd.Process.Wait()
	})
	c.wait(unix.SIGTRAP)
	return c
}

// wait waits until the child stops with that signal.
func (c *child) wait(sig unix.Signal) {
	c.t.Helper()
	var ws unix.WaitStatus
	if _, err := unix.Wait4(c.pid, &ws, 0, nil); err != nil || !ws.Stopped() || ws.StopSignal() != sig {
		c.t.Fatalf("the child: %v, status %#x, not a stop with %v", err, ws, sig)
	}
}

// run lets the child go on to its next breakpoint instruction.
func (c *child) run() {
	c.t.Helper()
	if err := unix.PtraceCont(c.pid, 0); err != nil {
		c.t.Fatal(err)
	}
	c.wait(unix.SIGTRAP)
}

func (c *child) detach() {
	c.t.Helper()
	if err := unix.PtraceDetach(c.pid); err != nil {
		c.t.Fatal(err)
	}
}

const ntX86XSTATE = 0x202

func (c *child) regs() (process.Regs, []byte) {
	c.t.Helper()
	var regs process.Regs
	if err := unix.PtraceGetRegs(c.pid, &regs.PtraceRegs); err != nil {
		c.t.Fatal(err)
	}
	area := make([]byte, 16<<10)
	iov := unix.Iovec{Base: &area[0], Len: uint64(len(area))}
	_, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GETREGSET, uintptr(c.pid), ntX86XSTATE, uintptr(unsafe.Pointer(&iov)), 0, 0)
	if e != 0 {
		c.t.Fatal(e)
	}
	return regs, area[:iov.Len]
}

func (c *child) setRegs(regs process.Regs, area []byte) {
	c.t.Helper()
	if err := unix.PtraceSetRegs(c.pid, &regs.PtraceRegs); err != nil {
		c.t.Fatal(err)
	}
	iov := unix.Iovec{Base: &area[0], Len: uint64(len(area))}
	_, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SETREGSET, uintptr(c.pid), ntX86XSTATE, uintptr(unsafe.Pointer(&iov)), 0, 0)
	if e != 0 {
		c.t.Fatal(e)
	}
}

// memory reads the child's memory.
func (c *child) memory() image.Memory { return testkit.Memory(c.t, c.pid) }

// attach stops the child again.
func (c *child) attach() {
	c.t.Helper()
	if err := unix.PtraceSeize(c.pid); err != nil {
		c.t.Fatal(err)
	}
	if err := unix.PtraceInterrupt(c.pid); err != nil {
		c.t.Fatal(err)
	}
	c.wait(unix.SIGTRAP)
}

// symbol is the address of a symbol in a program that is not position-independent.
func (c *child) symbol(name string) uint64 {
	c.t.Helper()
	f, err := elf.Open(c.cmd.Path)
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	syms, err := f.Symbols()
	if err != nil {
		c.t.Fatal(err)
	}
	for _, s := range syms {
		if s.Name == name {
			return s.Value
		}
	}
	c.t.Fatalf("no symbol %s", name)
	return 0
}
