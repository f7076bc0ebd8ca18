package kernelguest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// namespaceVar makes the test binary behave like unshare --mount-proc, which the guests do not have.
const namespaceVar = "JALON_TEST_NAMESPACE"

// inNamespace mounts /proc in the new namespaces and executes the command.
func inNamespace(command []string) {
	_ = os.Unsetenv(namespaceVar)
	err := syscall.Mount("proc", "/proc", "proc", 0, "")
	if err == nil {
		err = syscall.Exec(command[0], command, os.Environ())
	}
	fmt.Fprintln(os.Stderr, "in the namespace:", err)
	os.Exit(1)
}

// In a PID namespace filters, words and records have the numbers of the namespace.
func TestGuest_Namespace(t *testing.T) {
	place := "uprobe:" + calls + ":work"
	for _, more := range [][]string{{"--engine=kernel"}, {"--all"}} {
		file := filepath.Join(t.TempDir(), "events") // the program writes to the output
		args := slices.Concat(options, []string{"-o", file, place, "-c", "$pid, n, $tid * 2"}, more, []string{"--", calls, "works", "5"})
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = append(os.Environ(), namespaceVar+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
		cmd.Stdin = strings.NewReader("...")
		o := ended(t, testkit.StartCmd(t, cmd))
		list := testkit.ReadEvents(t, file)
		if len(list) != 15 {
			t.Fatalf("%v: %d events, want 15\n%s", more, len(list), o.stderr)
		}
		for i := range list {
			h := &list[i]
			if h.Pid <= 1 || h.Pid > 50 || h.Tid != h.Pid || h.Num(t, "$tid * 2") != int64(2*h.Pid) {
				t.Errorf("%v: event %d is of process %d, thread %d: %v", more, i, h.Pid, h.Tid, h.Values)
			}
		}
	}
}
