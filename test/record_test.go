package test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/ctf"
	"github.com/jalon-trace/jalon/internal/format"
)

const recordSource = `
#include <stdlib.h>
enum color { RED, GREEN = 5, BLUE };
struct pt { char tag; int x; double y; unsigned a : 3, b : 7; enum color c; char name[12]; int m[2][3]; union { int i; float f; } u; };
__attribute__((noinline)) int handle(int i, long j, const char *s, struct pt *p) {
	__asm__ volatile("" ::: "memory");
	return i + (int)j + (s ? s[0] : 0) + p->x;
}
__attribute__((noinline)) int other(int n) { __asm__ volatile("" ::: "memory"); return n; }
int main(int argc, char **argv) {
	int n = argc > 1 ? atoi(argv[1]) : 100;
	long sum = 0;
	struct pt p = { 't', 1, 2.5, 5, 100, BLUE, "hello", {{1, 2, 3}, {4, 5, 6}}, {7} };
	for (int i = 0; i < n; i++) {
		p.x = i;
		sum += handle(i, i * 2L, i % 3 ? "text" : (char *)0, &p);
		sum += other(i);
	}
	return sum == 42;
}
`

// recordProgram compiles the program of the tests of recordings.
func recordProgram(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	src, prog := filepath.Join(dir, "rec.c"), filepath.Join(dir, "rec")
	if err := os.WriteFile(src, []byte(recordSource), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := run(t, "gcc", "-g", "-O1", "-o", prog, src); r.status != 0 {
		t.Fatal(r.stderr)
	}
	return prog
}

// jsonEvents are lines of -f json without what differs between two runs.
func jsonEvents(t *testing.T, text string) (list []map[string]any) {
	t.Helper()
	for line := range strings.Lines(text) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		for _, k := range []string{"time", "cpu", "pid", "tid"} {
			delete(m, k)
		}
		list = append(list, m)
	}
	return list
}

// readRecording prints a recording as -f json does.
func readRecording(t *testing.T, dir string) (text string, tr *ctf.Trace) {
	t.Helper()
	tr, err := ctf.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tr.Close)
	var out bytes.Buffer
	sink := format.OutputNamed("json").New(&out, &format.Trace{Unwind: tr.Unwind, Elements: 200})
	it := tr.Events(ctf.Query{})
	for {
		ev, err := it.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = sink.Event(ev)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := sink.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.String(), tr
}

// babeltrace prints a recording; there must be no warning.
func babeltrace(t *testing.T, dir string) string {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command("babeltrace2", dir)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil || errs.Len() > 0 {
		t.Fatalf("babeltrace2: %v\n%s", err, errs.String())
	}
	return out.String()
}

