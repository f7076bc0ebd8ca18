package test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/test/testkit"
)

// commonScript has maps in memory that the process and the kernel have in common, which both change all the time; the kernel's programs
// interrupt those of the process.
const commonScript = `uprobe:PROG:leaf { @t[tid] = nsecs; @n++; @k[arg0 & 63]++; } uprobe:PROG:loop { @u[tid, arg1] = arg1; }
software:cpu-clock:50000 { @n++; @k[cpu]++; delete(@t, tid); if (@u[tid, (uint64)3]) { @seen = count(); delete(@u, (tid, (uint64)3)); } }`

// startCommon traces a process with the script, by its number.
func startCommon(t *testing.T, prog string, pid int) *running {
	return start(t, jalonBin, "run", "-v", "--maps", "-e", strings.ReplaceAll(commonScript, "PROG", prog), "-p", fmt.Sprint(pid))
}

// TestKillsWithCommonMaps: jalon is killed at a random time while a process and the kernel change maps that both have. The process goes on.
func TestKillsWithCommonMaps(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("programs of the kernel need root")
	}
	prog := compile(t, "gcc", "timers.c", "-g", "-O2", "-pthread")
	armed, longest := 0, 400*time.Millisecond
	c := counted(t, "kills", "of jalon, with maps of the process and the kernel")
	n := kills(8)
	for i := range n {
		c.Rounds++
		x := startTimers(t)
		j := startCommon(t, prog, x.Pid())
		select { // any instant will do
		case <-time.After(time.Duration(rand.Int64N(int64(longest)))):
		case <-j.Ended:
		}
		j.Kill()
		testkit.NoPanic(t, nil, j.Errs.String())
		if strings.Contains(j.Errs.String(), "armed after") {
			armed++
		} else {
			longest = min(longest*5/4, 4*time.Second)
		}
		when := fmt.Sprintf("kill %d: %s", i, tail(j.Errs.String()))
		x.goesOn(when)
		x.goesOn(when)
		x.finish(when)
	}
	t.Logf("%d kills of jalon, %d of them after it had armed", n, armed)
}

// TestKillsOfTargetsWithCommonMaps: the process is killed at a random time. jalon ends by itself, and shows the maps.
func TestKillsOfTargetsWithCommonMaps(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("programs of the kernel need root")
	}
	prog := compile(t, "gcc", "timers.c", "-g", "-O2", "-pthread")
	c := counted(t, "kills", "of the traced program, with maps of it and the kernel")
	for i := range kills(8) {
		c.Rounds++
		x := startTimers(t)
		j := startCommon(t, prog, x.Pid())
		eventually(t, "jalon has armed", func() bool { return strings.Contains(j.Errs.String(), "armed after") || ended(j) })
		time.Sleep(time.Duration(rand.Int64N(int64(30 * time.Millisecond)))) // any instant will do
		if err := syscall.Kill(x.Pid(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		r := j.wait() // fails when it hangs
		testkit.NoPanic(t, nil, r.stderr)
		if r.status != 0 || !strings.Contains(r.stdout, "@n: ") || !strings.Contains(r.stderr, "in memory that the process and the kernel have in common") {
			t.Fatalf("kill %d: status %d\n%s%s", i, r.status, r.stdout, r.stderr)
		}
	}
}
