package kernel

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestCriticalPath: the critical path of a program with known waits has their causes and durations: a timer, the thread that holds a mutex
// and computes, the child that sleeps before it writes to a pipe.
func TestCriticalPath(t *testing.T) {
	prog := compile(t, "gcc", "waits.c", "-g", "-O1", "-Wall", "-pthread")
	dir := filepath.Join(t.TempDir(), "run")
	args := []string{"record", "-a", "-o", dir, "--buffer", "32M"}
	for _, place := range []string{"sched:sched_switch", "sched:sched_waking", "timer:hrtimer_expire_entry", "timer:hrtimer_expire_exit", "irq:irq_handler_entry", "irq:irq_handler_exit"} {
		args = append(args, "tracepoint:"+place)
	}
	rec := jalon(t, append(args, "syscall:read", "syscall:read:exit", "--", prog)...)
	if rec.Status != 0 {
		t.Fatalf("status %d: %s", rec.Status, rec.Errs.String())
	}
	var first, holder, child int
	if _, err := fmt.Sscan(rec.Out.String(), &first, &holder, &child); err != nil {
		t.Fatalf("%v: %q", err, rec.Out.String())
	}
	show := jalon(t, "report", dir, "--critical-path", fmt.Sprint(first), "-f", "json")
	var got struct {
		From, To int64
		Segments []struct {
			From, NS              int64
			Tid, Depth            int
			Comm, What, Why, Text string
		}
		Waits []struct {
			What, For string
			NS        int64
		}
	}
	if err := json.Unmarshal([]byte(show.Out.String()), &got); err != nil {
		t.Fatalf("%v: %s %s", err, show.Out.String(), show.Errs.String())
	}
	at := got.From
	var computed, slept time.Duration
	for _, s := range got.Segments {
		if s.From != at {
			t.Fatalf("a part begins at %d, not at %d", s.From, at)
		}
		at += s.NS
		switch {
		case s.Tid == holder && s.Depth == 1 && s.What == "runs":
			computed += time.Duration(s.NS)
		case s.Tid == child && s.Depth == 1 && s.What == "blocked" && strings.Contains(s.Why, "hrtimer"):
			slept += time.Duration(s.NS)
		}
	}
	if at != got.To {
		t.Errorf("the path ends at %d, not at %d", at, got.To)
	}
	text := jalon(t, "report", dir, "--critical-path", fmt.Sprint(first)).Out.String()
	for _, m := range regexp.MustCompile(`after \S+:(\d+) \(the switch is not in the trace\)`).FindAllStringSubmatch(text, -1) {
		// jalon's own threads are in it. The kernels of some machines run no program for switches away from threads of the
		// process that started the machine; bpftrace sees none either.
		if _, err := os.Stat("/proc/1/task/" + m[1]); err != nil {
			t.Errorf("switches are missing: %s\n%s%s", m[0], text, rec.Errs.String())
		}
	}
	const computes, sleeps, naps = 100 * time.Millisecond, 80 * time.Millisecond, 100 * time.Millisecond
	if computed < computes*95/100 { // between two clocks, and without interrupts
		t.Errorf("the holder of the mutex computes for %v of the path\n%s%s", computed, text, rec.Errs.String())
	}
	if slept < sleeps*95/100 { // the timer is set before the thread is switched away
		t.Errorf("the child sleeps for %v of the path\n%s", slept, text)
	}
	wait := func(parts ...string) (sum time.Duration) {
		for _, w := range got.Waits {
			has := w.What == "blocked"
			for _, p := range parts {
				has = has && strings.Contains(w.For, p)
			}
			if has {
				sum += time.Duration(w.NS)
			}
		}
		return sum
	}
	if d := wait("hrtimer"); d < naps*95/100 {
		t.Errorf("the program sleeps for %v\n%s", d, text)
	}
	if d := wait("woken by", fmt.Sprintf(":%d", holder)); d < computes*95/100 {
		t.Errorf("the program waits for the mutex for %v\n%s", d, text)
	}
	if d := wait("in read", fmt.Sprintf(":%d", child)); d < sleeps*95/100 {
		t.Errorf("the program waits in read for %v\n%s", d, text)
	}
	if !strings.Contains(text, "holder:"+fmt.Sprint(holder)) || strings.Contains(text, "has no interrupts") {
		t.Errorf("the text is\n%s", text)
	}
}
