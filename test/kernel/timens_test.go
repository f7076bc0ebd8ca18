package kernel

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/jalon-trace/jalon/internal/procdir"
)

// TestTimeNamespace: in a time namespace events of the program and of the kernel are on one line, that of the machine's clock.
func TestTimeNamespace(t *testing.T) {
	unshare := tool(t, "unshare")
	const offset = 1_000_000 // seconds
	in := []string{"-T", "--monotonic", fmt.Sprint(offset), "--boottime", fmt.Sprint(offset)}
	if out, err := exec.Command(unshare, append(in, "true")...).CombinedOutput(); err != nil {
		skip(t, fmt.Sprintf("no time namespace can be made: %v: %s", err, out))
	}
	dir := filepath.Join(t.TempDir(), "run")
	since := procdir.Monotonic()
	p := start(t, append(append([]string{unshare}, in...), jalonBin, "record", "-o", dir, "leaf", "syscall:getpriority", "middle", "--", demo(t, "-O2"), "11")...).Wait()
	if p.Status != 0 {
		t.Fatalf("%d: %s", p.Status, p.Errs.String())
	}
	times, lost := timesOf(t, dir)
	before, call, after := times["leaf"], times["syscall:getpriority"], times["middle"]
	if len(before) != 11 || len(call) != 11 || len(after) != 11 || lost > 0 {
		t.Fatalf("%d, %d and %d events, %d lost", len(before), len(call), len(after), lost)
	}
	for i := range 10 {
		if before[i]-call[i] > nestedError || call[i]-after[i+1] > nestedError {
			t.Errorf("round %d: the hits are at %d and %d, the call at %d", i, before[i], after[i+1], call[i])
		}
	}
	if until := procdir.Monotonic(); before[0] < since || after[10] > until {
		t.Errorf("the events are from %d to %d, the machine's clock was %d and %d", before[0], after[10], since, until)
	}
}
