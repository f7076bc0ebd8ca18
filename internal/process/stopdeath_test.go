package process

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/sys"
)

func init() { roles["stopping"] = dieAfterStop }

// dieAfterStop is a jalon whose injected calls a SIGSTOP meets, and which then is killed or goes away.
func dieAfterStop() {
	var pid int
	fmt.Sscan(os.Getenv("PROCESS_TEST_PID"), &pid)
	p, err := Attach(pid, Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	how := os.Getenv("PROCESS_TEST_POINT")
	_, err = p.Stopped(func(s *Stopped) error {
		calls := []Call{SystemCall(unix.SYS_GETPID), SystemCall(unix.SYS_GETPID), SystemCall(unix.SYS_GETPID)}
		if _, err := s.Syscall(unix.SYS_GETPID); err != nil { // the thread is borrowed
			return err
		}
		if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
			return err
		}
		if strings.Contains(how, "list") {
			_, err = s.Syscalls(calls)
		} else {
			_, err = s.Syscall(unix.SYS_GETPID)
		}
		if err != nil {
			return err
		}
		if strings.Contains(how, "continued") {
			_ = unix.Kill(pid, unix.SIGCONT)
		}
		if strings.Contains(how, "dies") {
			fmt.Println("dies")
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
		}
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := p.Detach(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("leaves")
}

// TestStopSurvives: a SIGSTOP that comes during an injected call, which cannot be blocked, stops the program, also if
// jalon is killed before it has given the thread back; a SIGCONT after it undoes it.
func TestStopSurvives(t *testing.T) {
	rounds := 1
	if os.Getenv("JALON_FULL") != "" {
		rounds = 100
	}
	for _, how := range []string{"call, dies", "list, dies", "call, continued, dies", "list, continued, dies", "call, leaves", "list, leaves", "call, continued, leaves", "list, continued, leaves"} {
		t.Run(how, func(t *testing.T) {
			for range rounds {
				f := launchFree(t, build(t, "lists"))
				f.out.wait(t, "ready")
				pid := f.cmd.Process.Pid
				cmd := exec.Command("/proc/self/exe")
				cmd.Env = append(os.Environ(), "PROCESS_TEST_ROLE=stopping", fmt.Sprintf("PROCESS_TEST_PID=%d", pid), "PROCESS_TEST_POINT="+how)
				cmd.Stderr = os.Stderr
				out, _ := cmd.Output()
				if got := strings.TrimSpace(string(out)); got == "" || !strings.HasSuffix(how, got) {
					t.Fatalf("jalon: %s", out)
				}
				state := func() byte {
					st, err := sys.ReadStatus(pid)
					if err != nil {
						t.Fatal(err)
					}
					return st.State
				}
				if !strings.Contains(how, "continued") {
					for start := time.Now(); state() != 'T'; {
						if time.Since(start) > testPatience {
							t.Fatalf("the SIGSTOP is lost: state %c", state())
						}
					}
					if err := unix.Kill(pid, unix.SIGCONT); err != nil {
						t.Fatal(err)
					}
				}
				_ = f.in.Close()
				stuck := time.AfterFunc(testPatience, func() { _ = f.cmd.Process.Kill() }) // stopped for good
				defer stuck.Stop()
				if err := f.cmd.Wait(); err != nil || !strings.HasSuffix(f.out.all(), "came 0\n") {
					t.Errorf("%v: %q", err, f.out.all())
				}
			}
		})
	}
}
