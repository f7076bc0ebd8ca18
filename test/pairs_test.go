package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestEntryOfReturn: calls are left in all ways, by threads, coroutines and signal handlers on stacks of their own.
// Each return finds the values and the time of the entry of its own call: each call has a number, which it returns.
func TestEntryOfReturn(t *testing.T) {
	need(t, "g++")
	for _, flags := range []string{"-O0", "-O2"} {
		t.Run(flags, func(t *testing.T) {
			prog := compile(t, "g++", "paired.cc", "-g", "-pthread", "-w", flags)
			tr := trace(t, "--buffer", "64M", "paired%return", "-c", "$elapsed, @entry(c->number), @entry(level) >= 0, @entry(how), $ret", "--", prog, "40", "3")
			var calls, returned, left int
			if _, err := fmt.Sscanf(tr.stdout, "%d calls, %d returned, %d left", &calls, &returned, &left); err != nil || returned+left != calls {
				t.Fatalf("the program prints %q: %v", tr.stdout, err)
			}
			tails, wrong := 0, 0
			for _, e := range tr.events {
				entered, ok := e.Values["@entry(c->number)"]
				ret, isReturn := e.Values["$ret"]
				if !isReturn && strings.Contains(fmt.Sprint(e.Errors["$ret"]), "tail call of last") {
					tails++
				} else if entered != ret {
					wrong++
				}
				if !ok || number(e.Values["@entry(level) >= 0"]) != 1 || e.Values["$elapsed"] == nil {
					t.Fatalf("return without its entry: %+v", e)
				}
			}
			if len(tr.events) != returned || wrong > 0 {
				t.Errorf("%d returns, want %d; %d have the number of another call", len(tr.events), returned, wrong)
			}
			if flags == "-O2" && tails == 0 {
				t.Error("no tail call")
			}
			if tr.sum.Lost != 0 {
				t.Errorf("%d records lost", tr.sum.Lost)
			}
			t.Logf("%d calls, %d returns (%d tail calls), %d left otherwise; all values are those of their calls", calls, returned, tails, left)
		})
	}
}

// TestElapsed: $elapsed is at least the time that the program has measured inside the call, and at most the time since the
// call before. A condition sees the same value as the record.
func TestElapsed(t *testing.T) {
	need(t, "gcc")
	prog := compile(t, "gcc", "elapsed.c", "-g", "-O1", "-no-pie")
	const collect = "$elapsed, @entry(n), inside"
	tr := trace(t, "slow%return", "-c", collect, "--", prog)
	for i, e := range tr.events {
		got, inside := number(e.Values["$elapsed"]), number(e.Values["inside"])
		if got < inside || number(e.Values["@entry(n)"]) != float64(i) {
			t.Errorf("call %d: $elapsed is %v, of which %v inside: %+v", i, got, inside, e)
		}
		const error = 1000 // of the conversion of two times, ns
		if i > 0 && got > float64(e.Time-tr.events[i-1].Time)+error {
			t.Errorf("call %d: $elapsed is %v, and the call before ended %v earlier", i, got, e.Time-tr.events[i-1].Time)
		}
	}
	if len(tr.events) != 40 {
		t.Errorf("%d calls", len(tr.events))
	}
	tr = trace(t, "slow%return if $elapsed > 300000 && @entry(n) != 7", "-c", collect, "--", prog)
	for _, e := range tr.events {
		if number(e.Values["$elapsed"]) <= 300000 || number(e.Values["@entry(n)"]) == 7 {
			t.Errorf("recorded, though the condition is false: %+v", e)
		}
	}
	if len(tr.events) < 19 {
		t.Errorf("%d of 20 slow calls", len(tr.events))
	}
}

