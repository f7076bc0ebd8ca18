package kernel

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctf"
	"github.com/jalon-trace/jalon/test/testkit"
)

// TestCompleteFrom: as in package test, of system calls and uprobes, and of both engines in one recorder.
func TestCompleteFrom(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", runtimeDir(t))
	prog := compile(t, "gcc", "../programs/migrates.c", "-g", "-O1", "-pthread")
	for _, c := range []struct {
		name   string
		places []string
		fields map[string][2]string // by place
	}{
		{"syscall", []string{"syscall:getpriority", "-c", "which, who"}, map[string][2]string{"syscall:getpriority": {"which", "who"}}},
		{"uprobe", []string{"--engine", "kernel", "work", "-c", "thread, i"}, map[string][2]string{"work": {"thread", "i"}}},
		{"mixed", []string{"work", "-c", "thread, i", "syscall:getpriority", "-c", "which, who"}, map[string][2]string{"work": {"thread", "i"}, "syscall:getpriority": {"which", "who"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			j := start(t, append(append([]string{jalonBin, "record", "-v", "-o", dir, "--flight", "64k"}, c.places...), "--", prog, "calls")...)
			j.AwaitOut("ready 0 of ")
			for i, n := range []string{"2000 2000", "60000 10", "10 10", "20 60000", "10 10"} {
				j.Send(n)
				j.AwaitOut(fmt.Sprintf("ready %d\n", i+1))
				if i == 2 {
					snapshot(t, dir)
					checkComplete(t, dir, 0, c.fields, [2]int64{62009, 2019}, !strings.Contains(j.Out.String(), "ready 0 of 1\n"))
				}
			}
			j.Send("end")
			j.Wait()
			checkComplete(t, dir, 1, c.fields, [2]int64{62039, 62029}, true)
		})
	}
}

// checkComplete: a part says from when on there are all events of all its places, and some: older ones have gaps (with one CPU that is
// not certain in the first part).
func checkComplete(t *testing.T, dir string, part int, fields map[string][2]string, newest [2]int64, some bool) {
	t.Helper()
	var info ctf.FileInfo
	b, err := os.ReadFile(filepath.Join(partsOf(t, dir)[part], "jalon", "info.json"))
	if err == nil {
		err = json.Unmarshal(b, &info)
	}
	if err != nil || info.CompleteFrom == 0 || !info.Gaps {
		t.Fatalf("%v: %+v", err, info)
	}
	gaps := 0
	for place, f := range fields {
		before, after, last := testkit.Gaps(t, reported(t, dir, place), f[0], f[1], info.CompleteFrom)
		if after != 0 || last[0] != newest[0] || last[1] != newest[1] {
			t.Errorf("part %d, %s: %d gaps before %d and %d behind it, the last are %v", part, place, before, info.CompleteFrom, after, last)
		}
		gaps += before
	}
	if some && gaps == 0 {
		t.Errorf("part %d: no event is missing before %d", part, info.CompleteFrom)
	}
	if p := jalon(t, "report", dir); some && (!strings.Contains(p.Errs.String(), "all events are there from") || !strings.Contains(p.Out.String(), " --- all events")) {
		t.Errorf("part %d: %s", part, p.Errs.String())
	}
}
