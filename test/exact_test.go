package test

import (
	"fmt"
	"testing"

	"github.com/jalon-trace/jalon/internal/ring"
)

// TestExactCounts: threads with and without a struct rseq of their own (also vfork's children, clones that share
// their creator's thread pointer, and one whose thread-local data has no struct rseq) call a traced function
// while they are moved between CPUs, get SIGALRM 1000 times a second (a stop by the tracer each), end, and are single-stepped.
// Every call is counted or recorded once. JALON_FULL: a billion calls.
func TestExactCounts(t *testing.T) {
	rounds, times := "3000000", 1
	if full {
		rounds, times = "17000000", 5
	}
	prog := compile(t, "gcc", "exact.c", "-g", "-O2", "-pthread")
	for i := range 2 * times {
		tunables := []string{"", "glibc.pthread.rseq=0"}[i%2]
		t.Setenv("GLIBC_TUNABLES", tunables)
		r := jalon(t, "trace", "-f", "none", "--summary-json", "--buffer", "16M", "work if i % 64 == 0", "--", prog, rounds)
		var all, some uint64
		if _, err := fmt.Sscan(r.stdout, &all, &some); err != nil || r.status != 0 {
			t.Fatalf("%q: status %d, %v: %s%s", tunables, r.status, err, r.stdout, r.stderr)
		}
		s := summaryOf(t, r)
		if s.Hits != all || s.Recorded+s.Lost != some || s.False != all-some || s.Faults != 0 {
			t.Errorf("%q: %d calls, %d to be recorded: %+v", tunables, all, some, s)
		}
		t.Logf("%q: %d calls, %+v", tunables, all, s)
	}
}

// TestRecordedCPUs: the CPU of a record is one of the machine, whichever of the CPU's two rings it comes from.
func TestRecordedCPUs(t *testing.T) {
	cpus, err := ring.PossibleCPUs()
	if err != nil {
		t.Fatal(err)
	}
	prog := compile(t, "gcc", "exact.c", "-g", "-O2", "-pthread")
	r := trace(t, "work if i % 64 == 1", "--", prog, "1000")
	for i := range r.events {
		if cpu := r.events[i].CPU; cpu < 0 || cpu >= cpus {
			t.Fatalf("event %d is from CPU %d of %d", i, cpu, cpus)
		}
	}
	if len(r.events) < 6*1000/64 {
		t.Errorf("%d events", len(r.events))
	}
}