// TestManyEntries: the memory of the entries is divided where many tracepoints need some.
func TestManyEntries(t *testing.T) {
	need(t, "gcc")
	prog := compile(t, "gcc", "elapsed.c", "-g", "-O1", "-no-pie")
	var args []string
	for i := range 40 {
		args = append(args, fmt.Sprintf("slow%%return if @entry(n) == %d", i))
	}
	tr := trace(t, append(args, "-c", "$elapsed, @entry(n)", "--", prog)...)
	for i, e := range tr.events {
		if got := number(e.Values["@entry(n)"]); got != float64(i) {
			t.Errorf("event %d is of call %v: %+v", i, got, e)
		}
	}
	if len(tr.events) != 40 {
		t.Errorf("%d events of 40 tracepoints", len(tr.events))
	}
}

// number is the value of a JSON number, -1 if there is none.
func number(v any) float64 {
	x := -1.0
	_, _ = fmt.Sscan(fmt.Sprint(v), &x)
	return x
}

// TestEntryBeforeArming: a call that was active when jalon came has no entry; the next ones have.
func TestEntryBeforeArming(t *testing.T) {
	need(t, "gcc")
	prog := compile(t, "gcc", "active.c", "-g", "-O0")
	cmd := exec.Command(prog)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { in.Close(); cmd.Process.Kill(); cmd.Wait() }()
	var b [1]byte
	if _, err := out.Read(b[:]); err != nil { // three calls are active
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "events")
	j := start(t, jalonArgs("trace", "-v", "-f", "json", "-o", file, "--summary-json", "waits%return", "-c", "@entry(n), $elapsed, n", "-p", fmt.Sprint(cmd.Process.Pid))...)
	eventually(t, "jalon arms", func() bool { return strings.Contains(j.Errs.String(), "armed after") || ended(j) })
	if _, err := in.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	res := j.wait()
	events := readEvents(t, file)
	if len(events) != 6 {
		t.Fatalf("%d returns: %s", len(events), res.stderr)
	}
	for i, e := range events {
		if i < 3 {
			if e.Values["@entry(n)"] != nil || !strings.Contains(fmt.Sprint(e.Errors["$elapsed"]), "the entry of this call was not seen") {
				t.Errorf("return %d: %+v", i, e)
			}
		} else if e.Values["@entry(n)"] != e.Values["n"] || e.Values["$elapsed"] == nil {
			t.Errorf("return %d: %+v", i, e)
		}
	}
	if !strings.Contains(res.stderr, `"unpaired":3`) {
		t.Errorf("the summary does not count the calls without entry:\n%s", res.stderr)
	}
}

// TestEntryOfGo: goroutines' stacks grow, move and shrink, and functions are left by panics.
func TestEntryOfGo(t *testing.T) {
	prog := filepath.Join(t.TempDir(), "prog")
	build := exec.Command("go", "build", "-o", prog, "./testdata/gopairs")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	tr := trace(t, "--buffer", "64M", "main.paired%return", "-c", "$elapsed, @entry(id), $ret", "--", prog)
	for _, e := range tr.events {
		if e.Values["@entry(id)"] != e.Values["$ret"] || e.Values["$elapsed"] == nil {
			t.Fatalf("%+v", e)
		}
	}
	if len(tr.events) != 20*(20*2+20*3) {
		t.Errorf("%d returns: %s%s", len(tr.events), tr.stdout, tail(tr.stderr))
	}
}

// TestEntryErrors: where entries are not known, expressions that need them are errors.
func TestEntryErrors(t *testing.T) {
	need(t, "gcc")
	prog := compile(t, "gcc", "elapsed.c", "-g", "-O1", "-no-pie")
	for _, c := range []struct{ place, collect, want string }{
		{"slow", "$elapsed", "$elapsed is known at the returns of a function only"},
		{"slow", "@entry(n)", "@entry is known at the returns of a function only"},
		{"slow%return", "@entry(nothing)", `no variable "nothing" in slow`},
		{"slow%return", "@entry(pair)", "only numbers and pointers can be kept from the entry, this is struct pair"},
		{"slow%return", "@entry(n, n)", "@entry needs one expression"},
		{"slow%return", "@entry(@entry(n))", "@entry is known at the returns of a function only"},
		{"slow%return", "@other(n)", "functions of the program cannot be called"},
		{"again%return", "$elapsed", "leads to the function's start"},
	} {
		if res := jalon(t, "trace", c.place, "-c", c.collect, "--", prog); res.status == 0 || !strings.Contains(res.stderr, c.want) {
			t.Errorf("%s, %s: status %d, want %q:\n%s", c.place, c.collect, res.status, c.want, res.stderr)
		}
	}
}

