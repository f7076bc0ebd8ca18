package jalon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jalon-trace/jalon"
)

// held is what this process has: descriptors by what they lead to, goroutines, and jalon's memory.
func held(t *testing.T) string {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, e := range list {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			to, _, _ = strings.Cut(to, ":[")
			kinds[to]++
		}
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%v, %d goroutines, %d mappings of rings", kinds, runtime.NumGoroutine(), strings.Count(string(maps), "memfd:")+strings.Count(string(maps), "bpf-map"))
}

// TestSessions: 100 recordings in one process, of places in the program and of the kernel, with parts that are compressed, leave nothing: no
// descriptor (of files, memory, programs and maps of eBPF), no goroutine, no mapping.
func TestSessions(t *testing.T) {
	session := func(n int) {
		kernel := os.Geteuid() == 0 && n%4 == 0 // it takes most of the time
		dir := filepath.Join(t.TempDir(), "run")
		opt := one("work", "", "n, item->name, $bt")
		if kernel {
			more, err := jalon.Parse([]string{"tracepoint:sched:sched_process_exit"}, []string{"args->comm"})
			if err != nil {
				t.Fatal(err)
			}
			opt.Tracepoints = append(opt.Tracepoints, more...)
		}
		rec, err := jalon.Record(dir, jalon.RecordOptions{Size: 1 << 20, Compress: n%2 == 0, Live: jalon.JSON(&strings.Builder{}), Redact: []string{"/hell/"}})
		if err != nil {
			t.Fatal(err)
		}
		opt.Output = rec
		tr, err := jalon.Start(t.Context(), jalon.Command(program), opt)
		if err != nil {
			t.Fatal(err)
		}
		res, err := tr.Wait()
		if err != nil {
			t.Fatal(err)
		}
		if err := rec.Finish(res); err != nil {
			t.Fatal(err)
		}
		if err := tr.Close(); err != nil {
			t.Fatal(err)
		}
		want := uint64(10)
		if kernel {
			want++
		}
		if st := rec.Status(); st.Events != want {
			t.Fatalf("session %d: %+v, want %d events", n, st, want)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 3 { // what is made once
		session(n)
	}
	settled := func() (last string) {
		for range 200 {
			runtime.GC()
			if now := held(t); now == last {
				return now
			} else {
				last = now
			}
			time.Sleep(20 * time.Millisecond)
		}
		return last
	}
	before := settled()
	for n := range 100 {
		session(n)
	}
	after := settled()
	for end := time.Now().Add(time.Minute); after != before && time.Now().Before(end); { // the runtime ends threads and timers later
		after = settled()
	}
	if after != before {
		t.Errorf("before: %s\nafter 100 sessions: %s", before, after)
	}
}
