package kernel

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var addresses = regexp.MustCompile(`0x[0-9a-f]{9,}`)

func demo(t testing.TB, flags ...string) string {
	return compile(t, "g++", "demo.cpp", append([]string{"-g"}, flags...)...)
}

// TestUprobeValues: at the same places of the same program, both engines collect the same values. (Only the
// in-process engine collects floats.)
func TestUprobeValues(t *testing.T) {
	for _, flags := range []string{"-O0", "-O2"} {
		for _, place := range []string{"leaf", "middle", "demo.cpp:29", "walk"} {
			t.Run(flags+" "+place, func(t *testing.T) {
				t.Parallel()
				bin := demo(t, flags)
				collect := map[string]string{
					"leaf":   "n, *p, p->x + p->y, p->name, p->f, p->g, p->in.c[1], *p->in.link, &p->y, depth, table[n & 3], table",
					"middle": "n, depth, n * depth, table[1]@2, (unsigned char)n",
					"walk":   "*head, head->next ? head->next->value : -1, head->name, head->next->next->next->value",
				}[place]
				if collect == "" {
					collect = "n, p.x, p, label"
				}
				// The counter distinguishes the iterations; bad pointers fault.
				cond := " if (depth % 3 != 1)"
				var got [2][]event
				for i, engine := range []string{"process", "kernel"} {
					tr := run(t, place+cond, "-c", collect, "--engine", engine, "--", bin, "30")
					got[i] = tr.events()
					if tr.Status != 0 {
						t.Fatalf("%s: status %d\n%s", engine, tr.Status, tr.Errs.String())
					}
				}
				if len(got[0]) == 0 || len(got[0]) != len(got[1]) {
					t.Fatalf("%d and %d events", len(got[0]), len(got[1]))
				}
				for i := range got[0] {
					a, b := normal(got[0][i]), normal(got[1][i])
					if a != b {
						t.Fatalf("event %d:\nin-process %s\nkernel     %s", i, a, b)
					}
				}
			})
		}
	}
}

// normal returns the collected values without addresses, which differ between runs.
func normal(e event) string {
	return addresses.ReplaceAllString(fmt.Sprint(e.Place, e.Values, e.Errors), "ADDR")
}

// TestUretprobe: return values, and the callers.
func TestUretprobe(t *testing.T) {
	bin := demo(t, "-O2")
	want := strings.Fields(start(t, bin, "12", "results").Wait().Out.String())
	tr := run(t, "uretprobe:"+bin+":leaf", "-c", "retval, (short)retval", "--all", "--", bin, "12")
	var got []string
	for _, e := range tr.events() {
		got = append(got, fmt.Sprint(int32(e.Num(t, "retval"))))
	}
	if !slices.Equal(got, want) {
		t.Errorf("returned %v, want %v\n%s", got, want, tr.Errs.String())
	}
}

// TestMarkers: static markers with and without a semaphore. The semaphore is incremented while the trace
// runs and restored afterwards.
func TestMarkers(t *testing.T) {
	bin := compile(t, "gcc", "markers.c", "-g", "-O2")
	child := start(t, bin).AwaitOut("semaphore 0\n")
	tr := begin(t, "usdt:"+bin+":demo:step if (arg1 % 2 == 0)", "usdt:"+bin+":demo:guarded", "-c", "arg0, arg1, str(arg2)", "--all").armed()
	child.Send("5")
	child.AwaitOut("done 5 semaphore 1\n")
	tr.stop()
	child.Send("3")
	child.AwaitOut("done 3 semaphore 0\n")
	var got []string
	for _, e := range tr.events() {
		got = append(got, fmt.Sprintf("%s %d %d %s", e.Function, e.Num(t, "arg0"), e.Num(t, "arg1"), e.Str("str(arg2)")))
	}
	want := []string{
		"demo:step -7 0 zero", "demo:guarded 100 0 zero", "demo:guarded 101 1 odd", "demo:step -5 2 even", "demo:guarded 102 2 even",
		"demo:guarded 103 3 odd", "demo:step -3 4 even", "demo:guarded 104 4 even",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"), tr.Errs.String())
	}
}

