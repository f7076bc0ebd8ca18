package kernelguest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/vmtest"
	"github.com/jalon-trace/jalon/test/testkit"
)

const ticks = "/bin/ticks"

// clockOf reads a clock of the guest, in nanoseconds.
func clockOf(t *testing.T, id int32) int64 {
	t.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(id, &ts); err != nil {
		t.Fatal(err)
	}
	return ts.Nano()
}

// recordTicks records the program while something happens to the clocks between its turns, and returns the events in the order of the trace.
func recordTicks(t *testing.T, happens []func()) []hit {
	t.Helper()
	dir := t.TempDir() + "/run"
	w := &worker{Process: testkit.StartTold(t, exec.Command(ticks))}
	rec := testkit.Start(t, jalon, "record", "-v", "-o", dir, "tick", "-c", "ns", "syscall:getpriority", "-c", "which", "-p", fmt.Sprint(w.Pid()))
	rec.AwaitErr("armed after")
	for _, f := range happens {
		w.once()
		f()
	}
	w.once()
	rec.Signal(syscall.SIGINT)
	if rec.Wait(); rec.Status != 0 {
		t.Fatalf("status %d: %s", rec.Status, rec.Errs.String())
	}
	list := testkit.ParseEvents(t, strings.NewReader(vmtest.Output(t, jalon, "report", dir, "-f", "json")))
	if len(list) != 2*20*(len(happens)+1) {
		t.Fatalf("%d events: %s", len(list), rec.Errs.String())
	}
	return list
}

// onLine checks that the hits in the program and the system calls between them are on one line, which is CLOCK_MONOTONIC: each hit is between
// the two times that the program reads before and behind it.
func onLine(t *testing.T, list []hit) {
	t.Helper()
	const off = 20_000 // ns: the processor is emulated, so that reading two clocks takes some time
	for i := range list {
		h := &list[i]
		want := "tick"
		if i%2 == 1 {
			want = "syscall:getpriority"
		}
		if h.Place != want || i > 0 && h.Time < list[i-1].Time {
			t.Fatalf("event %d is %s at %d, want %s behind the one before", i, h.Place, h.Time, want)
		}
		if i%2 == 1 {
			continue
		}
		before, behind := h.Num(t, "ns"), h.Time
		if i+2 < len(list) {
			behind = list[i+2].Num(t, "ns")
		}
		if h.Time < before-off || h.Time > behind+off {
			t.Errorf("hit %d has the time %d, but was between %d and %d", i, h.Time, before, behind)
		}
	}
}

// TestGuest_ClockSteps: the wall clock is set while a recording runs; its times do not move.
func TestGuest_ClockSteps(t *testing.T) {
	step := func(by time.Duration) func() {
		return func() {
			ts := unix.NsecToTimespec(clockOf(t, unix.CLOCK_REALTIME) + int64(by))
			if err := unix.ClockSettime(unix.CLOCK_REALTIME, &ts); err != nil {
				t.Fatal(err)
			}
		}
	}
	onLine(t, recordTicks(t, []func(){step(time.Hour), step(-2 * time.Hour), step(time.Hour)}))
}

// TestGuest_Suspend: the machine sleeps while a recording runs. CLOCK_MONOTONIC stands still meanwhile, and the times of both engines with it.
func TestGuest_Suspend(t *testing.T) {
	const alarm = "/sys/class/rtc/rtc0/wakealarm"
	states, err := os.ReadFile("/sys/power/state")
	if err != nil || strings.TrimSpace(string(states)) == "" {
		t.Skip("the kernel has no sleep")
	}
	if vmtest.Arch != "amd64" {
		t.Skip("QEMU's machine wakes at once")
	}
	if _, err := os.Stat(alarm); err != nil {
		t.Skip("the machine has no alarm to wake it")
	}
	if !strings.Contains(string(states), "mem") {
		t.Skipf("the kernel can only sleep by %s", states)
	}
	asleep := func() time.Duration {
		return time.Duration(clockOf(t, unix.CLOCK_BOOTTIME) - clockOf(t, unix.CLOCK_MONOTONIC))
	}
	before := asleep()
	onLine(t, recordTicks(t, []func(){func() {
		for _, x := range [][2]string{{alarm, "+3"}, {"/sys/power/state", "mem"}} {
			if err := os.WriteFile(x[0], []byte(x[1]), 0); err != nil {
				t.Fatal(err)
			}
		}
	}}))
	if d := asleep() - before; d < time.Second {
		t.Errorf("the machine has slept for %v", d)
	} else {
		t.Logf("the machine has slept for %v", d)
	}
}
