package hostile

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/test/testkit"
)

// endLimit is how long jalon may take to end after a signal. On a quiet machine it takes well below a
// second; tests run beside others.
const endLimit = testkit.Patience

// TestTerminated: SIGTERM ends jalon at any instant, also while it resolves and arms
// thousands of sites; a second one is harmless or forces the end. The program is never
// left stopped or traced.
func TestTerminated(t *testing.T) {
	asRoot(t)
	testkit.Need(t, "python3")
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	rounds := 6
	if full {
		rounds = 200
	}
	var slowest time.Duration
	for i := range rounds {
		target := testkit.StartCmd(t, exec.Command(python, "-c", "print('ready', flush=True)\nwhile True: sum(range(100))"))
		target.AwaitOut("ready")
		pid := target.Pid()
		p := testkit.Start(t, jalon, "trace", "-p", fmt.Sprint(pid), "*", "-c", "$args", "-f", "none")
		// An instant of the whole life of the trace, from its first moment on.
		time.Sleep(rand.N(time.Duration(1<<(2*(i%6))) * time.Millisecond))
		sent := time.Now()
		p.Signal(syscall.SIGTERM)
		if i%3 == 2 {
			p.Signal(syscall.SIGTERM)
		}
		select {
		case <-p.Ended:
		case <-time.After(endLimit):
			t.Fatalf("round %d: jalon has not ended %v after SIGTERM\n%s\n%s", i, endLimit, p.StateOf(), p.Errs.String())
		}
		slowest = max(slowest, time.Since(sent))
		testkit.NoPanic(t, p.Cmd.Args, p.Errs.String())
		if strings.Contains(p.Errs.String(), "has changed the code") { // what was not written yet differs, too
			t.Errorf("round %d: %s", i, p.Errs.String())
		}
		testkit.Eventually(t, "the program runs on, untraced", func() bool {
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			text := string(b)
			return err == nil && strings.Contains(text, "TracerPid:\t0\n") && !strings.Contains(text, "State:\tt") && !strings.Contains(text, "State:\tT")
		})
		select {
		case <-target.Ended:
			t.Fatalf("round %d: the program ended with status %d", i, target.Status)
		default:
		}
		target.Kill()
	}
	t.Logf("%d rounds, %v after the signal at most", rounds, slowest)
}
