package test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/ctf"
)

// TestSoak: a recording at full rate with rotation keeps its number of parts, descriptors and memory; no event is lost: each thread's calls
// are there once, without gaps, from the begin of the first part that is kept to the last one. JALON_SOAK=10m: for that time (make soak).
func TestSoak(t *testing.T) {
	least := time.Duration(0)
	if text := os.Getenv("JALON_SOAK"); text != "" {
		var err error
		if least, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	const keep, size = 4, 4 << 20
	prog := compile(t, "gcc", "recorder.c", "-g", "-O2", "-pthread")
	dir := filepath.Join(t.TempDir(), "run")
	x, end := startRecorder(t, prog)
	j := start(t, jalonArgs("record", "-v", "-o", dir, "--on-full", "wait:1h", "--size", fmt.Sprint(size), "--keep", fmt.Sprint(keep), "--compress", "-p", fmt.Sprint(x.Pid()), "hit", "-c", "thread, n")...)
	j.AwaitErr("armed after")
	began, checked := time.Now(), 0
	last := func() int {
		list := parts(t, dir)
		if len(list) == 0 {
			return -1
		}
		n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(list[len(list)-1]), "chunk-"))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for checked < 3*keep || time.Since(began) < least {
		want := checked + 1
		eventually(t, "another part has begun", func() bool { return last() >= want })
		checked = last()
		if n := len(parts(t, dir)); n > keep+1 { // one is removed when the next begins
			t.Fatalf("%d parts", n)
		}
		if fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", j.Pid())); err != nil || len(fds) > 100 {
			t.Fatalf("%d descriptors, %v", len(fds), err)
		}
		if kb := residentKB(t, j.Pid()); kb > 512<<10 {
			t.Fatalf("jalon has %d kB after %d parts", kb, checked)
		}
	}
	end()
	var calls [3]uint64
	if _, err := fmt.Sscan(strings.TrimPrefix(x.wait().stdout, "ready\n"), &calls[0], &calls[1], &calls[2]); err != nil {
		t.Fatal(err)
	}
	if r := j.wait(); r.status != 0 {
		t.Fatalf("%d: %s", r.status, r.stderr)
	}
	if n := len(parts(t, dir)); n > keep {
		t.Errorf("%d parts", n)
	}
	tr, err := ctf.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	var seen, first [3]uint64
	var have [3]map[uint64]bool
	for i := range have {
		have[i], first[i] = map[uint64]bool{}, calls[i]
	}
	events, cut := 0, beganAt(t, parts(t, dir)[0], x.Pid())
	it := tr.Events(ctf.Query{})
	for {
		ev, err := it.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		thread, n := word(ev.Value(0).Data), word(ev.Value(1).Data)
		if thread > 2 || have[thread][n] {
			t.Fatalf("thread %d has call %d twice", thread, n)
		}
		have[thread][n] = true
		seen[thread] = max(seen[thread], n)
		if ev.TimeNS > cut { // older ones can be in a part that was removed
			first[thread] = min(first[thread], n)
		}
		events++
	}
	for thread := range have {
		for n := first[thread]; n < seen[thread]; n++ {
			if !have[thread][n] {
				t.Fatalf("thread %d has no call %d between %d and %d", thread, n, first[thread], seen[thread])
			}
		}
	}
	if seen != calls || tr.Lost() > 0 || len(tr.Damage)+len(it.Damage()) > 0 {
		t.Errorf("the last calls are %d, want %d; %d lost; damage %q %q", seen, calls, tr.Lost(), tr.Damage, it.Damage())
	}
	t.Logf("%v, %d parts, %d calls, %d events in the parts that are kept", time.Since(began).Round(time.Second), checked, calls[0]+calls[1]+calls[2], events)
}

// beganAt is when a part began: the names of the threads are written again then.
func beganAt(t *testing.T, part string, pid int) int64 {
	t.Helper()
	tr, err := ctf.Open(part)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	began := int64(0)
	for _, names := range tr.State.Threads() {
		for _, x := range names {
			if x.Pid == pid && (began == 0 || x.Since < began) {
				began = x.Since
			}
		}
	}
	if began == 0 {
		t.Fatalf("%s has no thread of %d", part, pid)
	}
	return began
}

// residentKB is the memory of a process.
func residentKB(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "VmRSS:")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// word is a number of eight bytes.
func word(b []byte) (n uint64) {
	for i := min(len(b), 8) - 1; i >= 0; i-- {
		n = n<<8 | uint64(b[i])
	}
	return n
}
