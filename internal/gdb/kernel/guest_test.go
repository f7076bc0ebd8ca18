package kernel

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/experiment"
	"github.com/jalon-trace/jalon/internal/vmtest"
)

// TestGuests runs tests of this package under kernels that have kprobes and
// /proc/kcore: all of them with JALON_FULL=1.
func TestGuests(t *testing.T) {
	run := "^TestGuest_|^TestArguments$|^TestTarget$"
	if os.Getenv("JALON_FULL") != "" {
		run = "^Test"
	}
	for _, kernel := range vmtest.Kernels {
		t.Run(kernel, func(t *testing.T) {
			t.Parallel()
			r := vmtest.Run(t, vmtest.Config{Kernel: kernel, Run: run, Memory: 768})
			for _, test := range r.Tests {
				if test.Status == vmtest.Skipped {
					t.Errorf("%s was skipped in a kernel that has all it needs:\n%s", test.Name, test.Output)
				}
			}
		})
	}
}

// trap is a tracepoint at an instruction.
func trap(n int, addr uint64, cond *agentexpr.Expr, actions ...agentexpr.Action) *experiment.Spec {
	s := strace(n, addr, cond, actions...)
	s.Kind = experiment.Trap
	return s
}

func function(t *testing.T, e *engine, name string) uint64 {
	t.Helper()
	addr, ok := e.k.Address(name)
	if !ok {
		t.Fatalf("the kernel has no %s", name)
	}
	return addr
}

