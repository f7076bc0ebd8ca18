package kernel

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctf"
)

// nestedError is how far the clocks of the program and of the kernel may be apart, in nanoseconds.
const nestedError = 1000

// TestNested: in a recording, each system call lies in time between the two hits in the program that enclose it: stamps of the processor's
// counter and of the kernel's clock are on one line (JALON_FULL: 10⁵ times).
func TestNested(t *testing.T) {
	n := 3000
	if full {
		n = 100_000
	}
	dir := filepath.Join(t.TempDir(), "run")
	p := jalon(t, "record", "-o", dir, "--buffer", "16M", "leaf", "syscall:getpriority", "middle", "--", demo(t, "-O2"), fmt.Sprint(n+1))
	if p.Status != 0 {
		t.Fatalf("%d: %s", p.Status, p.Errs.String())
	}
	times, lost := timesOf(t, dir)
	before, call, after := times["leaf"], times["syscall:getpriority"], times["middle"]
	if len(before) != n+1 || len(call) != n+1 || len(after) != n+1 || lost > 0 {
		t.Fatalf("%d, %d and %d events, %d lost", len(before), len(call), len(after), lost)
	}
	worst := int64(0)
	for i := range n { // leaf, the call, and middle of the next round
		early, late := before[i]-call[i], call[i]-after[i+1]
		if worst = max(worst, early, late); early > nestedError || late > nestedError {
			t.Fatalf("round %d: the hits are at %d and %d, the call at %d", i, before[i], after[i+1], call[i])
		}
	}
	t.Logf("%d system calls between two hits each, at worst %d ns outside", n, worst)
}

// timesOf are the times of the events of a recording by their places, and how many were lost.
func timesOf(t *testing.T, dir string) (times map[string][]int64, lost uint64) {
	t.Helper()
	tr, err := ctf.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	times = map[string][]int64{}
	it := tr.Events(ctf.Query{})
	for {
		ev, err := it.Next()
		if errors.Is(err, io.EOF) {
			return times, tr.Lost()
		}
		if err != nil {
			t.Fatal(err)
		}
		times[ev.Schema.Place] = append(times[ev.Schema.Place], ev.TimeNS)
	}
}
