package test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestIgnoredSignals: a program has the same ignored and blocked signals with jalon as without it.
func TestIgnoredSignals(t *testing.T) {
	prog := compile(t, "gcc", "ignored.c", "-g", "-O1")
	for _, trap := range []string{"true", "trap '' USR1 PIPE", "trap '' HUP INT QUIT TERM ALRM USR2", "trap '' TTOU TTIN WINCH"} {
		want := ""
		for _, cmd := range []string{
			prog,
			jalonBin + " trace -q -f none work -- " + prog,
			jalonBin + " trace -q -f none --engine kernel work -- " + prog,
			jalonBin + " run -q -e 'uprobe:" + prog + ":work { @x = count() } end { clear(@x) }' -c " + prog,
		} {
			out, err := exec.Command("sh", "-c", trap+"; "+cmd).Output()
			got := strings.TrimSpace(string(out))
			switch {
			case err != nil || !strings.HasPrefix(got, "SigBlk:"):
				t.Errorf("%s; %s: %v, %q", trap, cmd, err, got)
			case want == "":
				want = got
			case got != want:
				t.Errorf("%s; %s:\n%s\nwant\n%s", trap, cmd, got, want)
			}
		}
	}
}
