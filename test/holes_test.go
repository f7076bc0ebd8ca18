package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestHoles: a program unmaps memory and maps it again at the same address, and jalon attaches in between. Memory of jalon is not in the
// hole: the program computes the right result, and its hits are counted.
func TestHoles(t *testing.T) {
	prog := compile(t, "gcc", "holes.c", "-g", "-O1")
	for _, args := range [][]string{
		{"record", "-o", filepath.Join(t.TempDir(), "run"), "handle", "-c", "n, $bt"},
		{"trace", "handle", "--count", "n"},
		{"trace", "handle%return", "--latency"},
	} {
		cmd := exec.Command(prog)
		in, feed, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdin = in
		x := startCmd(t, cmd)
		_ = in.Close()
		t.Cleanup(func() { _ = feed.Close() })
		waitFor(t, "the hole", func() bool { return strings.Contains(x.Out.String(), "hole") })
		j := start(t, jalonArgs(append([]string{args[0], "-v"}, append(args[1:], "-p", fmt.Sprint(x.Cmd.Process.Pid))...)...)...)
		waitFor(t, "jalon", func() bool { return strings.Contains(j.Errs.String(), "armed after") })
		if _, err := feed.WriteString("go\n"); err != nil {
			t.Fatal(err)
		}
		if r := x.wait(); r.status != 0 || !strings.HasSuffix(r.stdout, "sum 9900\n") {
			t.Errorf("%v: the program ended with status %d: %s", args, r.status, r.stdout)
		}
		if r := j.wait(); r.status != 0 || !strings.Contains(r.stderr, "   100  ") {
			t.Errorf("%v: status %d\n%s", args, r.status, r.stderr)
		}
	}
}

// waitFor waits for a condition.
func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not in time", what)
		}
	}
}