// TestRecord: a recording has what jalon trace prints of the same program, value by value, with each place's own list. It reads the same
// in babeltrace2, and belongs to the user only.
func TestRecord(t *testing.T) {
	prog := recordProgram(t)
	dir := filepath.Join(t.TempDir(), "run1")
	const list = "i, j, s, *p, p->m, p->u, p->y, *(int *)i, 1 / i, p->m[0]@2, $comm"
	r := jalon(t, "record", "-o", dir, "handle", "-c", list, "other if (n % 2)", "-c", "n, $bt", "--", prog, "50")
	if r.status != 0 || !strings.Contains(r.stderr, "75 events") {
		t.Fatalf("%d: %s", r.status, r.stderr)
	}
	text, tr := readRecording(t, dir)
	got := jsonEvents(t, text)
	want := jsonEvents(t, jalon(t, "trace", "-q", "-f", "json", "handle", "-c", list, "--", prog, "50").stdout)
	var mine, others []map[string]any
	for _, m := range got {
		if m["function"] == "handle" {
			mine = append(mine, m)
		} else {
			others = append(others, m)
		}
	}
	if len(mine) != 50 || len(want) != 50 {
		t.Fatalf("%d events, want %d", len(mine), len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(mine[i], want[i]) {
			t.Fatalf("event %d is\n%v\nwant\n%v", i, mine[i], want[i])
		}
	}
	if len(others) != 25 {
		t.Fatalf("%d events of the second place", len(others))
	}
	for i, m := range others {
		values := m["values"].(map[string]any)
		bt := values["$bt"].([]any)
		if values["n"] != float64(2*i+1) || len(bt) < 2 || bt[0].(map[string]any)["function"] != "other" || bt[1].(map[string]any)["function"] != "main" {
			t.Fatalf("event %d: %v", i, m)
		}
	}
	printed := babeltrace(t, dir)
	if n := strings.Count(printed, " handle: {"); n != 50 {
		t.Errorf("babeltrace2 has %d events", n)
	}
	for i := range 50 {
		if !strings.Contains(printed, fmt.Sprintf("{ i = %d, j = %d, ", i, 2*i)) {
			t.Errorf("babeltrace2 has no event %d", i)
		}
	}
	if tr.Summary == nil || tr.Summary.Events != 75 || tr.Summary.Outcome == "" || tr.Lost() != 0 || len(tr.Damage) != 0 {
		t.Errorf("summary %+v, damage %q", tr.Summary, tr.Damage)
	}
	checkPrivate(t, dir)
}

// checkPrivate: only the user may read a trace.
func checkPrivate(t *testing.T, dir string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err == nil && st.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, st.Mode())
		}
		files++
		return err
	})
	if err != nil || files < 6 {
		t.Errorf("%d files: %v", files, err)
	}
}

