package test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// freezer is a control group that can be frozen.
type freezer struct {
	root, file, freeze, thaw string
	frozen                   func(dir string) bool
}

var freezers = map[string]freezer{
	"version 1": {"/sys/fs/cgroup/freezer", "freezer.state", "FROZEN", "THAWED", func(dir string) bool {
		b, _ := os.ReadFile(filepath.Join(dir, "freezer.state"))
		return string(b) == "FROZEN\n"
	}},
	"version 2":       {"/sys/fs/cgroup/unified", "cgroup.freeze", "1", "0", frozen2},
	"version 2 alone": {"/sys/fs/cgroup", "cgroup.freeze", "1", "0", frozen2},
}

func frozen2(dir string) bool {
	b, _ := os.ReadFile(filepath.Join(dir, "cgroup.events"))
	return strings.Contains(string(b), "frozen 1")
}

// TestFrozen: jalon refuses to attach to a program that its control group has frozen, and says so; one that is frozen while it is
// traced, or while jalon leaves it, goes on when it is thawed.
func TestFrozen(t *testing.T) {
	some := false
	for name, f := range freezers {
		if _, err := os.Stat(filepath.Join(f.root, "cgroup.procs")); err != nil {
			continue // it is mounted elsewhere
		}
		dir, err := os.MkdirTemp(f.root, "jalon-test-")
		if err != nil {
			continue // not permitted
		}
		if _, err := os.Stat(filepath.Join(dir, f.file)); err != nil {
			_ = os.Remove(dir)
			continue
		}
		some = true
		t.Run(name, func(t *testing.T) { f.freezeAll(t, dir) })
	}
	if !some {
		t.Skip("no control group can be made that freezes")
	}
}

func (f *freezer) freezeAll(t *testing.T, dir string) {
	x := startTarget(t, 3, "-O2")
	set := func(file, to string) {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(to), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		set(f.file, f.thaw)
		x.Kill()
		eventually(t, "the group is removed", func() bool { return os.Remove(dir) == nil })
	})
	freeze := func() {
		set(f.file, f.freeze)
		eventually(t, "the program is frozen", func() bool { return f.frozen(dir) })
	}
	set("cgroup.procs", fmt.Sprint(x.Pid()))
	args := append(jalonArgs("trace", "-v", "-f", "none", "-p", fmt.Sprint(x.Pid())), tamePlaces...)

	freeze()
	r := start(t, args...).wait()
	if r.status == 0 || !strings.Contains(r.stderr, "has frozen it") {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
	set(f.file, f.thaw)
	x.goesOn("it was frozen at the attach")

	j := start(t, args...)
	j.AwaitErr("armed after")
	freeze()
	set(f.file, f.thaw)
	x.goesOn("it was frozen while it was traced")
	freeze()
	j.Signal(syscall.SIGTERM)
	set(f.file, f.thaw)
	j.wait()
	x.goesOn("it was frozen while jalon left it")
	x.finish("at the end")
}
