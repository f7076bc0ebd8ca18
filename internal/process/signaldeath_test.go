package process

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

func init() { roles["dying"] = dieHolding }

// dieHolding is a jalon that is killed between the report of a signal and the resume of its thread:
// before the report is handled, or while the thread is held.
func dieHolding() {
	var pid int
	fmt.Sscan(os.Getenv("PROCESS_TEST_PID"), &pid)
	p, err := Attach(pid, Config{})
	if err != nil {
		return // the program has ended
	}
	_ = p.do(func() error {
		held := os.Getenv("PROCESS_TEST_POINT") == "held"
		if held {
			p.threads.Frozen++
		}
		for !p.threads.Finished {
			p.waits.collect()
			for _, w := range p.waits.queue {
				if !held && sys.SignalStop(w.ws) {
					fmt.Println("dies")
					_ = unix.Kill(os.Getpid(), unix.SIGKILL)
				}
			}
			p.waits.batch()
			for _, t := range p.threads.All() {
				if held && t.State == threads.Stopped && t.Stop == threads.StopSignal && t.Sig != 0 {
					fmt.Println("dies")
					_ = unix.Kill(os.Getpid(), unix.SIGKILL)
				}
			}
		}
		return nil
	})
}

// TestSignalSurvives: jalon is killed while it holds a signal of the program's. The kernel
// delivers the signal.
func TestSignalSurvives(t *testing.T) {
	f := launchFree(t, build(t, "sigstorm"), "1500")
	f.out.wait(t, "ready")
	died := 0
	for i := range 30 {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), "PROCESS_TEST_ROLE=dying", fmt.Sprintf("PROCESS_TEST_PID=%d", f.cmd.Process.Pid),
			"PROCESS_TEST_POINT="+[]string{"queued", "held"}[i%2])
		cmd.Stderr = os.Stderr
		out, _ := cmd.Output()
		if string(out) != "dies\n" {
			break // the program has ended
		}
		died++
	}
	err := f.cmd.Wait()
	if got := f.out.all(); err != nil || got != "ready\nrt ok sum ok usr ok alarms ok\n" {
		t.Errorf("%v %q", err, got)
	}
	if died < 2 {
		t.Errorf("jalon was killed %d times", died)
	}
	t.Logf("jalon was killed %d times with a signal in its hands", died)
}

func init() { roles["profiling"] = dieWithTick }

// dieWithTick is a jalon that is killed while it leads a thread out of generated code for a
// profiler's signal.
func dieWithTick() {
	var pid, asked int
	fmt.Sscan(os.Getenv("PROCESS_TEST_PID"), &pid)
	p, err := Attach(pid, Config{InCode: func(uint64) bool {
		if asked++; asked == 5 {
			fmt.Println("dies")
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
		}
		return true
	}})
	if err == nil { // else the program has ended
		p.Wait()
	}
}

// TestTickSurvives: jalon is killed while a thread is on its way out of generated code. A thread
// that it had let make a single step would die with it.
func TestTickSurvives(t *testing.T) {
	f := launchFree(t, build(t, "profiled"), "400")
	f.out.wait(t, "ready")
	died := 0
	for range 20 {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), "PROCESS_TEST_ROLE=profiling", fmt.Sprintf("PROCESS_TEST_PID=%d", f.cmd.Process.Pid))
		cmd.Stderr = os.Stderr
		out, _ := cmd.Output()
		if string(out) != "dies\n" {
			break // the program has ended
		}
		died++
	}
	err := f.cmd.Wait()
	if got := f.out.all(); err != nil || got != "ready\ndone\n" {
		t.Errorf("%v %q", err, got)
	}
	if died < 2 {
		t.Errorf("jalon was killed %d times", died)
	}
	t.Logf("jalon was killed %d times", died)
}
