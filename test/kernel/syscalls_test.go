package kernel

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// callsOf traces a program that makes known system calls, and returns what was traced of those that it makes in its rounds, by place.
func callsOf(t *testing.T, n int, places ...string) map[string][]string {
	t.Helper()
	child := start(t, compile(t, "gcc", "calls.c", "-O1", "-Wall")).AwaitOut("ready 0\n")
	tr := begin(t, append(places, "-p", fmt.Sprint(child.Pid()))...).armed()
	child.Send(fmt.Sprint(n))
	child.AwaitOut("ready 1\n")
	tr.stop()
	if c := tr.counts(); c.Lost != 0 {
		t.Errorf("%d events were lost", c.Lost)
	}
	out := map[string][]string{}
	for _, e := range tr.events() {
		place, _, _ := strings.Cut(e.Place, " if ")
		_, name, _ := strings.Cut(strings.TrimPrefix(place, "tracepoint:syscalls:sys_"), "_")
		switch name {
		case "getppid", "getpgid", "getpgrp", "pwrite64", "writev", "getpid":
			out[place] = append(out[place], e.Text())
		}
	}
	child.Send("1")
	child.AwaitOut("ready 2\n")
	return out
}

// TestManySyscalls: the events of all system calls, which one program passes on, are those of single ones, which the kernel attaches by
// themselves: of calls by 32-bit and x32 numbers there are none.
func TestManySyscalls(t *testing.T) {
	const n = 1000
	var few []string
	for _, name := range []string{"getppid", "getpgid", "getpgrp", "pwrite64", "writev", "getpid"} {
		few = append(few, "tracepoint:syscalls:sys_enter_"+name, "tracepoint:syscalls:sys_exit_"+name)
	}
	want := callsOf(t, n, few...)
	got := callsOf(t, n, "tracepoint:syscalls:sys_enter_*", "tracepoint:syscalls:sys_exit_*")
	for _, side := range []string{"enter_", "exit_"} {
		for name, count := range map[string]int{"getppid": n, "getpgid": n / 2, "pwrite64": n} {
			place := "tracepoint:syscalls:sys_" + side + name
			if len(want[place]) != count || !slices.Equal(got[place], want[place]) {
				t.Errorf("%s: %d events of all, %d of single ones, the program made %d calls", place, len(got[place]), len(want[place]), count)
			}
			delete(got, place)
			delete(want, place)
		}
	}
	if len(got) != 0 || len(want) != 0 {
		t.Errorf("of calls that were not made: %v, %v", got, want)
	}
}

// TestManySyscallsTwice: two tracepoints have programs at the same system calls; the false hits of a condition on the arguments are counted.
func TestManySyscallsTwice(t *testing.T) {
	const n = 1000
	child := start(t, compile(t, "gcc", "calls.c", "-O1", "-Wall")).AwaitOut("ready 0\n")
	tr := begin(t, "tracepoint:syscalls:sys_enter_*", "-c", "$tid", "tracepoint:syscalls:sys_enter_* if ($tid < 0)", "-c", "$pid",
		"-p", fmt.Sprint(child.Pid()), "--control", filepath.Join(t.TempDir(), "control")).armed()
	child.Send(fmt.Sprint(n))
	child.AwaitOut("ready 1\n")
	tr.stop()
	seen := 0
	for _, e := range tr.events() {
		if e.Place == "tracepoint:syscalls:sys_enter_pwrite64" {
			seen++
		}
	}
	c := tr.counts()
	if seen != n || c.False != c.Recorded || c.Recorded < 2*n+n/2 {
		t.Errorf("%d events of %d; %+v", seen, n, c)
	}
}

// TestManySyscallsControl: all system calls' tracepoints are disabled, enabled and removed while the program runs; every call is counted by those
// that were enabled.
func TestManySyscallsControl(t *testing.T) {
	const n = 1000
	socket := filepath.Join(t.TempDir(), "control")
	child := start(t, compile(t, "gcc", "calls.c", "-O1", "-Wall")).AwaitOut("ready 0\n")
	tr := begin(t, "tracepoint:syscalls:sys_enter_*", "tracepoint:syscalls:sys_exit_*", "-c", "$tid",
		"-p", fmt.Sprint(child.Pid()), "--control", socket).armed()
	want, on := [2]int{}, [2]bool{true, true}
	for round, change := range []string{"", "disable 2", "enable 2", "disable 1", "disable 2", "enable 1", "enable 2", "remove 1", "disable 2", "enable 2"} {
		if change != "" {
			f := strings.Fields(change)
			control(t, socket, f...)
			on[f[1][0]-'1'] = f[0] == "enable"
		}
		child.Send(fmt.Sprint(n))
		child.AwaitOut(fmt.Sprintf("ready %d\n", round+1))
		for i := range want {
			if on[i] {
				want[i] += n
			}
		}
	}
	tr.stop()
	got := map[string]int{}
	for _, e := range tr.events() {
		got[e.Place]++
	}
	for i, place := range []string{"tracepoint:syscalls:sys_enter_pwrite64", "tracepoint:syscalls:sys_exit_pwrite64"} {
		if got[place] != want[i] {
			t.Errorf("%s: %d events, want %d\n%s", place, got[place], want[i], tr.Errs.String())
		}
	}
}
