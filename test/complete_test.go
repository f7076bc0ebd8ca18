package test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	public "github.com/jalon-trace/jalon"
	"github.com/jalon-trace/jalon/internal/ctf"
	"github.com/jalon-trace/jalon/test/testkit"
)

// partInfo is what a part of a recording says of itself.
func partInfo(t *testing.T, dir string) (x ctf.FileInfo) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "jalon", "info.json"))
	if err == nil {
		err = json.Unmarshal(b, &x)
	}
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestCompleteFrom: two threads exchange their CPUs, so that the buffers that they left keep older events of theirs than those where they
// are. Parts of a flight recorder, and the whole, say from which time on they have all events: from then on each thread's numbers ascend by
// one up to its last call, and before it some are missing. The report marks it.
func TestCompleteFrom(t *testing.T) {
	prog := compile(t, "gcc", "migrates.c", "-g", "-O1", "-pthread")
	runtime := t.TempDir()
	if err := os.Chmod(runtime, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	for _, tunables := range []string{"", "glibc.pthread.rseq=0"} {
		t.Setenv("GLIBC_TUNABLES", tunables)
		dir := filepath.Join(t.TempDir(), "run")
		j := testkit.StartTold(t, exec.Command(jalonBin, "record", "-v", "-o", dir, "--flight", "64k", "work", "-c", "thread, i", "--", prog))
		calls, rounds := [2]int64{}, 0
		round := func(n, m int64) {
			j.Send(fmt.Sprint(n, m))
			calls[0], calls[1] = calls[0]+n, calls[1]+m
			rounds++
			j.AwaitOut(fmt.Sprintf("ready %d\n", rounds))
		}
		take := func() {
			if r := jalon(t, "snapshot", dir); r.status != 0 {
				t.Fatalf("%d: %s", r.status, r.stderr)
			}
		}
		// all checks a trace: gaps are before its time, if there are any.
		all := func(what, dir string, from int64, gaps bool) {
			t.Helper()
			r := jalon(t, "report", dir, "-f", "json")
			before, after, last := testkit.Gaps(t, testkit.ParseEvents(t, strings.NewReader(r.stdout)), "thread", "i", from)
			if (before > 0) != gaps || after != 0 || last[0] != calls[0]-1 || last[1] != calls[1]-1 {
				t.Errorf("%q, %s: %d gaps before %d and %d behind it, want some: %t; the last are %v of %d calls", tunables, what, before, from, after, gaps, last, calls)
			}
			if said := strings.Contains(r.stderr, "all events are there from"); said != gaps {
				t.Errorf("%q, %s: %s", tunables, what, r.stderr)
			}
			text := jalon(t, "report", dir, "--time", "mono").stdout
			_, marked, is := strings.Cut(text, " --- all events are there from this time on")
			rest := jalon(t, "report", dir, "--from", "complete", "--time", "mono")
			if is != gaps || is && strings.Count(marked, "\n") != strings.Count(rest.stdout, "\n")+1 || strings.Contains(rest.stderr, "missing") || strings.Contains(rest.stdout, "---") {
				t.Errorf("%q, %s: marked: %t, %d lines behind it, and %d from then on: %s", tunables, what, is, strings.Count(marked, "\n"), strings.Count(rest.stdout, "\n"), rest.stderr)
			}
		}
		round(100, 100)
		several := !strings.Contains(j.Out.String(), "ready 0 of 1\n")
		take()
		if x := partInfo(t, parts(t, dir)[0]); x.CompleteFrom != 0 || x.Gaps {
			t.Errorf("%q: nothing was overwritten, and %+v", tunables, x)
		}
		all("nothing overwritten", dir, 0, false)
		round(1000, 1000)
		round(20000, 10)
		round(10, 10)
		take()
		x := partInfo(t, parts(t, dir)[1])
		if x.CompleteFrom == 0 || !x.Gaps {
			t.Errorf("%q: %+v", tunables, x)
		}
		if several { // with one CPU its buffer has all of the newest events
			all("first part with gaps", parts(t, dir)[1], x.CompleteFrom, true)
		}
		all("with gaps", dir, x.CompleteFrom, true)
		round(100, 100)
		take()
		after := partInfo(t, parts(t, dir)[2])
		if after.CompleteFrom <= x.CompleteFrom || after.Gaps {
			t.Errorf("%q: a part that has all since the one before: %+v", tunables, after)
		}
		all("the next part", parts(t, dir)[2], after.CompleteFrom, false)
		all("with a part more", dir, x.CompleteFrom, true)
		round(10, 20000)
		round(10, 10)
		j.Send("end")
		j.Wait()
		list := parts(t, dir)
		end := partInfo(t, list[len(list)-1])
		if end.CompleteFrom <= after.CompleteFrom || !end.Gaps {
			t.Errorf("%q: the end: %+v", tunables, end)
		}
		all("the end", dir, end.CompleteFrom, true)
		if want := fmt.Sprintf("complete_from = %d", end.CompleteFrom); !strings.Contains(metadata(t, list[len(list)-1]), want) {
			t.Errorf("%q: the environment has no %q", tunables, want)
		}
		babeltrace(t, list[len(list)-1])
		tr, err := public.OpenRecording(dir)
		if err != nil {
			t.Fatal(err)
		}
		if at := tr.CompleteFrom(); at.UnixNano() != end.CompleteFrom+end.WallOffset {
			t.Errorf("%q: the package has %v, want %d", tunables, at, end.CompleteFrom)
		}
		tr.Close()
	}
}

func metadata(t *testing.T, dir string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "metadata"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestCompleteShown: jalon trace --overwrite marks the time in its text and has it in its summary, and so has a recording with --on-full
// overwrite.
func TestCompleteShown(t *testing.T) {
	prog := compile(t, "gcc", "migrates.c", "-g", "-O1", "-pthread")
	const input = "1000 1000\n20000 10\n10 10\n"
	file := filepath.Join(t.TempDir(), "events")
	var sum struct {
		CompleteFrom int64 `json:"complete_from"`
	}
	r := runInput(t, input, jalonArgs("trace", "--overwrite", "--buffer", "64k", "--summary-json", "-f", "json", "-o", file, "work", "-c", "thread, i", "--", prog)...)
	_, line, _ := strings.Cut("\n"+r.stderr, "\n{") // there may be warnings around it
	line, _, _ = strings.Cut(line, "\n")
	if err := json.Unmarshal([]byte("{"+line), &sum); err != nil || sum.CompleteFrom == 0 {
		t.Fatalf("%v: %s", err, r.stderr)
	}
	before, after, last := testkit.Gaps(t, readEvents(t, file), "thread", "i", sum.CompleteFrom)
	several := !strings.Contains(r.stdout, "ready 0 of 1\n")
	if several && before == 0 || after != 0 || last[0] != 21009 || last[1] != 1019 {
		t.Errorf("%d gaps before %d and %d behind it, the last are %v", before, sum.CompleteFrom, after, last)
	}
	r = runInput(t, input, jalonArgs("trace", "--overwrite", "--buffer", "64k", "-o", file, "work", "-c", "thread, i", "--", prog)...)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	first, rest, marked := strings.Cut(string(text), " --- all events are there from this time on")
	if several && !marked || marked && (!strings.Contains(rest, "i=21009\n") || !strings.Contains(first, "i=")) {
		t.Errorf("marked: %t\n%s", marked, r.stderr)
	}
	r = runInput(t, "10 10\n", jalonArgs("trace", "--overwrite", "--buffer", "64k", "--summary-json", "-o", file, "work", "--", prog)...)
	if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), "---") || strings.Contains(r.stderr, "complete_from") {
		t.Errorf("nothing was overwritten: %v\n%s%s", err, text, r.stderr)
	}
	dir := filepath.Join(t.TempDir(), "run")
	r = runInput(t, input, jalonArgs("record", "-o", dir, "--buffer", "64k", "--on-full", "overwrite", "work", "-c", "thread, i", "--", prog)...)
	x := partInfo(t, parts(t, dir)[0])
	if r.status != 0 || x.CompleteFrom == 0 || !x.Gaps {
		t.Errorf("%d, %+v: %s", r.status, x, r.stderr)
	}
	before, after, _ = testkit.Gaps(t, testkit.ParseEvents(t, strings.NewReader(jalon(t, "report", dir, "-f", "json").stdout)), "thread", "i", x.CompleteFrom)
	if several && before == 0 || after != 0 {
		t.Errorf("%d gaps before %d and %d behind it", before, x.CompleteFrom, after)
	}
}
