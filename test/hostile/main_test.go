// Package hostile traces programs of another user that attack the tracer: root's files,
// jalon itself and its output must survive. It runs as root against user nobody.
package hostile

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/test/testkit"
)

var (
	jalon string
	dir   string // readable for user nobody
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if dir, err = os.MkdirTemp("", "jalon-hostile"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	jalon = filepath.Join(dir, "jalon")
	build := exec.Command("go", "build", "-o", jalon, "../../cmd/jalon")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		return 1
	}
	return m.Run()
}

const nobody = 65534

// asRoot fails a test that runs without the rights that it is about.
func asRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root: it is about what root's tracer does to other users' programs")
	}
}

// compile builds a program of testdata for user nobody.
func compile(t *testing.T, name string, flags ...string) string {
	t.Helper()
	testkit.Need(t, "gcc")
	out := filepath.Join(dir, name)
	args := append([]string{"-O1", "-g", "-Wall", "-Wextra", "-pthread", "-o", out, filepath.Join("testdata", name+".c")}, flags...)
	if msg, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc %s: %v\n%s", name, err, msg)
	}
	return out
}

// asNobody starts a program as the user "nobody"; when it ends, its children are killed.
func asNobody(t *testing.T, args ...string) *testkit.Process {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return testkit.StartCmd(t, cmd)
}

func execOutput(args ...string) (string, error) {
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	return string(out), err
}

// monotonic is CLOCK_MONOTONIC in nanoseconds.
func monotonic(t *testing.T) int64 {
	t.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		t.Fatal(err)
	}
	return ts.Nano()
}
