package hostile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/test/testkit"
)

// letGo checks that a process is neither traced nor stopped by a tracer.
func letGo(t *testing.T, target *testkit.Process) {
	t.Helper()
	testkit.Eventually(t, "the target to be let go", func() bool {
		s := target.StateOf()
		return !strings.Contains(s, " t ") && !strings.Contains(s, " t+")
	})
}

// TestExecWhileAttaching: a thread of many calls exec while jalon seizes the others. The
// exec waits until jalon has reaped those; jalon must not wait for the exec meanwhile.
func TestExecWhileAttaching(t *testing.T) {
	asRoot(t)
	prog := compile(t, "acts")
	rounds := 4
	if full {
		rounds = 100
	}
	for _, delay := range []string{"500", "1000", "1500"} { // microseconds, about the duration of a seize
		target := asNobody(t, prog, "execmany", delay).AwaitOut("ready")
		var traced, refused int
		// On a busy machine the exec can be over each time before jalon has found its way in.
		for began := time.Now(); traced+refused < rounds || traced == 0 && time.Since(began) < testkit.Patience; {
			p := testkit.Start(t, jalon, "trace", "-d", "50ms", "-p", fmt.Sprint(target.Pid()), "work", "-n", "1").Wait()
			testkit.NoPanic(t, p.Cmd.Args, p.Errs.String())
			switch p.Status {
			case 0:
				traced++
			case 1, 2: // it became another program at a bad moment
				refused++
			default:
				t.Errorf("status %d: %s", p.Status, p.Errs.String())
			}
			if strings.Contains(p.Errs.String(), "the kernel refuses") {
				t.Errorf("a wrong reason: %s", p.Errs.String())
			}
			letGo(t, target)
		}
		target.Kill()
		t.Logf("delay of %s µs: traced %d, refused %d", delay, traced, refused)
		if traced == 0 {
			t.Error("never traced")
		}
	}
}

// seizes reports whether a thread of a process is inside PTRACE_SEIZE.
func seizes(pid int) bool {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && strings.HasPrefix(string(b), "101 0x4206 ") {
			return true
		}
	}
	return false
}

// TestStuckExec: a thread is inside an exec that never completes, so the kernel blocks tracers. SIGTERM
// ends jalon at once; without it, jalon gives up after a time.
func TestStuckExec(t *testing.T) {
	asRoot(t)
	prog := compile(t, "acts")
	target := asNobody(t, prog, "stuckexec").AwaitOut("ready")
	testkit.Eventually(t, "the exec", func() bool { return strings.Contains(target.StateOf(), " D") })
	p := testkit.Start(t, jalon, "trace", "-p", fmt.Sprint(target.Pid()), "work")
	testkit.Eventually(t, "the attachment", func() bool { return seizes(p.Pid()) })
	before := time.Now()
	p.Signal(syscall.SIGTERM)
	p.Wait()
	t.Logf("ended %v after SIGTERM: %s", time.Since(before), p.Errs.String())
	if p.Status != 1 || !strings.Contains(p.Errs.String(), "inside execve") {
		t.Errorf("status %d: %s", p.Status, p.Errs.String())
	}
	if !full {
		return
	}
	for _, args := range [][]string{{"trace", "-p", fmt.Sprint(target.Pid()), "work"}, {"gdbserver", "--attach", ":0", fmt.Sprint(target.Pid())}} {
		p := testkit.Start(t, append([]string{jalon}, args...)...).Wait()
		if p.Status != 1 || !strings.Contains(p.Errs.String(), "inside execve") {
			t.Errorf("%v: status %d: %s", args, p.Status, p.Errs.String())
		}
	}
}
