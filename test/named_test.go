package test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
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

// The first thread of a program without ld.so sets its thread pointer when jalon has armed already. Its events have
// its number, also those that are shown before it is stopped for any other reason.
func TestFirstThreadOfStatic(t *testing.T) {
	prog := compile(t, "gcc", "named.c", "-g", "-O2", "-pthread", "-static")
	p := testkit.StartTold(t, exec.Command(jalonBin, "trace", "-q", "-f", "json", "work", "--", prog, "1", "wait"))
	p.AwaitOut("}\n") // the program waits
	p.Send("")
	if r := p.Wait(); r.Status != 0 {
		t.Fatalf("status %d: %s", r.Status, r.Errs.String())
	}
	events := testkit.ParseEvents(t, strings.NewReader(p.Out.String()))
	if len(events) != 1 || events[0].Tid == 0 || events[0].Tid != events[0].Pid {
		t.Errorf("tid is not pid: %+v", events)
	}
}

// Threads with the same thread pointer cannot be told apart: their events have no number rather than one of the other's.
func TestSharedThreadPointer(t *testing.T) {
	prog := compile(t, "gcc", "sharing.c", "-g", "-O2")
	r := trace(t, "work", "-c", "part, tid, $tid", "--", prog)
	if len(r.events) != 4 {
		t.Fatalf("%d events, want 4", len(r.events))
	}
	for i := range r.events {
		e := &r.events[i]
		tid := int(e.Num(t, "tid"))
		if e.Num(t, "part") == 1 { // SHARED
			if e.Tid != 0 || e.Str("$tid") != "<unknown thread>" {
				t.Errorf("event %d of thread %d: tid %d, $tid %v", i, tid, e.Tid, e.Values["$tid"])
			}
		} else if e.Tid != tid || e.Num(t, "$tid") != int64(tid) {
			t.Errorf("event %d of thread %d: tid %d, $tid %v", i, tid, e.Tid, e.Values["$tid"])
		}
	}
}
