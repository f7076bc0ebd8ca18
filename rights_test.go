package jalon_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/jalon-trace/jalon"
)

const withoutRights = "JALON_TEST_WITHOUT_RIGHTS"

// TestWithoutRights: without permissions, errors name what is missing. The test runs a copy of itself as
// the user "nobody".
func TestWithoutRights(t *testing.T) {
	if pid := os.Getenv(withoutRights); pid != "" {
		refused(t, pid)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root, to drop its rights")
	}
	dir, err := os.MkdirTemp("", "jalon-rights")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	copied := filepath.Join(dir, "test")
	b, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = errors.Join(os.WriteFile(copied, b, 0o755), os.Chmod(dir, 0o755))
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(copied, "-test.run", "^TestWithoutRights$", "-test.v")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), fmt.Sprint(withoutRights, "=", endless(t, "1000")), "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func refused(t *testing.T, process string) {
	pid, err := strconv.Atoi(process)
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func() (*jalon.Trace, error){
		"attach": func() (*jalon.Trace, error) {
			return jalon.Start(t.Context(), jalon.Attach(pid), one("work", ""))
		},
		"kernel": func() (*jalon.Trace, error) {
			return jalon.Start(t.Context(), jalon.System(), one("tracepoint:sched:sched_switch", ""))
		},
	} {
		_, err := f()
		var e *jalon.Error
		if !errors.As(err, &e) || !errors.Is(err, fs.ErrPermission) || e.Remedy == "" {
			t.Errorf("%s: %T %v", name, err, err)
		}
	}
}
