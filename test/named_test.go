package test

import (
	"fmt"
	"testing"
)

// A thread that sets its name and ends at once has that name in its events, in the header and as $comm.
func TestNamesOfShortThreads(t *testing.T) {
	const n = 200
	prog := compile(t, "gcc", "named.c", "-g", "-O2", "-pthread")
	r := trace(t, "work", "-c", "id, $comm", "--", prog, fmt.Sprint(n))
	if len(r.events) != n {
		t.Fatalf("%d events, want %d", len(r.events), n)
	}
	for i := range r.events {
		e := &r.events[i]
		want := fmt.Sprintf("worker%d", e.Num(t, "id"))
		if e.Comm != want || e.Str("$comm") != want {
			t.Errorf("comm %q, $comm %q, want %q", e.Comm, e.Str("$comm"), want)
		}
	}
}