// TestRecordRefuses: a trace goes to a new directory only, and a recording that cannot begin leaves none.
func TestRecordRefuses(t *testing.T) {
	prog := recordProgram(t)
	top := t.TempDir()
	link := filepath.Join(top, "link")
	if err := os.Symlink(filepath.Join(top, "elsewhere"), link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{top, prog, link} {
		if r := jalon(t, "record", "-o", dir, "handle", "--", prog); r.status != 2 || !strings.Contains(r.stderr, "is there already") {
			t.Errorf("%s: %d: %s", dir, r.status, r.stderr)
		}
	}
	none := filepath.Join(top, "none")
	if r := jalon(t, "record", "-o", none, "no_such_function", "--", prog); r.status != 2 {
		t.Errorf("%d: %s", r.status, r.stderr)
	}
	for _, dir := range []string{none, filepath.Join(top, "elsewhere")} {
		if _, err := os.Lstat(dir); !os.IsNotExist(err) {
			t.Errorf("%s is there: %v", dir, err)
		}
	}
}

// TestRecordParts: a trace of several parts is one trace for report, with each event once, and jalon keeps as many as asked.
func TestRecordParts(t *testing.T) {
	prog, dir := recordProgram(t), filepath.Join(t.TempDir(), "run")
	const n = 60000
	r := jalon(t, "record", "-o", dir, "--buffer", "64k", "--size", "256k", "handle", "-c", "i, j", "other", "-c", "n", "--", prog, fmt.Sprint(n))
	if r.status != 0 && r.status != 1 || strings.Contains(r.stderr, "printed") {
		t.Fatalf("status %d\n%s", r.status, r.stderr)
	}
	parts, err := filepath.Glob(filepath.Join(dir, "chunk-*"))
	if err != nil || len(parts) < 3 {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	text, tr := readRecording(t, dir)
	if got := uint64(strings.Count(text, "\n")); tr.Summary == nil || got != tr.Summary.Events || got+tr.Lost() != 2*n {
		t.Errorf("%d events and %d lost of %d; summary %+v", got, tr.Lost(), 2*n, tr.Summary)
	}
	if got := len(tr.Schemas()); got != 2 {
		t.Errorf("%d schemas", got)
	}
	if got := jalon(t, "report", dir, "--stat"); got.status != 0 || !strings.Contains(got.stdout, "handle") || !strings.Contains(got.stdout, "other") {
		t.Errorf("report --stat: %d\n%s%s", got.status, got.stdout, got.stderr)
	}
	if got := jalon(t, "report", dir, "-f", "json"); strings.Count(got.stdout, "\n") != strings.Count(text, "\n") {
		t.Errorf("report has %d events", strings.Count(got.stdout, "\n"))
	} else if strings.Contains(got.stderr, "are not in it") != (tr.Lost() > 0) {
		t.Errorf("%d hits were lost, jalon report says: %s", tr.Lost(), got.stderr)
	}
}

// TestRecordDiskFull: a full disk ends the recording; what is there can be read, and the summary counts that only.
func TestRecordDiskFull(t *testing.T) {
	prog, full := recordProgram(t), t.TempDir()
	if err := unix.Mount("none", full, "tmpfs", 0, "size=512k"); err != nil {
		t.Skipf("a small file system cannot be mounted: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(full, unix.MNT_DETACH) })
	dir := filepath.Join(full, "run")
	r := jalon(t, "record", "-o", dir, "handle", "-c", "i, j, *p", "--", prog, "40000")
	if r.status == 0 || !strings.Contains(r.stderr, "the disk is full") || !strings.Contains(r.stderr, "events were not written") {
		t.Errorf("status %d\n%s", r.status, r.stderr)
	}
	text, tr := readRecording(t, dir)
	got := uint64(strings.Count(text, "\n"))
	if got == 0 || got >= 40000 || len(tr.Damage) > 0 {
		t.Errorf("%d events, damage %v", got, tr.Damage)
	}
	if tr.Summary != nil && tr.Summary.Events != got {
		t.Errorf("%d events, the summary says %d", got, tr.Summary.Events)
	}
	if rep := jalon(t, "report", dir, "--hist", "i"); !strings.Contains(rep.stderr, "the disk is full") {
		t.Errorf("jalon report: %s", rep.stderr)
	}
}

// TestLostStream: a trace of which a file is gone is read, with a warning of what it had; a whole trace has no such warning, in both versions
// of CTF.
func TestLostStream(t *testing.T) {
	prog := recordProgram(t)
	for _, flags := range [][]string{{"--ctf", "2"}, {"--size", "1M", "--compress"}} {
		dir := filepath.Join(t.TempDir(), "run")
		if r := jalon(t, append(append([]string{"record", "-o", dir}, flags...), "handle", "-c", "i", "--", prog, "50")...); r.status != 0 {
			t.Fatalf("%d: %s", r.status, r.stderr)
		}
		const missing = "bytes of events that were recorded are not there"
		if r := jalon(t, "report", dir, "--stat"); r.status != 0 || strings.Contains(r.stderr, missing) {
			t.Fatalf("%q: %d: %s", flags, r.status, r.stderr)
		}
		metadata, err := os.ReadFile(filepath.Join(dir, "metadata"))
		if json := bytes.HasPrefix(metadata, []byte("\x1e{")); err == nil && json != (flags[0] == "--ctf") {
			t.Errorf("%q: the metadata are %.20q", flags, metadata)
		}
		var files []string
		for _, pattern := range []string{"process-*", "*/process-*", "*/jalon/process-*"} {
			list, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, list...)
		}
		if len(files) == 0 {
			t.Fatalf("%q: no streams", flags)
		}
		for _, f := range files {
			if err := os.Remove(f); err != nil {
				t.Fatal(err)
			}
		}
		if r := jalon(t, "report", dir, "--stat"); !strings.Contains(r.stderr, missing) {
			t.Errorf("%q: %d: %s", flags, r.status, r.stderr)
		}
	}
}

// TestRecordRefused: a recording that is refused leaves no directory, also if places that were armed before have had hits.
func TestRecordRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("places of the kernel need root")
	}
	dir := filepath.Join(t.TempDir(), "run")
	for range 2 {
		r := jalon(t, "record", "-o", dir, "no_such_function", "tracepoint:sched:sched_switch", "--", "/bin/sh", "-c", "")
		if r.status == 0 || !strings.Contains(r.stderr, "no_such_function") {
			t.Fatalf("status %d: %s", r.status, r.stderr)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Fatalf("the directory is there: %v", err)
		}
	}
}