// TestOtherPrograms: real programs. No uprobe is inserted in files that other programs have open: jalon may
// patch those programs at the same time (tests of other packages do), and the kernel would write its
// breakpoints over the patches.
func TestOtherPrograms(t *testing.T) {
	t.Run("bash, system-wide", func(t *testing.T) {
		bash := filepath.Join(t.TempDir(), "bash")
		if out, err := exec.Command("cp", tool(t, "bash"), bash).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		tr := begin(t, "uprobe:"+bash+":setenv", "uprobe:"+bash+":unsetenv", "uprobe:"+bash+":execute_command", "--all").armed()
		p := start(t, bash, "-c", "for i in 1 2 3; do :; done; true")
		p.Wait()
		tr.stop()
		n := 0
		for _, e := range tr.events() {
			if e.Pid == p.Pid() && e.Function == "execute_command" {
				n++
			}
		}
		if n == 0 {
			t.Errorf("bash executed no command\n%s", tr.Errs.String())
		}
	})
	t.Run("sqlite3", func(t *testing.T) {
		sqlite := tool(t, "sqlite3")
		tr := run(t, "uprobe:libsqlite3:sqlite3_prepare_v2", "-c", "str(arg1)", "--engine=kernel", "--", sqlite, ":memory:", "select 1; select 2;")
		var got []string
		for _, e := range tr.events() {
			if e.Comm == "sqlite3" {
				got = append(got, e.Str("str(arg1)"))
			}
		}
		if !slices.Contains(got, "select 1; select 2;") || !slices.Contains(got, "select 2;") {
			t.Errorf("%q\n%s", got, tr.Errs.String())
		}
	})
	t.Run("imported", func(t *testing.T) {
		sqlite := tool(t, "sqlite3")
		tr := run(t, "uprobe:"+sqlite+":sqlite3_step", "--engine=kernel", "--", sqlite, ":memory:", "select 1")
		if c := tr.counts(); c.Recorded < 2 || !strings.Contains(tr.Errs.String(), "sqlite3_step is in ") {
			t.Errorf("%+v\n%s", c, tr.Errs.String())
		}
	})
	t.Run("go", func(t *testing.T) {
		bin := compile(t, "go", "gofib.go")
		tr := run(t, "uprobe:"+bin+":main.fib if (n > 3)", "-c", "n", "--all", "--", bin, "6")
		var got []int64
		for _, e := range tr.events() {
			got = append(got, e.Num(t, "n"))
		}
		// A call whose stack has to grow, or that is preempted at its entry, runs the entry
		// again (docs/kernel.md).
		if len(got) < 4 || fmt.Sprint(slices.Compact(got)) != "[6 5 4]" {
			t.Errorf("%v\n%s", got, tr.Errs.String())
		}
	})
}

// TestGlobs: many sites by one pattern.
func TestGlobs(t *testing.T) {
	t.Run("tracepoints", func(t *testing.T) {
		tr := run(t, "tracepoint:sched:*", "-c", "$comm", "--", things(t), "children")
		seen := map[string]int{}
		for _, e := range tr.events() {
			seen[e.Place]++
		}
		// Some of its events do not exist on this kernel: the skipped ones are reported.
		if seen["tracepoint:sched:sched_process_fork"] != 3 || seen["tracepoint:sched:sched_process_exit"] != 4 {
			t.Errorf("%v\n%s", seen, tr.Errs.String())
		}
		list, err := filepath.Glob(tracefs + "/events/sched/*/format")
		if err != nil {
			t.Fatal(err)
		}
		tr.check("sites", uint64(tr.counts().Sites), uint64(len(list)))
	})
	t.Run("uprobes", func(t *testing.T) {
		bin := compile(t, "gcc", "many.c", "-g", "-O1")
		tr := run(t, "uprobe:"+bin+":f_*", "-c", "i", "--all", "--", bin)
		c := tr.counts()
		tr.check("sites", uint64(c.Sites), 1000)
		tr.check("hits", c.Hits, 1000)
		for i, e := range tr.events() {
			if e.Function != fmt.Sprintf("f_%03d", i) || e.Num(t, "i") != int64(i) {
				t.Fatalf("event %d: %+v", i, e)
			}
		}
	})
}
