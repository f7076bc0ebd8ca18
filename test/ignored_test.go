package test

import (
	"os"
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
			jalonBin + " trace -q -f none --overwrite work -- " + prog,
			jalonBin + " record -q -o $(mktemp -u -p " + t.TempDir() + ") work -- " + prog,
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

// TestIgnoredChildren: a program that is started with SIGCHLD ignored is with jalon too, and jalon sees how it ends.
func TestIgnoredChildren(t *testing.T) {
	prog := compile(t, "gcc", "waits.c", "-g", "-O1")
	for _, c := range []struct{ before, want string }{
		{"env", "not ignored, child 300"},
		{"env --ignore-signal=CHLD", "ignored, no child 0"},
	} {
		for _, form := range []struct {
			cmd    string
			status int
		}{
			{prog, 4},
			{jalonBin + " trace -q -f none work -- " + prog, 4},
			{jalonBin + " trace -q -f none --engine kernel work -- " + prog, 4},
			{jalonBin + " record -q -o " + t.TempDir() + "/" + strings.ReplaceAll(c.want, " ", "") + " work -- " + prog, 4},
			{jalonBin + " run -q -e 'uprobe:" + prog + ":work { @x = count() } end { clear(@x) }' -c " + prog, 0},
			{jalonBin + " gate 'oom:mark_victim if (pid == 1)' -- " + prog, 4},
		} {
			if os.Geteuid() != 0 && (strings.Contains(form.cmd, "--engine kernel") || strings.Contains(form.cmd, " gate ") || strings.Contains(form.cmd, " run ")) {
				continue // the kernel engine needs root
			}
			cmd := exec.Command("sh", "-c", "exec "+c.before+" "+form.cmd)
			out, err := cmd.Output()
			if got := strings.TrimSpace(string(out)); got != c.want || cmd.ProcessState.ExitCode() != form.status {
				t.Errorf("%s %s: %q, %v; want %q, status %d", c.before, form.cmd, got, err, c.want, form.status)
			}
		}
	}
}
