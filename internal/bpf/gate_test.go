package bpf

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// oddOnly passes only this process's calls with an odd first argument. The record of sys_enter_getpgid has
// 8 bytes, the number, the argument.
func oddOnly() asm.Instructions {
	return join(mine(), asm.Instructions{
		asm.LoadMem(asm.R0, asm.R6, 16, asm.DWord),
		asm.And.Imm(asm.R0, 1),
		asm.Return(),
	}, out(0))
}

func callWith(from, to int) {
	for i := from; i < to; i++ {
		_, _, _ = unix.RawSyscall(unix.SYS_GETPGID, uintptr(i), 0, 0)
	}
}

// counter opens a counting perf event of this thread: a perf user like any other.
func counter(t *testing.T, k *Kernel) func() uint64 {
	t.Helper()
	id, err := k.EventID("syscalls", "sys_enter_getpgid")
	check(t, err)
	fd, err := perfOpen(&unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: id}, unix.Gettid(), -1)
	check(t, err)
	t.Cleanup(func() { check(t, unix.Close(fd)) })
	return func() uint64 {
		var b [8]byte
		_, err := unix.Read(fd, b[:])
		check(t, err)
		return binary.NativeEndian.Uint64(b[:])
	}
}

// TestGate counts with perf before, during and after the gate, with events opened before and during it.
func TestGate(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	k := openKernel(t)
	before := counter(t, k)
	callWith(0, 100)
	g, err := k.Gate("syscalls", "sys_enter_getpgid", oddOnly())
	check(t, err)
	behind := counter(t, k)
	callWith(0, 100)
	if n := before(); n != 150 {
		t.Errorf("the event opened before the gate has %d, want 100 and 50", n)
	}
	if n := behind(); n != 50 {
		t.Errorf("the event opened after the gate has %d, want 50", n)
	}
	check(t, g.Close())
	callWith(0, 100)
	if n, m := before(), behind(); n != 250 || m != 150 {
		t.Errorf("after the gate %d and %d, want 250 and 150", n, m)
	}
}

// TestTracepointReturn: a program with the required return value takes no hits from perf, a program that
// returns an even number takes all; programs of other kinds see all hits.
func TestTracepointReturn(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	k := openKernel(t)
	target := Target{Kind: Tracepoint, Group: "syscalls", Name: "sys_enter_getpgid"}
	b := newBuffer(t, k, 8)
	raw := load(t, k, Program{Insns: sysEnter(), Kind: RawTracepoint, Buffers: []*Buffer{b}})
	attach(t, raw, Target{Kind: RawTracepoint, Name: "sys_enter"})
	perf := counter(t, k)
	total := uint64(0)
	for _, tc := range []struct {
		ret  int32
		pass uint64
	}{{Tracepoint.Return(), 10}, {0, 0}, {2, 0}, {3, 10}, {Tracepoint.Return(), 10}} {
		l := load(t, k, Program{Insns: asm.Instructions{asm.Mov.Imm(asm.R0, tc.ret), asm.Return()}, Kind: Tracepoint})
		lk := attach(t, l, target)
		hits(10)
		total += tc.pass
		if n := perf(); n != total {
			t.Errorf("return value %d: perf has %d, want %d", tc.ret, n, total)
		}
		check(t, lk.Close())
	}
	want(t, b, 0, 50)
}

// requirePerf returns the path of the program perf. Without it the test is skipped and counted.
func requirePerf(t *testing.T) string {
	t.Helper()
	perf, err := exec.LookPath("perf")
	if err != nil {
		skipped = append(skipped, t.Name())
		t.Skip("perf is not installed")
	}
	return perf
}

// TestGatePerfRecord records a process's calls by perf through the gate.
func TestGatePerfRecord(t *testing.T) {
	perf := requirePerf(t)
	k := openKernel(t)
	count := func() int {
		data := filepath.Join(t.TempDir(), "perf.data")
		text, err := exec.Command(perf, "record", "-q", "-e", "syscalls:sys_enter_getpgid", "-o", data,
			"--", "/proc/"+itoa(os.Getpid())+"/exe", "-call", "200").CombinedOutput()
		if err != nil {
			t.Fatalf("perf record: %v\n%s", err, text)
		}
		script, err := exec.Command(perf, "script", "-i", data, "-F", "event,trace").CombinedOutput()
		if err != nil {
			t.Fatalf("perf script: %v\n%s", err, script)
		}
		return strings.Count(string(script), "sys_enter_getpgid")
	}
	if n := count(); n != 200 {
		t.Fatalf("perf recorded %d without a gate, want 200", n)
	}
	g, err := k.Gate("syscalls", "sys_enter_getpgid", asm.Instructions{
		asm.LoadMem(asm.R1, asm.R1, 16, asm.DWord),
		asm.Mov.Imm(asm.R0, 1),
		asm.JSet.Imm(asm.R1, 3, "out"),
		asm.Mov.Imm(asm.R0, 0), // a quarter of them
		asm.Return().WithSymbol("out"),
	})
	check(t, err)
	if n := count(); n != 150 {
		t.Errorf("perf recorded %d through the gate, want 150", n)
	}
	check(t, g.Close())
	if n := count(); n != 200 {
		t.Errorf("perf recorded %d after the gate, want 200", n)
	}
}

// TestGateFtrace: ftrace sees all hits, with or without a gate.
func TestGateFtrace(t *testing.T) {
	k := openKernel(t)
	dir := filepath.Join(k.Features().Tracefs, "instances", "jalon_gate_"+itoa(os.Getpid()))
	check(t, os.Mkdir(dir, 0o755))
	defer func() { check(t, os.Remove(dir)) }()
	put := func(file, text string) { t.Helper(); check(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0)) }
	put("set_event_pid", itoa(os.Getpid()))
	put("options/event-fork", "1")
	enable := "events/syscalls/sys_enter_getpgid/enable"
	g, err := k.Gate("syscalls", "sys_enter_getpgid", empty())
	check(t, err)
	defer func() { check(t, g.Close()) }()
	runtime.LockOSThread()
	put("set_event_pid", itoa(unix.Gettid()))
	put(enable, "1")
	hits(25)
	put(enable, "0")
	runtime.UnlockOSThread()
	text, err := os.ReadFile(filepath.Join(dir, "trace"))
	check(t, err)
	if n := strings.Count(string(text), "sys_getpgid("); n != 25 {
		t.Errorf("ftrace has %d of 25 hits:\n%s", n, text)
	}
}
