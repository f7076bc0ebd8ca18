package test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestArmingStops: how often a program with busy threads is stopped for one tracepoint, and for how many
// switches to jalon, does not grow. (How long it takes depends on the machine: `make bench`.)
func TestArmingStops(t *testing.T) {
	x := startTarget(t, 4, "-O2")
	r := start(t, append(jalonArgs("trace", "-v", "-f", "none", "-d", "1ms", "-p", fmt.Sprint(x.Pid())), "leaf if (a == 4)")...)
	res := r.wait()
	if res.status != 0 {
		t.Fatalf("status %d: %s", res.status, tail(res.stderr))
	}
	all := regexp.MustCompile(`stopped for \S+ \((\d+) stops so far, (\d+) system calls run in (\d+) turns\)`).FindAllStringSubmatch(res.stderr, -1)
	if all == nil {
		t.Fatalf("no stops: %s", res.stderr)
	}
	number := func(i, k int) int { n, _ := strconv.Atoi(all[i][k]); return n }
	for i := range all {
		t.Logf("stop %d: %d system calls in %d turns so far", number(i, 1), number(i, 2), number(i, 3))
	}
	// The first for the shared memory, the second for the jump, the third for taking it back. A thread may be in
	// the hit program then.
	armed, inFirst := number(1, 3), number(0, 3)
	if len(all) > 3+6 || armed-inFirst > 3 {
		t.Errorf("%d stops; %d turns between the first and the second", len(all), armed-inFirst)
	}
	x.goesOn("after a trace")
	x.finish("after a trace")
}

// TestNoWarningOfNothing: where nothing is installed, no address is reached by an int3.
func TestNoWarningOfNothing(t *testing.T) {
	prog := compile(t, "gcc", "ignored.c", "-g", "-O1")
	r := jalon(t, "trace", "--engine", "process", "work", "uprobe:"+prog+":main+1", "--", prog)
	if r.status != 2 || strings.Contains(r.stderr, "reached by an int3") {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
	r = jalon(t, "trace", "--engine", "process", "work", "--", prog)
	if r.status != 0 || !strings.Contains(r.stderr, "1 of 1 addresses are reached by an int3") {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
}