// reads reads a file of known bytes by pieces of the sizes given, in one thread.
func reads(t *testing.T, sizes ...int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "known")
	if err := os.WriteFile(path, []byte(strings.Repeat("known bytes ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for _, n := range sizes {
		if got, err := unix.Pread(fd, make([]byte, n), 0); got != n || err != nil {
			t.Fatalf("read %d of %d: %v", got, n, err)
		}
	}
}

// vfs_read(file, buf, count, pos) by a kprobe: conditions on registers, all registers,
// memory of the kernel and of the process, two tracepoints at one address, a counter.
func TestGuest_Kprobe(t *testing.T) {
	e := open(t).e
	addr := function(t, e, "vfs_read")
	count := func(n int) *agentexpr.Expr {
		return condition(t, fmt.Sprintf("reg %d; const16 %d; equal; end", rdx, n))
	}
	var all []int
	for n := range 24 {
		all = append(all, n)
	}
	const flags, orig = 17, 57
	first := trap(1, addr, count(4321), agentexpr.Action{Kind: agentexpr.CollectRegs, Regs: append(all, orig)},
		agentexpr.Action{Kind: agentexpr.CollectMemory, Base: rdi, Len: 64},
		evaluate(t, "getv 102; const8 1; add; setv 102; end"))
	second := trap(2, addr, condition(t, fmt.Sprintf("reg %d; const16 4320; swap; less_unsigned; end", rdx)), evaluate(t, "getv 102; const8 10; add; setv 102; end"))
	second.Enabled = false
	inside := trap(3, addr, condition(t, "const8 8; ref64; end"))
	from := time.Now()
	start(t, e, []experiment.Variable{{Number: 102}}, first, second, inside)
	reads(t, 4321, 17, 4321)
	if err := e.Enable(second, true); err != nil {
		t.Fatal(err)
	}
	reads(t, 4321, 4319)
	if err := e.Enable(first, false); err != nil {
		t.Fatal(err)
	}
	reads(t, 4321)
	stop(t, e)
	reads(t, 4321)
	list := drainAll(e, true)
	ordered(t, list, from)
	got := map[int]int{}
	for _, h := range list {
		got[h.Spec.Number]++
		if h.Spec != first {
			continue
		}
		regs := registersOf(h.frame)
		if regs[rip] != addr || regs[rdx] != 4321 || regs[rdi] < 1<<63 || regs[rsi] >= 1<<47 || regs[7] < 1<<63 || regs[flags]&2 == 0 || regs[18] != 0x10 {
			t.Errorf("registers %#x", regs)
		}
		mem := h.frame.Blocks[0]
		want := make([]byte, 64)
		if mem.Addr != regs[rdi] || len(mem.Data) != 64 || binary.LittleEndian.Uint64(mem.Data[32:]) == binary.LittleEndian.Uint64(want) && string(mem.Data) == string(want) {
			t.Errorf("memory %+v", mem)
		}
	}
	if got[1] != 3 || got[2] != 2 || len(got) != 2 {
		t.Errorf("hits %v", got)
	}
	if v, _ := e.Variable(102); v != 3+2*10 {
		t.Errorf("variable is %d", v)
	}
	if c := e.Counts(first); c.Hits != 3 || c.False < 2 {
		t.Errorf("%+v", c)
	}
	if c := e.Counts(inside); c.Faults < 5 || c.Hits != 0 {
		t.Errorf("%+v", c)
	}
}

// Where the kernel takes no probe the error says why.
func TestGuest_KprobeRefused(t *testing.T) {
	e := open(t).e
	for name, want := range map[string]string{"do_int3": "does not allow a probe", "sys_call_table": "attach to kprobe:"} {
		addr, ok := e.k.Address(name)
		if !ok {
			continue
		}
		good := trap(1, function(t, e, "vfs_read"), nil)
		good.Enabled = false
		errs := e.Start([]*experiment.Spec{good, trap(2, addr, nil)}, nil)
		if errs[0] != nil || errs[1] == nil || !strings.Contains(errs[1].Error(), want) {
			t.Errorf("%s: %v", name, errs)
		}
	}
	if errs := e.Start([]*experiment.Spec{trap(1, 0x1000, nil)}, nil); errs[0] == nil {
		t.Error("a probe in user space")
	}
}

// Instructions inside a function.
func TestGuest_KprobeInside(t *testing.T) {
	e := open(t).e
	addr := function(t, e, "vfs_read")
	var ok int
	for off := uint64(1); off < 32 && ok < 3; off++ {
		s := trap(int(off), addr+off, condition(t, fmt.Sprintf("reg %d; end", rip)), agentexpr.Action{Kind: agentexpr.CollectRegs, Regs: []int{rip}})
		errs := e.Start([]*experiment.Spec{s}, nil)
		if errs[0] != nil { // not an instruction's first byte, or ftrace's
			continue
		}
		reads(t, 8)
		stop(t, e)
		for _, h := range drainAll(e, true) {
			ok++
			if regs := registersOf(h.frame); regs[rip] != addr+off {
				t.Errorf("rip is %#x, not vfs_read+%d", regs[rip], off)
			}
		}
	}
	if ok < 3 {
		t.Errorf("%d hits", ok)
	}
}

func TestGuest_Core(t *testing.T) {
	k := open(t)
	if k.mem.core == nil {
		t.Fatalf("no kcore: %v", k.mem.reason)
	}
	addr := function(t, k.e, "linux_banner")
	var by [2][40]byte
	if ok, err := k.mem.core.read(addr, by[0][:]); !ok || err != nil {
		t.Fatal(ok, err)
	}
	b, err := k.k.ReadMemory(addr, len(by[1]))
	if err != nil {
		t.Fatal(err)
	}
	copy(by[1][:], b)
	if by[0] != by[1] || !strings.HasPrefix(string(by[0][:]), "Linux version") {
		t.Errorf("%q, %q", by[0], by[1])
	}
}

// A static tracepoint that comes after the target was opened (this one a user defines;
// those of modules come with them) is found, and forgotten when it has gone.
func TestGuest_LateMarker(t *testing.T) {
	e := open(t).e
	const name = "synthetic:jalon_late"
	for _, step := range []struct {
		line string
		want int
	}{{"", 0}, {"jalon_late u64 value", 1}, {"!jalon_late", 0}} {
		if step.line != "" {
			if err := writeTracefs("synthetic_events", step.line); err != nil {
				t.Fatal(err)
			}
		}
		if list, err := e.matching(name); err != nil || len(list) != step.want {
			t.Errorf("after %q: %v, %v", step.line, list, err)
		}
	}
}
