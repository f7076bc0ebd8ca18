package vmtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The tests of this file run in guests and do what tests of other packages may do,
// the worst included. outcome_test.go boots them and looks at what is reported.

func TestGuest_GoodPass(t *testing.T) {
	t.Log("a log line")
	fmt.Print("printed without an end of line")
}

func TestGuest_GoodSubtests(t *testing.T) {
	t.Run("one", func(t *testing.T) { t.Log("in one") })
	t.Run("two/with slash", func(t *testing.T) {
		t.Run("deep", func(t *testing.T) { t.Skip("not deep enough") })
	})
}

func TestGuest_GoodSkip(t *testing.T) {
	t.Skip("a reason with: colons")
}

// Two parallel tests whose outputs are interleaved.
func TestGuest_GoodParallelA(t *testing.T) { parallel(t, "A") }
func TestGuest_GoodParallelB(t *testing.T) { parallel(t, "B") }

func parallel(t *testing.T, name string) {
	t.Parallel()
	for i := range 20 {
		t.Log("line", name, i)
	}
}

// outputLines is enough to fill every buffer on the way many times.
const outputLines = 5000

func TestGuest_GoodMuchOutput(t *testing.T) {
	for i := range outputLines {
		fmt.Printf("line %d of much output\n", i)
	}
}

// The machine is as it is promised: file systems, files, environment, loopback.
func TestGuest_GoodMachine(t *testing.T) {
	if !Guest() || os.Getpid() == 1 {
		t.Errorf("Guest() = %v, pid %d", Guest(), os.Getpid())
	}
	b, err := os.ReadFile("/proc/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mounts {
		if !strings.Contains(string(b), " "+m.at+" "+m.kind+" ") {
			t.Errorf("%s is not mounted on %s:\n%s", m.kind, m.at, b)
		}
	}
	if _, err := os.Stat("/sys/kernel/tracing/events"); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile("/some/where/bytes"); string(got) != "some bytes" {
		t.Errorf("/some/where/bytes: %q, %v", got, err)
	}
	if got, err := os.ReadFile("/tree/guest_test.go"); len(got) == 0 {
		t.Errorf("the directory was not copied: %v", err)
	}
	if os.Getenv("VMTEST_ENV") != "a value" {
		t.Errorf("VMTEST_ENV=%q", os.Getenv("VMTEST_ENV"))
	}
	if got := Output(t, "hello-c", "x"); got != "hello from C: x\n" {
		t.Errorf("hello-c printed %q", got)
	}
	if flags, err := os.ReadFile("/sys/class/net/lo/flags"); strings.TrimSpace(string(flags)) != "0x9" {
		t.Errorf("flags of lo: %q, %v", flags, err)
	}
}

// A process left behind with the test's output open does not keep the guest up.
func TestGuest_GoodOrphan(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.StartProcess("/bin/hello-c", []string{"hello-c", "sleep"},
		&os.ProcAttr{Files: []*os.File{null, os.Stdout, os.Stderr}})
	if err != nil {
		t.Fatal(err)
	}
	t.Log("left behind: process", p.Pid)
}

func TestGuest_BadFail(t *testing.T) {
	t.Run("sub", func(t *testing.T) { t.Error("wrong on purpose") })
	t.Run("good", func(*testing.T) {})
}

func TestGuest_BadNested(t *testing.T) {
	Run(t, Config{Kernel: "6.12", Run: "^TestGuest_"})
}

func TestGuest_BadPanic(*testing.T) { panic("a panic on purpose") }

func TestGuest_BadPanicAfter(*testing.T) {} // does not run any more

func TestGuest_BadKilled(t *testing.T) {
	t.Log("last words")
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

func TestGuest_BadExit(t *testing.T) {
	t.Log("last words")
	os.Exit(0)
}

func TestGuest_BadHang(t *testing.T) {
	t.Log("last words")
	for {
		time.Sleep(time.Hour)
	}
}

// The whole machine stops, because this takes the only processor.
func TestGuest_BadStandstill(t *testing.T) {
	t.Log("last words")
	if err := os.WriteFile("/proc/sys/kernel/sched_rt_runtime_us", []byte("-1"), 0); err != nil {
		t.Fatal(err)
	}
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 99}
	if err := unix.SchedSetAttr(0, &attr, 0); err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		_ = probed(i)
	}
}

func TestGuest_BadCrash(t *testing.T) {
	t.Log("last words")
	_ = os.WriteFile("/proc/sysrq-trigger", []byte("c"), 0)
	t.Error("still here")
}

func TestGuest_BadPowerOff(*testing.T) {
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

// Someone else writes on the result line.
func TestGuest_BadLine(t *testing.T) {
	lines, err := filepath.Glob(resultLine)
	if err != nil || len(lines) != 1 {
		t.Fatal(lines, err)
	}
	if err := os.WriteFile(lines[0], []byte("noise"), 0); err != nil {
		t.Fatal(err)
	}
}
