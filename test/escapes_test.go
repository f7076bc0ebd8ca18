package test

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// TestEscapes: handlers of signals that interrupt hits leave by siglongjmp. The records of these hits are never
// completed; those behind them in the ring are shown while the program runs on. The buffer holds all records of the program: it does not
// matter when jalon reads them.
func TestEscapes(t *testing.T) {
	prog := compile(t, "gcc", "escapes.c", "-g", "-O2", "-pthread")
	for _, more := range [][]string{nil, {"--clock", "none"}} {
		args := append([]string{"trace", "--buffer", "128M", "uprobe:" + prog + ":often", "uprobe:" + prog + ":afterwards", "-c", "*(char *)&big@1000"}, more...)
		p := testkit.StartTold(t, exec.Command(jalonBin, append(args, "--", prog)...))
		p.AwaitOut("afterwards")
		p.Send("go")
		p.Wait()
		errs := p.Errs.String()
		if p.Status != 0 || !strings.Contains(errs, "cut short") && runtime.NumCPU() > 1 {
			t.Errorf("%q: status %d, no record was cut short: %s", more, p.Status, tail(errs))
		}
		_, calls, _ := strings.Cut("\n"+errs, "\nafterwards ")
		calls, _, _ = strings.Cut(calls, "\n")
		found := false
		for line := range strings.Lines(errs) {
			if f := strings.Fields(line); len(f) > 3 && strings.HasSuffix(f[0], ":afterwards") {
				found = f[1] == calls && f[2] == calls
			}
		}
		if !found {
			t.Errorf("%q: %s calls of afterwards: %s", more, calls, tail(errs))
		}
	}
}
