package bpf

import (
	"testing"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/arch/host"
)

// TestDispatch: hits come to the program of their number while it is set and the event attached.
func TestDispatch(t *testing.T) {
	if host.Processor.Task.Compat == "" {
		t.Skip("how 32-bit programs are known is not known on " + host.Processor.Title)
	}
	k := openKernel(t)
	numbers, err := k.SyscallNumbers()
	check(t, err)
	b := newBuffer(t, k, 16)
	count := func(word int32) *Loaded {
		return load(t, k, Program{
			Insns: join(mine(), asm.Instructions{asm.Mov.Imm(asm.R0, word)}, addOne(2), out(1)), Kind: Tracepoint, Buffers: []*Buffer{b},
		})
	}
	first, second := count(0), count(1)
	info, err := memberOffset("task_struct", "thread_info")
	check(t, err)
	status, err := memberOffset("thread_info", "status")
	check(t, err)
	d, err := k.NewDispatch("raw_syscalls", "sys_enter", int32(info+status), host.Processor.Task.CompatBits)
	check(t, err)
	defer func() { check(t, d.Close()) }()
	number := numbers["getpgid"]
	check(t, d.Set(number, first))
	hits(10)
	want(t, b, 0, 0)
	check(t, d.Attach())
	check(t, d.Attach())
	hits(1000)
	want(t, b, 0, 1000)
	check(t, d.Set(number, second))
	hits(100)
	check(t, d.Clear(number))
	check(t, d.Wait())
	check(t, d.Clear(number))
	hits(100)
	check(t, d.Set(number+1, first))
	hits(100)
	check(t, d.Set(number, first))
	check(t, d.Detach())
	hits(100)
	check(t, d.Attach())
	hits(1)
	want(t, b, 0, 1001)
	want(t, b, 1, 100)
	if n, err := d.Missed(); err != nil || n != 0 {
		t.Errorf("%d hits missed, %v", n, err)
	}
	if err := d.Set(DispatchSize, first); err == nil {
		t.Error("a number beyond the table was set")
	}
}

// TestSyscallNumbers: they are those by which programs make the calls.
func TestSyscallNumbers(t *testing.T) {
	k := openKernel(t)
	numbers, err := k.SyscallNumbers()
	check(t, err)
	for name, want := range map[string]uint32{
		"read": unix.SYS_READ, "newfstat": unix.SYS_FSTAT, "newuname": unix.SYS_UNAME, "pread64": unix.SYS_PREAD64,
		"getpgid": unix.SYS_GETPGID, "exit_group": unix.SYS_EXIT_GROUP, "openat": unix.SYS_OPENAT, "umount": unix.SYS_UMOUNT2,
	} {
		if got, ok := numbers[name]; !ok || got != want {
			t.Errorf("%s: %d (%v), want %d", name, got, ok, want)
		}
	}
	names := map[uint32]string{}
	for name, n := range numbers {
		if names[n] != "" {
			t.Errorf("%s and %s have the number %d", names[n], name, n)
		}
		names[n] = name
	}
}
