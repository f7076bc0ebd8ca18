package test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestLineWithoutCode: where the line of a place has no code, jalon says which one it traces. It traces no other
// function than the one that the line may be in.
func TestLineWithoutCode(t *testing.T) {
	prog := compile(t, "gcc", "noline.c", "-g", "-O0")
	const moved = "noline.c:8: line 8 has no code; traced at line 9, in first"
	r := trace(t, "noline.c:8", "-c", "a", "--", prog)
	if r.sum.Hits != 4 || strings.Count(r.stderr, moved) != 1 {
		t.Errorf("%d hits: %s", r.sum.Hits, r.stderr)
	}
	j := jalon(t, "trace", "-f", "json", "-n", "1", "noline.c:8", "--", prog)
	if !strings.Contains(j.stdout, `"place":"noline.c:8","line":9,"function":"first"`) {
		t.Errorf("JSON has no line: %s%s", j.stdout, j.stderr)
	}
	j = jalon(t, "trace", "-f", "json", "-n", "1", "noline.c:9", "--", prog)
	if !strings.Contains(j.stdout, `"place":"noline.c:9","function":"first"`) || strings.Contains(j.stderr, "no code") {
		t.Errorf("a line with code: %s%s", j.stdout, j.stderr)
	}
	// Two inlined copies are one function.
	r = trace(t, "noline.c:23", "-c", "b", "--", prog)
	if r.sum.Sites != 2 || r.sum.Hits != 8 || strings.Count(r.stderr, "noline.c:23: line 23 has no code; traced at line 24, in copied\n") != 1 {
		t.Errorf("%d sites, %d hits: %s", r.sum.Sites, r.sum.Hits, r.stderr)
	}
	// Another function is not traced.
	for _, args := range [][]string{
		{"trace", "noline.c:13", "--", prog},
		{"trace", "noline.c:12", "noline.c:9", "--", prog},
		{"trace", "--engine", "process", "uprobe:" + prog + "@noline.c:13", "--", prog},
		{"run", "-e", "uprobe:" + prog + "@noline.c:13 { exit(); }", "-c", prog},
		{"list", prog + "@noline.c:13"},
	} {
		j = jalon(t, args...)
		if j.status == 0 || !strings.Contains(j.stderr, "in another function: second, which begins at line 15; its place is second, or noline.c:17") {
			t.Errorf("%s: status %d: %s", strings.Join(args, " "), j.status, j.stderr)
		}
	}
	j = jalon(t, "list", prog+"@noline.c:8")
	if j.status != 0 || !strings.HasPrefix(j.stdout, "noline.c: line 8 has no code; traced at line 9, in first\nnoline.c:9 ") {
		t.Errorf("list: %s%s", j.stdout, j.stderr)
	}
	j = jalon(t, "list", prog+"@noline.c:9")
	if j.status != 0 || !strings.HasPrefix(j.stdout, "noline.c:9 ") || strings.Count(j.stdout, "\n") != 1 {
		t.Errorf("list: %s%s", j.stdout, j.stderr)
	}
	j = jalon(t, "run", "-e", "uprobe:"+prog+"@noline.c:8 { @ = count(); }", "-c", prog)
	if j.status != 0 || !strings.Contains(j.stderr, "line 8 has no code; traced at line 9, in first") || !strings.Contains(j.stdout, "@: 4") {
		t.Errorf("run: status %d: %s%s", j.status, j.stdout, j.stderr)
	}
	// What a recording says is the same.
	dir := filepath.Join(t.TempDir(), "rec")
	j = jalon(t, "record", "-o", dir, "noline.c:8", "--", prog)
	if !strings.Contains(j.stderr, moved) {
		t.Errorf("record: %s", j.stderr)
	}
	j = jalon(t, "report", dir, "-f", "json")
	if !strings.Contains(j.stdout, `"place":"noline.c:8","line":9`) {
		t.Errorf("report: %s%s", j.stdout, j.stderr)
	}
}

// TestLineOfHeading: the line where a function begins means that function, also if its body begins with a call that is inlined.
func TestLineOfHeading(t *testing.T) {
	prog := compile(t, "gcc", "inlinedfirst.c", "-g", "-O0")
	for _, place := range []string{"inlinedfirst.c:7", "inlinedfirst.c:8", "outer"} {
		r := jalon(t, "trace", place, "-c", "$args", "-f", "json", "--", prog)
		if !strings.Contains(r.stdout, `"function":"outer","values":{"$args":{"n":3}}`) {
			t.Errorf("%s: %s%s", place, r.stdout, r.stderr)
		}
	}
}
