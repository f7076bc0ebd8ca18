package test

import (
	"fmt"
	"strings"
	"testing"
)

// No increment of a restartable sequence is lost, wherever the sequence is described:
// its instructions and the one before it have no sites, those around it have.
func TestRestartableSequences(t *testing.T) {
	const rounds = "600"
	// Of count in sequence.S: instructions that are no part of the sequence, and that are.
	around, within := []int{0, 8, 46, 47}, []int{9, 16, 39, 42}
	if full {
		around, within = []int{0, 4, 6, 8, 46, 47}, []int{9, 13, 16, 19, 23, 39, 42}
	}
	for _, where := range []string{"IN_SECTION", "IN_DATA", "MADE", "LABELS", "FAR", "INDIRECT", "RETURNS"} {
		prog := compile(t, "gcc", "sequence.c", "-g", "-O1", "-pthread", "@sequence.S", "-D"+where)
		place := func(off int) string { return fmt.Sprintf("uprobe:%s:count+%d if ($sp == 0)", prog, off) }
		known := strings.HasPrefix(where, "IN_")
		if r := jalon(t, "list", "--tactics", prog, "count"); known == strings.Contains(r.stdout+r.stderr, "described at run time") {
			t.Errorf("%s: %s%s", where, r.stdout, r.stderr)
		}
		for _, off := range append(within, around...) {
			if known && off == around[0] {
				break
			}
			r := jalon(t, "trace", place(off), "--", prog, rounds)
			if r.status == 0 || !strings.Contains(r.stderr, "restartable sequence (rseq)") || r.stdout != "" {
				t.Errorf("%s: count+%d: status %d, %s%s", where, off, r.status, r.stdout, r.stderr)
			}
		}
		r := jalon(t, "trace", "--engine=kernel", place(within[3]), "--", prog, rounds)
		if r.status == 0 || !strings.Contains(r.stderr, "restartable sequence (rseq)") {
			t.Errorf("%s: in the kernel: status %d, %s%s", where, r.status, r.stdout, r.stderr)
		}
		if !strings.HasPrefix(where, "IN_") {
			continue
		}
		for _, tac := range tactics {
			args := []string{"--avoid", tac.bits, "-f", "none"}
			for _, off := range around {
				args = append(args, place(off))
			}
			if r := unchanged(t, []string{prog, rounds}, args...); r.sum.Hits == 0 {
				t.Errorf("%s: %s: %+v", where, tac.name, r.sum)
			}
		}
	}
}

// TestUnregistered: threads that give their struct rseq back while they are traced, or register it with another signature
// than generated code has, live on, and each hit is counted.
func TestUnregistered(t *testing.T) {
	prog := compile(t, "gcc", "unregisters.c", "-g", "-O1", "-pthread")
	const n = 600_000
	for _, how := range []string{"", "again", "own"} {
		for _, place := range []string{"hit", "hit if (i == n + 1)"} {
			r := trace(t, "-f", "none", place, "--", prog, fmt.Sprint(n), how)
			if r.status != 0 || r.stdout != fmt.Sprintf("%d hits\n", 4*n) || r.sum.Hits != 4*n || r.sum.Recorded+r.sum.False+r.sum.Lost != 4*n {
				t.Errorf("%q, %s: status %d, %s%+v\n%s", how, place, r.status, r.stdout, r.sum, tail(r.stderr))
			}
		}
	}
}
