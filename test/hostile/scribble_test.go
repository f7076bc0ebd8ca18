package hostile

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/test/testkit"
)

// full enables the long form of tests.
var full = os.Getenv("JALON_FULL") != ""

// TestScribble: a program overwrites all memory that it shares with jalon with random values. jalon always
// ends normally, and its output is either possible or marked.
func TestScribble(t *testing.T) {
	prog := compile(t, "scribble")
	rounds := 6
	if full {
		rounds = 1000
	}
	marked, i := 0, 0
	// A run in which jalon reads the rings seldom may show nothing: a busy machine takes more runs.
	for ; i < rounds || marked == 0 && i < 20*rounds; i++ {
		args := []string{jalon, "trace", "work if (n & 1)", "-c", "n, $regs, $bt", "-f", []string{"json", "text"}[i%2], "--buffer", "64K", "--", prog, "500"}
		args = append(args, []string{"count", "all", "all"}[i%3], fmt.Sprint(i+1))
		before := time.Now()
		p := testkit.Start(t, args...).Wait()
		out, errs := p.Out.String(), p.Errs.String()
		if p.Status != 0 || !strings.Contains(out, "done") {
			t.Fatalf("run %d: status %d: %s", i, p.Status, testkit.Tail(errs))
		}
		if strings.Contains(out+errs, "overwritten by the program") || strings.Contains(out, `"overwritten":true`) {
			marked++
		}
		// No count is larger than the number of hits possible in the time.
		limit := uint64(time.Since(before)+time.Second) * 5 * 1024
		for _, line := range strings.Split(errs, "\n") {
			f := strings.Fields(line)
			if len(f) < 6 || f[0] != "work" {
				continue
			}
			for _, n := range f[1:6] {
				var v uint64
				if _, err := fmt.Sscan(n, &v); n != "?" && (err != nil || v > limit) {
					t.Errorf("run %d: a count of %s: %s", i, n, line)
				}
			}
		}
		if i%2 == 0 {
			for _, e := range testkit.ParseEvents(t, strings.NewReader(out)) {
				if d := time.Duration(math.Abs(float64(e.Time - monotonic(t)))); d > time.Hour {
					t.Fatalf("run %d: an event of %v from now", i, d)
				}
			}
		}
	}
	t.Logf("%d runs, %d with something marked as overwritten", i, marked)
	if marked == 0 {
		t.Error("nothing was marked")
	}
}
