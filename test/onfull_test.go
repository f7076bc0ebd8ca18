package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// startRecorder starts recorder.c, which runs until end is called.
func startRecorder(t *testing.T, prog string) (x *running, end func()) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(prog)
	cmd.Stdin = r
	x = startCmd(t, cmd)
	_ = r.Close()
	t.Cleanup(func() { _ = w.Close() })
	x.AwaitOut("ready\n")
	return x, func() { _ = w.Close() }
}

// TestWaitsForRoom: with --on-full wait, threads that make events faster than they are read lose none, with sequences and without.
// babeltrace2 has all of them.
func TestWaitsForRoom(t *testing.T) {
	prog := compile(t, "gcc", "recorder.c", "-g", "-O2", "-pthread")
	for _, tunables := range []string{"", "glibc.pthread.rseq=0"} {
		t.Setenv("GLIBC_TUNABLES", tunables)
		dir := filepath.Join(t.TempDir(), "run")
		x, end := startRecorder(t, prog)
		j := start(t, jalonArgs("record", "-v", "-o", dir, "--on-full", "wait:1h", "--buffer", "16k", "--summary-json", "-p", fmt.Sprint(x.Pid()), "hit", "-c", "thread, n")...)
		j.AwaitErr("armed after")
		eventually(t, "the recording has 2 MB", func() bool { return bytesOf(t, dir) > 2<<20 })
		end()
		var calls [3]uint64
		if _, err := fmt.Sscan(strings.TrimPrefix(x.wait().stdout, "ready\n"), &calls[0], &calls[1], &calls[2]); err != nil {
			t.Fatal(err)
		}
		r := j.wait()
		s := summaryOf(t, r)
		if r.status != 0 || s.Lost != 0 || s.Recorded != s.Hits || s.Waits == 0 {
			t.Fatalf("%q: status %d, %+v: %s", tunables, r.status, s, r.stderr)
		}
		var got, last [3]uint64
		for line := range strings.Lines(babeltrace(t, dir)) {
			var thread, n uint64
			_, values, ok := strings.Cut(line, "}, { thread = ")
			if !ok {
				continue // of the state
			}
			if _, err := fmt.Sscanf(values, "%d, n = %d", &thread, &n); err != nil || thread > 2 {
				t.Fatalf("%v: %s", err, line)
			}
			if got[thread]++; last[thread] != 0 && n != last[thread]+1 {
				t.Fatalf("%q: thread %d has %d behind %d", tunables, thread, n, last[thread])
			}
			last[thread] = n
		}
		if last != calls || got[0]+got[1]+got[2] != s.Recorded {
			t.Errorf("%q: calls %d, last events %d, %d events of %d", tunables, calls, last, got, s.Recorded)
		}
	}
}

// bytesOf is the size of the files in a directory.
func bytesOf(t *testing.T, dir string) (n int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if st, err := os.Stat(f); err == nil && st.Mode().IsRegular() {
			n += st.Size()
		}
	}
	return n
}

// TestWaitEnds: a hit in a handler of a signal can wait for room behind an event that it interrupts itself: it gives up after the
// user's time, and is counted. All kinds of threads, moved, interrupted and stepped, lose none that is not counted.
func TestWaitEnds(t *testing.T) {
	prog := compile(t, "gcc", "exact.c", "-g", "-O2", "-pthread", "-DSTEPPED=24") // a thread that is stepped waits in many stops
	for _, tunables := range []string{"", "glibc.pthread.rseq=0"} {
		t.Setenv("GLIBC_TUNABLES", tunables)
		r := jalon(t, "record", "-o", filepath.Join(t.TempDir(), "run"), "--on-full", "wait:50ms", "--buffer", "64k", "--summary-json", "work if i % 8 == 0", "-c", "i", "--", prog, "20000")
		var all, some uint64
		if _, err := fmt.Sscan(r.stdout, &all, &some); err != nil || r.status != 0 {
			t.Fatalf("%q: status %d, %v: %s%s", tunables, r.status, err, r.stdout, r.stderr)
		}
		if s := summaryOf(t, r); s.Hits != all || s.Recorded+s.Lost+s.False != all || s.Recorded == 0 {
			t.Errorf("%q: %d calls: %+v", tunables, all, s)
		}
	}
}

// TestWaitForTheDead: no hit waits for a jalon that is dead, whatever time the user allows.
func TestWaitForTheDead(t *testing.T) {
	prog := compile(t, "gcc", "recorder.c", "-g", "-O2", "-pthread")
	for range 5 {
		dir := filepath.Join(t.TempDir(), "run")
		x, end := startRecorder(t, prog)
		j := start(t, jalonArgs("record", "-v", "-o", dir, "--on-full", "wait:1h", "--buffer", "4k", "-p", fmt.Sprint(x.Pid()), "hit", "-c", "thread, n")...)
		j.AwaitErr("armed after")
		eventually(t, "something is recorded", func() bool { return bytesOf(t, dir) > 64<<10 })
		j.Kill()
		end()
		if r := x.wait(); r.status != 0 {
			t.Fatalf("status %d", r.status)
		}
		repaired(t, dir)
	}
}

// TestOnFullRefused: what --on-full cannot be.
func TestOnFullRefused(t *testing.T) {
	for args, want := range map[string]string{
		"--on-full=block":               "it is drop, overwrite, wait, or wait:TIME",
		"--on-full=wait:x":              "it is drop, overwrite, wait, or wait:TIME",
		"--on-full=wait:2h":             "50ms to 1h",
		"--on-full=wait --clock=coarse": "only with the clock tsc",
		"--on-full=wait --overwrite":    "no hit waits",
		"--on-full=drop:1s":             "it is drop, overwrite, wait, or wait:TIME",
	} {
		r := jalon(t, append(append([]string{"trace"}, strings.Fields(args)...), "main", "--", "/bin/true")...)
		if r.status == 0 || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: status %d: %s", args, r.status, r.stderr)
		}
	}
}
