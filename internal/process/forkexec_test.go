package process

import "testing"

// TestForkDuringExec: a child is let go also where exec has killed its creator before the
// fork was reported.
func TestForkDuringExec(t *testing.T) {
	r := start(t, Config{}, build(t, "forkexec", "-pthread"), "60")
	if out, st := r.finish(); st != (ExitStatus{}) || out != "all ended: 1\n" {
		t.Errorf("%v %q", st, out)
	}
}
