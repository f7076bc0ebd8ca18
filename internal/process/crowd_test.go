package process

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/memory"
)

// TestCrowd: what a stop of the world costs the tracer grows with the number of threads,
// not with its square.
func TestCrowd(t *testing.T) {
	few, many := 250, 2000
	cheap, dear := costOfStop(t, few), costOfStop(t, many)
	t.Logf("CPU time of the tracer: %v with %d threads, %v with %d", cheap, few, dear, many)
	if limit := cheap * time.Duration(3*many/few); dear > limit {
		t.Errorf("a stop of %d threads costs %v, one of %d %v", many, dear, few, cheap)
	}
}

// costOfStop is the least CPU time that the tracer needs to stop a process with n threads
// more than one, to look at their registers and stacks, and to let them go.
func costOfStop(t *testing.T, n int) time.Duration {
	t.Helper()
	f := launchFree(t, build(t, "crowd"), fmt.Sprint(n))
	f.out.wait(t, "ready")
	p := attach(t, f.cmd.Process.Pid, Config{})
	least := time.Hour
	for range 5 {
		before := tracerTime(t, p)
		stop(t, p, func(s *Stopped) error {
			ths, err := s.Threads()
			if len(ths) != n+1 {
				t.Errorf("%d threads of %d", len(ths), n+1)
			}
			stacks := s.Stacks()
			for _, th := range ths {
				if len(stacks.WithRedZone(th.Regs.SP())) < 2*redZone {
					t.Errorf("thread %d has no stack", th.TID)
				}
			}
			return err
		})
		least = min(least, tracerTime(t, p)-before)
	}
	if err := p.Detach(); err != nil {
		t.Error(err)
	}
	return least
}

// tracerTime is the CPU time of the tracer's thread so far.
func tracerTime(t *testing.T, p *Process) (d time.Duration) {
	t.Helper()
	err := p.do(func() error {
		var u unix.Rusage
		err := unix.Getrusage(unix.RUSAGE_THREAD, &u)
		d = time.Duration(u.Utime.Nano() + u.Stime.Nano())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestStackEnd: what is read of a stack ends with the pages that can be read, wherever
// the stack pointer is.
func TestStackEnd(t *testing.T) {
	maps := []Mapping{
		{Start: 0x1000, End: 0x2000, Prot: unix.PROT_READ},
		{Start: 0x4000, End: 0x6000, Prot: unix.PROT_READ | unix.PROT_WRITE},
		{Start: 0x6000, End: 0x7000, Prot: unix.PROT_READ},
		{Start: 0x7000, End: 0x8000}, // the next stack's guard
		{Start: 0x8000, End: 0x9000, Prot: unix.PROT_READ},
	}
	for _, v := range []struct{ sp, lo, hi uint64 }{
		{0, 0, 0},
		{0x1000, 0x1000, 0x2000},
		{0x1fff, 0x1000, 0x2000},
		{0x2000, 0, 0},
		{0x3fff, 0, 0},
		{0x4000, 0x4000, 0x7000},
		{0x6008, 0x6000, 0x7000},
		{0x8000, 0x8000, 0x9000},
		{0x9000, 0, 0},
	} {
		if lo, hi := memory.ReadableAround(maps, v.sp); lo != v.lo || hi != v.hi {
			t.Errorf("%#x: %#x to %#x", v.sp, lo, hi)
		}
	}
}
