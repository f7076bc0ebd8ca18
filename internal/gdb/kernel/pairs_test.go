package kernel

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/gdb/experiment"
)

// Raw arguments as registers, with and without the tracepoint's own record, several
// at one address, one of them added later.
func TestArguments(t *testing.T) {
	e := open(t).e
	addr := at(t, e, "raw_syscalls:sys_enter")
	raw := strace(1, addr, byArguments(t), argsRegs)
	pair := strace(2, addr, byArguments(t), argsRegs, static)
	own := strace(3, addr, nil, static)
	own.Enabled = false
	from := time.Now()
	start(t, e, nil, raw, pair, own)
	call(4)
	late := strace(4, addr, byArguments(t), static, argsRegs)
	if err := e.Add(late); err != nil {
		t.Fatal(err)
	}
	if err := e.Add(late); err != nil {
		t.Errorf("the same tracepoint again: %v", err)
	}
	call(2)
	if err := e.Enable(pair, false); err != nil {
		t.Fatal(err)
	}
	call(3)
	if err := e.Enable(pair, true); err != nil {
		t.Fatal(err)
	}
	call(1)
	list := finish(t, e)
	ordered(t, list, from)
	got := map[*experiment.Spec]int{}
	for _, h := range list {
		got[h.Spec]++
		regs := registersOf(h.frame)
		if len(regs) != 4 || regs[rip] != addr || regs[rdx] != unix.SYS_GETPRIORITY || regs[rsi] < 1<<63 || regs[rdi] != 0 {
			t.Errorf("registers %#x", regs)
		}
		want := fmt.Sprintf("NR %d (", unix.SYS_GETPRIORITY)
		if h.Spec == raw {
			if h.Static != "" {
				t.Errorf("static %q that was not asked for", h.Static)
			}
		} else if !strings.Contains(h.Static, want) || !strings.Contains(h.Static, fmt.Sprintf(" %x,", magic)) {
			t.Errorf("static is %q", h.Static)
		}
	}
	if got[raw] != 10 || got[pair] != 7 || got[late] != 6 || got[own] != 0 {
		t.Errorf("hits %d, %d, %d, %d; not 10, 7, 6, 0", got[raw], got[pair], got[late], got[own])
	}
	for s, n := range got {
		if c := e.Counts(s); c.Hits != uint64(n) || c.Lost != 0 {
			t.Errorf("%d: counts %+v, %d hits", s.Number, c, n)
		}
	}
}

// Where hits come all the time, also while the two programs of a tracepoint are being
// attached, each that is given out is whole.
func TestWhole(t *testing.T) {
	e := open(t).e
	addr := at(t, e, "sched:sched_switch")
	pair := func(n int) *experiment.Spec { return strace(n, addr, nil, static, argsRegs) }
	quiet := meanwhile(func() {
		runtime.Gosched()
		_ = unix.Nanosleep(&unix.Timespec{Nsec: 1000}, nil)
	})
	first, second := pair(1), pair(2)
	start(t, e, nil, first)
	await(t, func() error { return e.Add(second) }) // another package's test may have the tracepoint open
	var list []kept
	for len(list) < 200 {
		list = append(list, drainAll(e, false)...)
	}
	list = append(list, finish(t, e)...)
	quiet()
	// The kernel leaves a program of perf's out where eBPF is at work on the CPU already, and
	// a ring may be full: both are counted.
	incomplete := map[*experiment.Spec]uint64{}
	for i, h := range list {
		switch {
		case h.Static == "":
			incomplete[h.Spec]++
		case !strings.Contains(h.Static, " ==> next_comm="):
			t.Errorf("hit %d of %d, of tracepoint %d: %q", i, len(list), h.Spec.Number, h.Static)
		}
	}
	for s, n := range incomplete {
		if counted := e.Counts(s).Lost + e.sites[s].missed(); n > counted || n == e.Counts(s).Hits {
			t.Errorf("tracepoint %d: %d hits of %d without a text, and %d lost or missed", s.Number, n, e.Counts(s).Hits, counted)
		}
	}
}

// Hits are whole too where others open the tracepoint by perf for moments while it is armed:
// perf's programs are then called from the place of whoever came first.
func TestWholeBesideOthers(t *testing.T) {
	e := open(t).e
	addr := at(t, e, "raw_syscalls:sys_enter")
	k, err := bpf.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	n := time.Duration(0)
	quiet := meanwhile(func() {
		if _, err := k.PerfUsers("raw_syscalls", "sys_enter"); err != nil {
			t.Error(err)
		}
		time.Sleep(n % 8 * 500 * time.Microsecond)
		n++
	})
	rounds := 10
	if os.Getenv("JALON_FULL") != "" {
		rounds = 500
	}
	for range rounds {
		start(t, e, nil)
		await(t, func() error { return e.Add(strace(1, addr, byArguments(t), static, argsRegs)) })
		call(3)
		list := finish(t, e)
		if len(list) != 3 {
			t.Errorf("%d hits", len(list))
		}
		for i, h := range list {
			if want := fmt.Sprintf("NR %d (%x, %x,", unix.SYS_GETPRIORITY, i, magic); !strings.Contains(h.Static, want) {
				t.Errorf("hit %d: static is %q, not %q", i, h.Static, want)
			}
		}
	}
	quiet()
}

// TestAddedPair: a tracepoint with two programs that is added while hits come does nothing
// before both are there: it sets no variable and counts for no pass count without a frame.
func TestAddedPair(t *testing.T) {
	e := open(t).e
	addr := at(t, e, "raw_syscalls:sys_enter")
	count := countUp(t, counter)
	quiet := meanwhile(func() {
		call(1)
		_ = unix.Nanosleep(&unix.Timespec{Nsec: 50_000}, nil)
	})
	start(t, e, counters)
	s := strace(1, addr, byArguments(t), static, argsRegs, count)
	await(t, func() error { return e.Add(s) })
	call(3)
	if err := e.Enable(s, false); err != nil {
		t.Fatal(err)
	}
	await(t, func() error { return e.Enable(s, true) })
	call(3)
	stop(t, e)
	quiet()
	v, _ := e.Variable(counter)
	list, c := drainAll(e, true), e.Counts(s)
	if v < 6 || v != int64(len(list)) || c.Hits < uint64(v) || c.Hits > uint64(v)+c.Lost {
		t.Errorf("the variable is %d, %d frames, counts %+v", v, len(list), c)
	}
	for i, h := range list {
		if h.Static == "" && c.Lost == 0 && e.sites[s].missed() == 0 {
			t.Errorf("hit %d of %d has no record of the tracepoint's own", i, len(list))
			break
		}
	}
}