// TestErrorAtSomePlaces: what a collect list has at some of its places only is missing at the others, with the reason.
func TestErrorAtSomePlaces(t *testing.T) {
	need(t, "gcc")
	prog := compile(t, "gcc", "elapsed.c", "-g", "-O1", "-no-pie")
	res := jalon(t, "trace", "slow", "main", "slow%return", "-c", "$elapsed", "--", prog)
	const want = "$elapsed is known at the returns of a function only"
	if res.status != 0 || strings.Contains(res.stderr, "error:") || !strings.Contains(res.stderr, want) || strings.Count(res.stdout, "$elapsed=<"+want+">") != 41 {
		t.Errorf("status %d, want %q:\n%s%s", res.status, want, res.stdout, res.stderr)
	}
}

// TestEntriesGivenBack: threads have ever new stacks, and some end in a call or leave it by longjmp. All returns find their entries,
// though there are more frames than a map has room for.
func TestEntriesGivenBack(t *testing.T) {
	need(t, "gcc")
	lives, depth := 4_000, 45 // twice as many frames as there is room for
	if os.Getenv("JALON_FULL") != "" {
		lives, depth = 1_000_000, 1
	}
	prog := compile(t, "gcc", "lives.c", "-g", "-O1", "-pthread")
	tr := trace(t, "--buffer", "64M", "paired%return if (@entry(n) != $ret || $elapsed > 1000000000000)", "-c", "$ret", "--", prog, fmt.Sprint(lives), fmt.Sprint(depth))
	var returned uint64
	if _, err := fmt.Sscan(tr.stdout, &returned); err != nil || returned < uint64(lives*(depth+1))*3/4 {
		t.Fatalf("the program prints %q: %v", tr.stdout, err)
	}
	if tr.sum.Hits != returned || tr.sum.False != returned || tr.sum.Faults != 0 {
		t.Errorf("%d returns, the program has %d; %d with the values of their entry, %d without\n%s", tr.sum.Hits, returned, tr.sum.False, tr.sum.Faults, tail(tr.stderr))
	}
	t.Logf("%d threads, %d returns, all with their entries", lives, returned)
}

// TestEntryOfReplaced: a call forks, and returns in both processes; one runs while a vfork child executes; one is replaced by an exec. The
// program does the same as untraced, and each return of the traced process has the values of its own call.
func TestEntryOfReplaced(t *testing.T) {
	need(t, "gcc")
	prog := compile(t, "gcc", "replaced.c", "-g", "-O1")
	tr := trace(t, "paired%return", "-c", "@entry(n), $ret, $elapsed", "--", prog)
	equal(t, "output", tr.stdout, "first 20\nsecond 20\n")
	for i, e := range tr.events {
		if number(e.Values["@entry(n)"]) != float64(i) || number(e.Values["$ret"]) != float64(i) || e.Values["$elapsed"] == nil {
			t.Errorf("return %d: %+v", i, e)
		}
	}
	if len(tr.events) != 20 || tr.sum.Lost != 0 {
		t.Errorf("%d returns, %d records lost", len(tr.events), tr.sum.Lost)
	}
	if want := "the program has called exec of " + prog + ":"; !strings.Contains(tr.stderr, want) {
		t.Errorf("error output %q, want %q", tr.stderr, want)
	}
}
