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
)

// tracesOfOne is how often one process is traced before the next one begins, in the long form.
const tracesOfOne = 400

// shortTraces is how many traces a run has: a few, or JALON_SHORT_TRACES (`make torture`).
func shortTraces(few int) int {
	if n, err := strconv.Atoi(os.Getenv("JALON_SHORT_TRACES")); err == nil {
		return n
	}
	return few
}

// shortForms are the kinds of short traces: how the trace ends, what is recorded, how many places.
var shortForms = []struct {
	options, places []string
	killed          bool // by SIGKILL, at any instant
	signal          bool // ended by SIGINT, at any instant
}{
	{options: []string{"-f", "none", "-d", "1ms"}, places: []string{"leaf if (a == 4)"}},
	{options: []string{"-f", "none", "-d", "1ms"}, places: timersPlaces},
	{options: []string{"-f", "none", "-c", "$regs, $bt", "-n", "3"}, places: []string{"leaf", "tight if (n > 1)"}},
	{options: []string{"-f", "none"}, places: timersPlaces, signal: true},
	{options: []string{"--count", "-d", "1ms"}, places: []string{"leaf", "choose", "mixed", "depth%return if (@entry(n) == 1000)"}},
	// An int3 that is left is another tracer's for the next trace, which refuses the place: so this place is no other's.
	{options: []string{"-f", "none"}, places: []string{"on_signal if (sig == 0)"}, killed: true},
	{options: []string{"-f", "none", "-d", "2ms", "--overwrite", "-c", "$elapsed"}, places: []string{"text%return if $elapsed > 0", "loop%return if @entry(n) == 4"}},
	{options: []string{"-f", "none", "-d", "1ms", "-c", "p->value"}, places: []string{"wild if (p->next->value == 3)"}},
}

// TestShortTraces: one process with fast timers in all its threads is traced again and again, each time for a moment;
// it lives on and computes what it would without. What is left of one trace is there at the next.
func TestShortTraces(t *testing.T) {
	n := shortTraces(3 * len(shortForms))
	c := counted(t, "short traces", "of one process")
	prog := compile(t, "gcc", "timers.c", "-g", "-O2", "-pthread")
	var x *target
	limit := 60 * time.Millisecond // of what is ended at any instant: it follows the machine
	for i := range n {
		if i%tracesOfOne == 0 {
			if x != nil {
				x.finish(fmt.Sprintf("after trace %d", i))
			}
			x = startWithCore(t, prog, 1+i/tracesOfOne%6)
		}
		c.Rounds++
		form, tac := shortForms[i%len(shortForms)], tactics[i/len(shortForms)%len(tactics)]
		args := append(jalonArgs("trace", "-v", "--avoid", tac.bits, "-p", fmt.Sprint(x.Pid())), form.options...)
		j := start(t, append(args, form.places...)...)
		begin := time.Now()
		if form.killed || form.signal {
			select { // any instant will do
			case <-time.After(time.Duration(rand.Int64N(int64(limit)))):
			case <-j.Ended:
			}
			if strings.Contains(j.Errs.String(), "armed after") {
				limit = max(limit*9/10, 5*time.Millisecond)
			} else {
				limit = min(limit*11/10, 4*time.Second)
			}
		}
		switch {
		case form.killed:
			j.Kill()
		case form.signal:
			_ = j.Cmd.Process.Signal(syscall.SIGINT) // an error: it has ended
		}
		when := fmt.Sprintf("trace %d (%s, %v %v) after %v", i, tac.name, form.options, form.places, time.Since(begin))
		r := j.wait()
		if r.status != 0 && !form.killed && !form.signal {
			t.Fatalf("%s: status %d: %s", when, r.status, tail(r.stderr))
		}
		c.Sites += uint64(strings.Count(r.stderr, "jalon: site "))
		x.goesOn(when + ": " + tail(r.stderr))
	}
	x.finish("at the end")
}

// startWithCore is startChecked; with JALON_CORES=DIR a program that is killed by a signal leaves its core there.
func startWithCore(t *testing.T, prog string, threads int) *target {
	t.Helper()
	dir := os.Getenv("JALON_CORES")
	if dir == "" {
		return startChecked(t, prog, threads)
	}
	return startCheckedCmd(t, exec.Command("sh", "-c", `cd "$0" && ulimit -c unlimited && exec "$@"`, dir, prog, fmt.Sprint(threads)))
}
