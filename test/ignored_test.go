package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
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

// TestInterruptInBackground: a shell without job control starts commands in the background with SIGINT ignored, and
// `kill -INT` ends jalon all the same. SIGHUP that is ignored (nohup) stays so.
func TestInterruptInBackground(t *testing.T) {
	prog := compile(t, "gcc", "many.c", "-O1")
	for _, c := range []struct{ cmd, ready string }{
		{"trace -f none many::f9999 -p $PID", "jalon: armed"},
		{"record -o " + filepath.Join(t.TempDir(), "rec") + " many::f9999 -p $PID", "jalon: armed"},
		{"run -e 'interval:s:1000 { exit(); }'", "Attached 1 probe"},
		{"gdbserver --attach localhost:0 $PID", "Listening on port"},
	} {
		t.Run(strings.Fields(c.cmd)[0], func(t *testing.T) {
			p := start(t, prog, "for ever").AwaitOut("ready")
			j := start(t, "sh", "-c", "trap '' INT HUP; exec "+jalonBin+" "+strings.ReplaceAll(c.cmd, "$PID", strconv.Itoa(p.Pid())))
			j.AwaitErr(c.ready)
			j.Signal(syscall.SIGHUP)
			j.Signal(syscall.SIGINT)
			j.Wait() // it has a bound
			if s := j.Cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signaled() {
				t.Errorf("%v: %s", j.Cmd.ProcessState, tail(j.Errs.String()))
			}
		})
	}
}
