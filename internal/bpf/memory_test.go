package bpf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// TestReadMemory reads the number and name in this process's task_struct.
func TestReadMemory(t *testing.T) {
	k := openKernel(t)
	require(t, k.Features().BTF)
	task, err := k.currentTask()
	check(t, err)
	offset, err := memberOffset("task_struct", "tgid")
	check(t, err)
	tgid, err := k.readWord(task+offset, 4)
	check(t, err)
	if int(tgid) != os.Getpid() {
		t.Errorf("tgid is %d, want %d", tgid, os.Getpid())
	}
	// More than a page at once, then the same range in parts.
	all, err := k.ReadMemory(task, 5000)
	check(t, err)
	if len(all) != 5000 || binary.NativeEndian.Uint32(all[offset:]) != uint32(tgid) {
		t.Errorf("%d bytes, tgid %d", len(all), binary.NativeEndian.Uint32(all[offset:]))
	}
	none, err := k.ReadMemory(task, 0)
	if err != nil || len(none) != 0 {
		t.Errorf("no bytes: %d, %v", len(none), err)
	}
	if _, err := k.ReadMemory(task, -1); err == nil {
		t.Error("-1 bytes without error")
	}
}

// TestReadText compares kernel text with the same text read from another address.
func TestReadText(t *testing.T) {
	k := openKernel(t)
	addr := symbolAddress(t, getpgid)
	text, err := k.ReadMemory(addr, 5000)
	check(t, err)
	tail, err := k.ReadMemory(addr+4990, 10)
	check(t, err)
	if !bytes.Equal(text[4990:], tail) {
		t.Errorf("% x at the end of a long read, % x alone", text[4990:], tail)
	}
	if bytes.Count(text, []byte{0}) == len(text) {
		t.Error("the kernel's text is all zero")
	}
}

func TestReadFaults(t *testing.T) {
	k := openKernel(t)
	own := uint64(1)
	for _, addr := range []uint64{0, 8, uint64(uintptr(unsafe.Pointer(&own))), 1 << 47, 0xdead000000000100, ^uint64(0), ^uint64(7)} {
		_, err := k.ReadMemory(addr, 8)
		if !errors.Is(err, unix.EFAULT) {
			t.Errorf("%#x: %v", addr, err)
			continue
		}
		if e := errorOf(t, err); !strings.HasSuffix(e.Error(), ": there is no readable memory") {
			t.Error(e)
		}
	}
}

// TestPerfUsers opens perf events on a trace event and counts them in the kernel.
func TestPerfUsers(t *testing.T) {
	k := openKernel(t)
	require(t, k.Features().BTF)
	for _, ev := range [][2]string{{"syscalls", "sys_enter_getpgid"}, {"sched", "sched_process_exec"}} {
		base, err := k.PerfUsers(ev[0], ev[1])
		check(t, err)
		for i := 1; i <= 3; i++ {
			l := load(t, k, Program{Insns: asm.Instructions{asm.Mov.Imm(asm.R0, 1), asm.Return()}, Kind: Tracepoint})
			attach(t, l, Target{Kind: Tracepoint, Group: ev[0], Name: ev[1]})
			n, err := k.PerfUsers(ev[0], ev[1])
			check(t, err)
			if n != base+i {
				t.Errorf("%v: %d users, want %d", ev, n, base+i)
			}
		}
	}
	_, err := k.PerfUsers("sched", "no_such")
	wantError(t, err, "find the users of tracepoint:sched:no_such: there is no trace event sched:no_such; see jalon list; if it belongs to a module, load the module first")
}

// TestVmemmapBase: each page leads to the same array.
func TestVmemmapBase(t *testing.T) {
	k := openKernel(t)
	require(t, k.Features().BTF)
	first, err := k.VmemmapBase()
	check(t, err)
	for range 5 {
		again, err := k.VmemmapBase()
		check(t, err)
		if again != first {
			t.Errorf("%#x, then %#x", first, again)
		}
	}
}
