package test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReportOfAPart: one part of a recording is a trace of its own. It is complete if the recording has ended in order, or if the next
// part has begun.
func TestReportOfAPart(t *testing.T) {
	prog := recordProgram(t)
	dir := filepath.Join(t.TempDir(), "run")
	if r := jalon(t, "record", "-q", "-o", dir, "--size", "4k", "--buffer", "4k", "--on-full", "wait:1h", "handle", "-c", "i, s, *p", "--", prog, "30000"); r.status != 0 {
		t.Fatalf("%d: %s", r.status, r.stderr)
	}
	list := parts(t, dir)
	if len(list) < 3 {
		t.Fatalf("%d parts", len(list))
	}
	ending := func(dir, want string) {
		t.Helper()
		r := jalon(t, "report", dir, "-f", "csv")
		if r.status != 0 || want == "" && r.stderr != "" || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: status %d, not %q: %s", dir, r.status, want, r.stderr)
		}
	}
	const notEnded, onePart = "was not ended in order", "the end of the part may be missing"
	last := list[len(list)-1]
	for _, p := range []string{list[0], list[1], last} {
		ending(p, "")
	}
	both := filepath.Join(t.TempDir(), "both")
	if r := jalon(t, "merge", list[0], list[1], "-o", both); r.status != 0 {
		t.Fatalf("%d: %s", r.status, r.stderr)
	}
	ending(both, "")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(last, link); err != nil {
		t.Fatal(err)
	}
	ending(link, "")
	for _, name := range []string{"copy", "chunk-000000"} {
		alone := filepath.Join(t.TempDir(), name)
		if err := os.CopyFS(alone, os.DirFS(last)); err != nil {
			t.Fatal(err)
		}
		ending(alone, onePart)
	}
	if err := os.Remove(filepath.Join(dir, "jalon", "summary.json")); err != nil {
		t.Fatal(err)
	}
	ending(list[0], "")
	ending(last, notEnded)
	ending(dir, notEnded)
}
