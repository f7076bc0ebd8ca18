package test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestOverwrite: a flight recorder. Threads hit without pause, the oldest events are overwritten many times, and snapshots are
// taken meanwhile. Each event that is shown is one that happened, with all its values; a thread's are in order, and come once;
// the last one is there at the end; the numbers of those that were shown and of those that were overwritten add up to all.
func TestOverwrite(t *testing.T) {
	prog, file := compile(t, "gcc", "recorder.c", "-g", "-O2", "-pthread"), filepath.Join(t.TempDir(), "events")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(jalonBin, "trace", "--overwrite", "--buffer", "64k", "-f", "json", "-o", file, "--summary-json", "hit", "-c", "thread, n, mixed", "--", prog)
	cmd.Stdin = r
	j := startCmd(t, cmd)
	defer w.Close()
	_ = r.Close()
	j.AwaitOut("ready\n")
	const snapshots = 4
	for size := int64(0); ; {
		if st, err := os.Stat(file); err == nil && st.Size() > size {
			if size = st.Size(); size > snapshots*100000 {
				break
			}
		}
		j.Signal(syscall.SIGUSR1)
		time.Sleep(time.Millisecond)
	}
	_ = w.Close()
	res := j.wait()
	var calls [3]int64
	if _, err := fmt.Sscan(strings.TrimPrefix(res.stdout, "ready\n"), &calls[0], &calls[1], &calls[2]); err != nil || res.status != 0 {
		t.Fatalf("status %d, %v: %s%s", res.status, err, res.stdout, res.stderr)
	}
	events, s := readEvents(t, file), summaryOf(t, res)
	last, newest, gaps, late := [3]int64{}, false, 0, uint64(0)
	seen := map[[2]int64]bool{}
	for i := range events {
		thread, n := events[i].Num(t, "thread"), events[i].Num(t, "n")
		var mixed uint64
		if err := json.Unmarshal([]byte(events[i].Values["mixed"].(json.Number)), &mixed); err != nil {
			t.Fatal(err)
		}
		if thread < 0 || thread > 2 || n < 1 || seen[[2]int64{thread, n}] || n > calls[thread] || mixed != uint64(n*3+thread)*0x9e3779b97f4a7c15 {
			t.Fatalf("event %d: thread %d, n %d (before: %d; calls: %d), %#x", i, thread, n, last[thread], calls[thread], mixed)
		}
		seen[[2]int64{thread, n}] = true
		switch {
		case n < last[thread]: // of a thread that moved to a CPU whose ring was copied earlier for the snapshot before
			late++
		case n != last[thread]+1:
			gaps++
		}
		last[thread] = max(last[thread], n)
		newest = newest || n == calls[thread]
	}
	if all := uint64(calls[0] + calls[1] + calls[2]); s.Hits != all || s.Recorded+s.Replaced+s.Lost != all || uint64(len(events)) != s.Recorded || s.Torn != 0 {
		t.Errorf("%d calls, %d events: %+v", all, len(events), s)
	}
	if late > s.Late {
		t.Errorf("%d events after younger ones of their threads, %d are known to be late", late, s.Late)
	}
	if !newest || gaps == 0 || s.Replaced == 0 {
		t.Errorf("the last event is there: %t; %d times events were missing, %d are", newest, gaps, s.Replaced)
	}
	t.Logf("%d calls, %d events with %d gaps: %+v", calls, len(events), gaps, s)
}

// TestOverwriteExact is TestExactCounts with buffers that are overwritten: all kinds of threads, moved, interrupted and stepped.
func TestOverwriteExact(t *testing.T) {
	prog := compile(t, "gcc", "exact.c", "-g", "-O2", "-pthread")
	for _, tunables := range []string{"", "glibc.pthread.rseq=0"} {
		t.Setenv("GLIBC_TUNABLES", tunables)
		r := jalon(t, "trace", "--overwrite", "-f", "none", "--summary-json", "--buffer", "64k", "work if i % 64 == 0", "--", prog, "300000")
		var all, some uint64
		if _, err := fmt.Sscan(r.stdout, &all, &some); err != nil || r.status != 0 {
			t.Fatalf("%q: status %d, %v: %s%s", tunables, r.status, err, r.stdout, r.stderr)
		}
		s := summaryOf(t, r)
		if s.Hits != all || s.Recorded+s.Replaced+s.Lost != some || s.False != all-some || s.Replaced == 0 {
			t.Errorf("%q: %d calls, %d to be recorded: %+v", tunables, all, some, s)
		}
		t.Logf("%q: %d calls, %+v", tunables, all, s)
	}
}

// TestOverwriteRefused: what keeps no newest events is refused, before anything is started.
func TestOverwriteRefused(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--clock none", "need a clock"},
		{"--buffer 512M", "between 1 and 256M"},
		{"-n 5", "maximum number of events"},
	} {
		r := jalon(t, append(append([]string{"trace", "--overwrite"}, strings.Fields(c.args)...), "main", "--", "/bin/true")...)
		if r.status == 0 || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%s: status %d, %s", c.args, r.status, r.stderr)
		}
	}
}
