package kernel

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// recorded lists the first arguments of getpriority that perf recorded of a program.
var inPerf = regexp.MustCompile(`which: (0x[0-9a-f]+|\d+)|newcomm=name(\d)`)

func perfRecord(t *testing.T, perf, event, deed string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "perf.data")
	p := start(t, perf, "record", "-q", "-o", file, "-e", event, "--", things(t), deed).Wait()
	if p.Status != 0 {
		t.Fatalf("perf record: status %d\n%s", p.Status, p.Errs.String())
	}
	out := start(t, perf, "script", "-i", file, "-F", "trace").Wait()
	var got []string
	for _, m := range inPerf.FindAllStringSubmatch(out.Out.String(), -1) {
		var n int
		if _, err := fmt.Sscan(m[1]+m[2], &n); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(n))
	}
	return got
}

// TestGate: while the gate runs, perf gets exactly the hits for which the condition is true.
func TestGate(t *testing.T) {
	perf := tool(t, "perf")
	all := strings.Fields("0 1 2 3 4 5 6 7 8 9")
	for _, tt := range []struct {
		event, cond, deed string
		want              []string
		kept              string
	}{
		{"syscalls:sys_enter_getpriority", "which % 3 == 1", "names", []string{"1", "4", "7"}, "hits kept from perf"},
		{"syscalls:sys_enter_getpriority", "10 / (which - 2) > 2", "names", []string{"3", "4", "5"}, "could not be evaluated"},
		{"syscalls:sys_enter_getpriority", `$comm == "name6"`, "names", []string{"6"}, "hits kept from perf"},
		{"task:task_rename", "args->newcomm[4] >= 53", "names", []string{"5", "6", "7", "8", "9"}, "hits kept from perf"},
		// Raw arguments: a struct of the kernel through a pointer.
		{"task:task_rename", "task->comm[4] == 51 || task->comm[4] == 55", "names", []string{"4", "8"}, "hits kept from perf"},
		{"task:task_rename", "comm[4] == 50", "names", []string{"2"}, "hits kept from perf"},
	} {
		last := tt.cond == "comm[4] == 50"
		t.Run(tt.event+" "+tt.cond, func(t *testing.T) {
			gate := start(t, jalonBin, "gate", tt.event+" if ("+tt.cond+")").AwaitErr("the gates are active")
			if got := perfRecord(t, perf, tt.event, tt.deed); !slices.Equal(got, tt.want) {
				t.Errorf("perf saw %v, want %v", got, tt.want)
			}
			gate.Signal(2)
			gate.Wait()
			if gate.Status != 0 || !strings.Contains(gate.Errs.String(), tt.kept) {
				t.Errorf("status %d: %s", gate.Status, gate.Errs.String())
			}
			if !last && !full { // once is enough
				return
			}
			if got := perfRecord(t, perf, tt.event, tt.deed); !slices.Equal(got, all) {
				t.Errorf("without the gate perf saw %v", got)
			}
		})
	}
}

// TestGateProgram: the gate is active while the program after "--" runs.
func TestGateProgram(t *testing.T) {
	perf := tool(t, "perf")
	file := filepath.Join(t.TempDir(), "perf.data")
	p := jalon(t, "gate", "syscalls:sys_enter_getpriority if (which == 2)", "--", perf, "record", "-q", "-o", file, "-e", "syscalls:sys_enter_getpriority", "--", things(t), "names", "exit", "0")
	if p.Status != 0 || !strings.Contains(p.Errs.String(), "hits kept from perf") {
		t.Errorf("status %d: %s", p.Status, p.Errs.String())
	}
	if p := jalon(t, "gate", "syscalls:sys_enter_getpriority if (which == 2)", "--", things(t), "exit", "6"); p.Status != 6 {
		t.Errorf("status %d: %s", p.Status, p.Errs.String())
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	for _, tt := range []struct{ arg, want string }{
		{"syscall:getpriority if (1)", `no tracepoint "syscall:getpriority"`},
		{"sched:sched_swich if (1)", `did you mean "sched:sched_switch"`},
		{"sched:sched_switch if (nosuch)", `no variable "nosuch"`},
	} {
		if p := jalon(t, "gate", tt.arg, "-d", "100ms"); p.Status != 2 || !strings.Contains(p.Errs.String(), tt.want) {
			t.Errorf("%s: status %d: %s", tt.arg, p.Status, p.Errs.String())
		}
	}
}

// TestPair: a condition on raw arguments that selects the tracepoint's own record. The two programs work only
// if no other perf user is between them.
func TestPair(t *testing.T) {
	perf := tool(t, "perf")
	const place = "tracepoint:task:task_rename if (task->comm[4] == 51 || task->comm[4] == 55)"
	check := func(tr *trace) {
		t.Helper()
		var got []string
		for _, e := range tr.events() {
			m := e.Values["$_sdata"].(map[string]any)
			got = append(got, fmt.Sprint(m["newcomm"]))
			if m["oldcomm"] != e.Comm {
				t.Errorf("%v of %s", m, e.Comm)
			}
		}
		if fmt.Sprint(got) != "[name4 name8]" {
			t.Errorf("%v\n%s", got, tr.Errs.String())
		}
	}
	check(run(t, place, "--", things(t), "names"))

	// Another user that comes later.
	child := start(t, things(t), "ready", "wait", "names", "ready", "wait").AwaitOut("ready\n")
	tr := begin(t, place, "-p", fmt.Sprint(child.Pid())).armed()
	later := start(t, perf, "record", "-q", "-o", filepath.Join(t.TempDir(), "perf.data"), "-e", "task:task_rename", "-a", "--", things(t), "ready", "wait").AwaitOut("ready\n")
	child.Send("go")
	child.AwaitOut("ready\nready\n")
	check(tr.stop())

	// One that was there before: refused, in words.
	p := jalon(t, "trace", place, "-d", "100ms")
	if p.Status != 2 || !strings.Contains(p.Errs.String(), "another program has this event open by perf") || !strings.Contains(p.Errs.String(), "collect expressions of the arguments in place of $_sdata") {
		t.Errorf("status %d: %s", p.Status, p.Errs.String())
	}
	p = jalon(t, "gate", "task:task_rename if (task->pid == 1)", "-d", "100ms")
	if p.Status != 2 || !strings.Contains(p.Errs.String(), "start the gate first") {
		t.Errorf("status %d: %s", p.Status, p.Errs.String())
	}
	later.Send("go")
	later.Wait()
	check(run(t, place, "--", things(t), "names"))
}

// TestPairLoad: threads on all CPUs rename themselves as fast as they can; the record
// that is shown is always that of the hit which the condition was about.
func TestPairLoad(t *testing.T) {
	n := 2000
	if full {
		n = 200000
	}
	tr := run(t, "tracepoint:task:task_rename if (comm[0] == 114 && comm[1] == 55)", "--buffer", "16M", "--", things(t), "renames", fmt.Sprint(n))
	c := tr.counts()
	for _, e := range tr.events() {
		m := e.Values["$_sdata"].(map[string]any)
		if m["newcomm"] != "r7" || fmt.Sprint(m["pid"]) != fmt.Sprint(e.Tid) {
			t.Fatalf("%+v", e)
		}
	}
	// A hit within another's is missed by the second program only.
	if got, want := c.Recorded+c.Lost+c.Missed, uint64(4*n/10); got != want || c.Lost != 0 || c.Missed > want/100 {
		t.Errorf("%+v, want %d", c, want)
	}
	if len(tr.events()) != int(c.Recorded) {
		t.Errorf("%d events, %+v", len(tr.events()), c)
	}
}
