package statedump

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/test/testkit"
)

// resting starts processes that do nothing until the test ends.
func resting(t testing.TB, n int) (pids []int) {
	t.Helper()
	return restingWith(t, n, "sleep", "1000000")
}

func restingWith(t testing.TB, n int, args ...string) (pids []int) {
	t.Helper()
	for range n {
		cmd := exec.Command(args[0], args[1:]...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		pids = append(pids, cmd.Process.Pid)
	}
	for _, pid := range pids { // its libraries are loaded
		testkit.Eventually(t, "the program waits", func() bool {
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", pid))
			return err != nil || strings.HasPrefix(string(b), fmt.Sprint(unix.SYS_CLOCK_NANOSLEEP)+" ")
		})
	}
	return pids
}
