package test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// taken is the reply of jalon snapshot --json.
type taken struct {
	Dir    string
	Part   string
	Jalon  int
	Pid    int
	Events int
	Flight bool
}

// TestSnapshotCommand: jalon snapshot finds running flight recorders by directory, name and numbers of processes, and says where the
// snapshot is and how many events it has; what cannot be meant is an error that says what runs.
func TestSnapshotCommand(t *testing.T) {
	prog := compile(t, "gcc", "recorder.c", "-g", "-O2", "-pthread")
	runtime := t.TempDir()
	if err := os.Chmod(runtime, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	if r := jalon(t, "snapshot", "gone"); r.status != 1 && r.status != 2 || !strings.Contains(r.stderr, "runs") { // others may run elsewhere
		t.Errorf("%d: %s", r.status, r.stderr)
	}
	record := func(name string, flags ...string) (dir string, x, j *running, end func()) {
		dir = filepath.Join(t.TempDir(), name)
		x, end = startRecorder(t, prog)
		j = start(t, jalonArgs(append([]string{"record", "-v", "-o", dir, "-p", fmt.Sprint(x.Pid()), "hit", "-c", "thread, n"}, flags...)...)...)
		j.AwaitErr("armed after")
		return dir, x, j, end
	}
	dir, x, j, end := record("snapone", "--flight", "64k")
	other, y, k, end2 := record("snaptwo", "--flight", "64k", "--compress")
	all, z, l, end3 := record("snapall")
	sockets := filepath.Join(runtime, "jalon", "record-*.sock")
	if list, err := filepath.Glob(sockets); err != nil || len(list) != 3 {
		t.Fatalf("%q, %v", list, err)
	} else if st, err := os.Stat(list[0]); err != nil || st.Mode().Perm() != 0o600 {
		t.Fatal(st.Mode(), err)
	}
	for _, name := range []string{dir, "snapone", fmt.Sprint(x.Pid()), fmt.Sprint(j.Pid())} {
		r := jalon(t, "snapshot", "--json", name)
		var a taken
		if err := json.Unmarshal([]byte(r.stdout), &a); r.status != 0 || err != nil {
			t.Fatalf("%s: %d, %v: %s%s", name, r.status, err, r.stdout, r.stderr)
		}
		_, n := hitsOf(t, a.Part)
		if n != a.Events || n == 0 || a.Dir != dir || filepath.Dir(a.Part) != dir || a.Jalon != j.Pid() || a.Pid != x.Pid() || !a.Flight {
			t.Errorf("%s: %+v, and %d events", name, a, n)
		}
	}
	r := jalon(t, "snapshot", "snaptwo")
	if part, rest, _ := strings.Cut(strings.TrimSpace(r.stdout), ": "); r.status != 0 || filepath.Dir(part) != other || !strings.Contains(rest, " events, ") {
		t.Errorf("%d: %s%s", r.status, r.stdout, r.stderr)
	}
	if r := jalon(t, "snapshot"); r.status != 2 || !strings.Contains(r.stderr, "several flight recorders run") || !strings.Contains(r.stderr, dir) || !strings.Contains(r.stderr, other) || strings.Contains(r.stderr, all) {
		t.Errorf("%d: %s", r.status, r.stderr)
	}
	if r := jalon(t, "snapshot", "snapall"); r.status != 2 || !strings.Contains(r.stderr, "no flight recorder") {
		t.Errorf("%d: %s", r.status, r.stderr)
	}
	if r := jalon(t, "snapshot", "nothing"); r.status != 2 || !strings.Contains(r.stderr, "no recording nothing runs") || !strings.Contains(r.stderr, all) {
		t.Errorf("%d: %s", r.status, r.stderr)
	}
	if r := jalon(t, "snapshot", "--list"); r.status != 0 || !strings.Contains(r.stdout, dir) || !strings.Contains(r.stdout, all) || !strings.Contains(r.stdout, "flight") {
		t.Errorf("%d: %s%s", r.status, r.stdout, r.stderr)
	}
	if r := jalon(t, "complete", "bash", "jalon snapshot snap"); !strings.Contains(r.stdout, "snapone") || !strings.Contains(r.stdout, "snaptwo") {
		t.Errorf("completion: %s%s", r.stdout, r.stderr)
	}
	k.Kill()
	k.wait()
	end2()
	y.wait()
	if r := jalon(t, "snapshot", "--list"); r.status != 0 || strings.Contains(r.stdout, other) {
		t.Errorf("%d: %s%s", r.status, r.stdout, r.stderr)
	}
	end()
	end3()
	x.wait()
	z.wait()
	for _, jalon := range []*running{j, l} {
		if r := jalon.wait(); r.status != 0 {
			t.Errorf("%d: %s", r.status, r.stderr)
		}
	}
	if list, err := filepath.Glob(sockets); err != nil || len(list) != 0 {
		t.Errorf("left behind: %q, %v", list, err)
	}
}
