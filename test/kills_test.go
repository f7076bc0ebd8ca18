package test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/test/testkit"
)

// kills returns how many processes a test of this file kills: a few, or JALON_KILLS (`make torture`).
func kills(few int) int {
	if n, err := strconv.Atoi(os.Getenv("JALON_KILLS")); err == nil {
		return n
	}
	return few
}

// counted returns a row of the table of `make torture`, which is saved when the test ends.
func counted(t *testing.T, table, name string) *testkit.Count {
	t.Helper()
	c := &testkit.Count{Table: table, Name: name}
	testkit.Counted(t, c)
	return c
}

var timersPlaces = []string{
	"leaf if (a == 4)", "loop if (n < 0)", "depth if (n == 1000)", "mixed if (x > 100)", "choose if (k > 4000000000)",
	"text if (from == \"nothing\")", "tight if (n == 0)", "wild if (follow == 1 && p->next->value == 3)",
}

// killedForms are the kinds of tracing: records, maps at the sites, the flight recorder, returns with maps of entries.
var killedForms = []struct{ options, places []string }{
	{[]string{"-f", "none"}, timersPlaces},
	{[]string{"--count"}, timersPlaces},
	{[]string{"-f", "none", "--overwrite"}, timersPlaces},
	{[]string{"-f", "none", "-c", "$elapsed"}, []string{"leaf%return if @entry(a) == 4", "choose%return if $elapsed > 0"}},
}

// startTimers starts timers.c, which checks itself under 1 kHz timers.
func startTimers(t *testing.T) *target {
	t.Helper()
	return startChecked(t, compile(t, "gcc", "timers.c", "-g", "-O2", "-pthread"), 2)
}

// jalon is killed at a random time after its start: no thread is left with registers changed by jalon,
// whatever it was doing.
func TestKillsOfJalon(t *testing.T) {
	n, longest := kills(40), 40*time.Millisecond
	armed := 0
	c := counted(t, "kills", "of jalon")
	for i := range n {
		c.Rounds++
		x := startTimers(t)
		tac := tactics[i%len(tactics)]
		form := killedForms[i/len(tactics)%len(killedForms)]
		args := append(jalonArgs("trace", "-v", "--avoid", tac.bits, "-p", fmt.Sprint(x.Pid())), form.options...)
		if i%5 == 4 { // the end, too
			args = append(args, "-d", "1ms")
		}
		j := start(t, append(args, form.places...)...)
		begin := time.Now()
		after := time.Duration(rand.Int64N(int64(longest)))
		select { // any instant will do
		case <-time.After(after):
		case <-j.Ended:
		}
		j.Kill()
		testkit.NoPanic(t, args, j.Errs.String())
		if strings.Contains(j.Errs.String(), "armed after") {
			armed++
			longest = max(longest*9/10, 5*time.Millisecond)
		} else { // instants beyond all that arming does are of little use
			longest = min(max(longest, longest*21/20), 4*time.Second)
		}
		when := fmt.Sprintf("kill %d (%s, %v) after %v: %s", i, tac.name, form.options, time.Since(begin), tail(j.Errs.String()))
		x.goesOn(when)
		x.goesOn(when)
		x.finish(when)
	}
	t.Logf("%d kills of jalon, %d of them after it had armed; 0 harmed", n, armed)
}

// One process outlives several jalons, each killed before or after its first calls in the process; a last
// one traces it to the end.
func TestKillsInARow(t *testing.T) {
	x := startTimers(t)
	c := counted(t, "kills", "of jalon, one process outlives all")
	for i := range kills(40) {
		c.Rounds++
		j := start(t, append(jalonArgs("trace", "-v", "-f", "none", "-p", fmt.Sprint(x.Pid())), "nowhere_at_all*", "leaf if (a == 4)")...)
		select {
		case <-time.After(time.Duration(rand.Int64N(int64(40 * time.Millisecond)))):
		case <-j.Errs.Has("stopped for"): // patches stay in the process
		case <-j.Ended:
		}
		j.Kill()
		x.goesOn(fmt.Sprintf("kill %d: %s", i, tail(j.Errs.String())))
	}
	x.finish("at the end")
}

// The target is killed at any instant: jalon ends, in time, with the status of the one
// that it has started.
func TestKillsOfTargets(t *testing.T) {
	prog := compile(t, "gcc", "timers.c", "-g", "-O2", "-pthread")
	n := kills(40)
	c := counted(t, "kills", "of the traced program")
	for i := range n {
		c.Rounds++
		attached := i%2 == 0
		args := jalonArgs("trace", "-v", "-f", "none", "--avoid", tactics[i%len(tactics)].bits)
		var j *running
		var pid int
		if attached {
			x := startTimers(t)
			j = start(t, append(append(args, "-p", fmt.Sprint(x.Pid())), timersPlaces...)...)
			pid = x.Pid()
		} else {
			cmd := exec.Command(jalonBin, append(append(args[1:], timersPlaces...), "--", prog, "2")...)
			r, w, err := os.Pipe() // a standard input that does not end
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stdin = r
			j = startCmd(t, cmd)
			r.Close()
			defer w.Close()
			eventually(t, "jalon has a child", func() bool { pid = childOf(j.Pid()); return pid != 0 || ended(j) })
		}
		select {
		case <-time.After(time.Duration(rand.Int64N(int64(80 * time.Millisecond)))):
		case <-j.Ended:
		}
		if pid != 0 && !ended(j) { // jalon runs, so the process number is still valid
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		res := j.wait() // fails when it hangs
		early := strings.Contains(res.stderr, "killed before its first instruction")
		if !attached && pid != 0 && !early && res.status != 128+9 {
			t.Fatalf("kill %d: status %d: %s", i, res.status, tail(res.stderr))
		}
		if attached && res.status != 0 && res.status != 128+9 && (res.status != 1 || res.stderr == "") {
			t.Fatalf("kill %d: status %d: %s", i, res.status, tail(res.stderr))
		}
	}
	t.Logf("%d kills of targets", n)
}
