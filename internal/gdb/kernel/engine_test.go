package kernel

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/experiment"
)

func TestRecord(t *testing.T) {
	e := open(t).e
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := strace(1, at(t, e, "syscalls:sys_enter_getpriority"), byRecord(t), static,
		evaluate(t, fmt.Sprintf("reg %d; const8 16; add; trace_quick 8; pop; end", rdi)), argsRegs)
	from := time.Now()
	start(t, e, nil, s)
	call(5)
	_, _ = unix.Getpriority(0, magic+1)
	stop(t, e)
	call(3)
	list := drainAll(e, true)
	if len(list) != 5 {
		t.Fatalf("%d hits", len(list))
	}
	ordered(t, list, from)
	for i, h := range list {
		if want := fmt.Sprintf("which: %d, who: 0x%x", i, magic); !strings.Contains(h.Static, want) {
			t.Errorf("static is %q, not %q", h.Static, want)
		}
		if h.TID != unix.Gettid() || h.Spec != s {
			t.Errorf("%+v", h)
		}
		var mem []agentexpr.Block
		for _, b := range h.frame.Blocks {
			if b.Kind == agentexpr.MemoryBlock {
				mem = append(mem, b)
			}
		}
		if len(mem) != 1 || binary.LittleEndian.Uint64(mem[0].Data) != uint64(i) || mem[0].Addr < 1<<63 {
			t.Errorf("memory %+v", mem)
		}
		regs := registersOf(h.frame)
		if len(regs) != 2 || regs[rip] != s.Addr || regs[rdi]+16 != mem[0].Addr {
			t.Errorf("registers %#x", regs)
		}
	}
	if c := e.Counts(s); c.Hits != 5 || c.False < 1 || c.Lost != 0 || c.Faults != 0 {
		t.Errorf("counts %+v", c)
	}
}

func TestFaults(t *testing.T) {
	e := open(t).e
	addr := at(t, e, "syscalls:sys_enter_getpriority")
	wild := strace(1, addr, condition(t, "const8 8; ref64; end"))
	part := strace(2, addr, byRecord(t), evaluate(t, "const8 8; trace_quick 4; end"), static)
	start(t, e, nil, wild, part)
	call(2)
	list := finish(t, e)
	if len(list) != 2 || len(list[0].frame.Failures) != 1 || list[0].frame.Failures[0].Addr != 8 || list[0].Static == "" {
		t.Errorf("%+v", list)
	}
	if c := e.Counts(wild); c.Faults < 2 || c.Hits != 0 {
		t.Errorf("%+v", c)
	}
}

// What cannot be armed is refused in words, and nothing stays armed.
func TestRefused(t *testing.T) {
	e := open(t).e
	addr := at(t, e, "syscalls:sys_enter_getpriority")
	good := strace(1, addr, byRecord(t))
	step := strace(2, addr, nil)
	step.Steps = 3
	nowhere := strace(3, addr+1, nil)
	reg := strace(4, addr, condition(t, "reg 7; end"))
	for _, c := range []struct {
		s    *experiment.Spec
		want string
	}{{step, "never stopped"}, {nowhere, "no static tracepoint at"}, {reg, "register rsp cannot be read here"}} {
		errs := e.Start([]*experiment.Spec{good, c.s}, nil)
		if errs[0] != nil || errs[1] == nil || !strings.Contains(errs[1].Error(), c.want) {
			t.Errorf("%v, not %q", errs, c.want)
		}
		if err := e.Add(good); err == nil {
			t.Error("a run after all")
		}
	}
	call(1)
	if list := drainAll(e, true); len(list) != 0 {
		t.Errorf("%v", list)
	}
}

// Hits of all CPUs come in the order of time, also while the run goes on.
func TestOrder(t *testing.T) {
	e := open(t).e
	s := strace(1, at(t, e, "raw_syscalls:sys_enter"), byArguments(t), argsRegs)
	from := time.Now()
	start(t, e, nil, s)
	const each = 2000
	done := make(chan bool)
	for cpu := range runtime.NumCPU() {
		go func() {
			runtime.LockOSThread() // the thread ends with its binding
			var set unix.CPUSet
			set.Set(cpu)
			_ = unix.SchedSetaffinity(0, &set)
			call(each)
			done <- true
		}()
	}
	var list []kept
	for n := 0; n < runtime.NumCPU(); {
		select {
		case <-done:
			n++
		case <-time.After(time.Millisecond):
			list = append(list, drainAll(e, false)...)
		}
	}
	list = append(list, finish(t, e)...)
	ordered(t, list, from)
	cpus := map[int]int{}
	for _, h := range list {
		cpus[h.CPU]++
	}
	if c := e.Counts(s); len(list) != each*runtime.NumCPU() || c.Hits != uint64(len(list)) || len(cpus) != runtime.NumCPU() {
		t.Errorf("%d hits on CPUs %v; %+v", len(list), cpus, c)
	}
}
