package test

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

var clockError = regexp.MustCompile(`times are up to (\S+ \S+) too early`)

// TestClocks: with --clock coarse a time is never too late, and too early by at most the amount in the
// summary; with none there is no time. A thread is never confused with an earlier one that had the same
// stack.
func TestClocks(t *testing.T) {
	prog := compile(t, "gcc", "clocks.c", "-g", "-O2", "-pthread")
	for _, clock := range []string{"tsc", "coarse", "none"} {
		file := t.TempDir() + "/events"
		r := jalon(t, "trace", "-f", "json", "-o", file, "--clock", clock, "work", "--collect", "ns, tid, n", "--", prog, "2000")
		m := clockError.FindStringSubmatch(r.stderr)
		if r.status != 0 || (m != nil) != (clock == "coarse") {
			t.Fatalf("%s: status %d, %s", clock, r.status, r.stderr)
		}
		early := 200 * time.Microsecond // of the conversion
		if m != nil {
			d, err := time.ParseDuration(strings.ReplaceAll(m[1], " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			early += d + d/50 // it has three digits
		}
		list := readEvents(t, file)
		if len(list) != 4*2*2000 {
			t.Errorf("%s: %d events: %s", clock, len(list), r.stderr)
		}
		unknown := 0
		for i := range list {
			e := &list[i]
			ns := e.Num(t, "ns")
			switch {
			case e.Tid == 0 && clock != "tsc":
				unknown++
			case int64(e.Tid) != e.Num(t, "tid"):
				t.Fatalf("%s: event %d of thread %d is shown as that of %d", clock, i, e.Num(t, "tid"), e.Tid)
			}
			if clock == "none" {
				if e.Time != 0 { // null
					t.Fatalf("event %d has the time %d", i, e.Time)
				}
			} else if e.Time < ns-early.Nanoseconds() {
				t.Fatalf("%s: event %d: time %d, hit after %d, %v allowed", clock, i, e.Time, ns, early)
			}
		}
		if unknown > len(list)/2 {
			t.Errorf("%s: the thread of %d of %d events is unknown", clock, unknown, len(list))
		}
		t.Logf("%s: up to %v early, %d of %d events of unknown threads", clock, early, unknown, len(list))
	}
}
