package kernel

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// flights are places with a number that grows with each hit, and its name in events.
var flights = []struct {
	name   string
	places []string
	field  map[string]string // by place
}{
	{"syscall", []string{"syscall:getpriority", "-c", "who"}, map[string]string{"syscall:getpriority": "who"}},
	{"tracepoint", []string{"tracepoint:syscalls:sys_enter_getpriority", "-c", "who"}, map[string]string{"tracepoint:syscalls:sys_enter_getpriority": "who"}},
	{"raw tracepoint", []string{"rawtracepoint:sys_enter if (id == 140)", "-c", "regs->si"}, map[string]string{"rawtracepoint:sys_enter": "regs->si"}},
	{"mixed", []string{"step", "-c", "i", "syscall:getpriority", "-c", "who"}, map[string]string{"step": "i", "syscall:getpriority": "who"}},
	{"uprobe", []string{"--engine", "kernel", "step", "-c", "i", "syscall:getpriority", "-c", "who"}, map[string]string{"step": "i", "syscall:getpriority": "who"}},
}

// TestFlight: a flight recorder with places of the kernel, alone and with places of the program, in the process and as uprobes. Between
// rounds of hits and during them snapshots are taken: they have the newest hit of each place; all events are in the order of time
// and come once; those that are recorded and those that were overwritten are all hits.
func TestFlight(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", runtimeDir(t))
	prog := compile(t, "gcc", "rounds.c", "-g", "-O1")
	rounds := []int{20000, 50000, 70000 * runtime.NumCPU()} // the last one is more than all buffers have room for
	for _, c := range flights {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			args := append([]string{jalonBin, "record", "-v", "--summary-json", "-o", dir, "--flight", "64k"}, c.places...)
			j := start(t, append(args, "--", prog)...)
			j.AwaitOut("ready 0\n")
			total := 0
			for i, n := range rounds {
				j.Send(fmt.Sprint(n))
				if i == 1 {
					for range 3 { // while it hits
						snapshot(t, dir)
					}
				}
				j.AwaitOut(fmt.Sprintf("ready %d\n", i+1))
				total += n
				snapshot(t, dir)
				now := reported(t, dir, "")
				for place, field := range c.field {
					events := ofPlace(now, place)
					if len(events) == 0 || events[len(events)-1].Num(t, field) != int64(n-1) {
						t.Fatalf("round %d: %s has %d events, and not the last one", i, place, len(events))
					}
				}
			}
			j.Send("end")
			j.Wait()
			sums, n := testkit.TotalsOf(t, c.name, j.Errs.String()), 0
			all := reported(t, dir, "")
			for place, field := range c.field {
				list := ofPlace(all, place)
				n += len(list)
				checkRounds(t, list, field)
			}
			if !slices.IsSortedFunc(all, func(a, b event) int { return int(a.Time - b.Time) }) || len(all) != n {
				t.Errorf("%d events, %d of the places, or they are not in order", len(all), n)
			}
			hits := uint64(total * len(c.field))
			if sums.Hits-sums.False != hits || sums.Recorded+sums.Replaced+sums.Lost != hits || sums.Recorded != uint64(n) || sums.Replaced == 0 || sums.Torn != 0 {
				t.Errorf("%d hits, %d events: %+v\n%s", hits, n, sums, j.Errs.String())
			}
		})
	}
}

// checkRounds: the numbers of a place ascend, and begin again at most once a round.
func checkRounds(t *testing.T, list []event, field string) {
	t.Helper()
	last, began := int64(-1), 0
	for _, e := range list {
		n := e.Num(t, field)
		if n <= last {
			began++
		}
		last = n
	}
	if began > 2 {
		t.Errorf("%s: the numbers begin again %d times", list[0].Place, began)
	}
}

// TestFlightTrigger: --snapshot-on at a place of the kernel is decided there; the recording of a jalon that is killed has the parts that it
// wrote, and what it leaves in the kernel ends with it.
func TestFlightTrigger(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", runtimeDir(t))
	prog := compile(t, "gcc", "rounds.c", "-g", "-O1")
	dir := filepath.Join(t.TempDir(), "run")
	j := start(t, jalonBin, "record", "-v", "-o", dir, "--flight", "64k", "--snapshot-on", "syscall:getpriority if (who == 15000)", "syscall:getpriority", "-c", "who", "--", prog)
	j.AwaitOut("ready 0\n")
	j.Send("15000") // one too few
	j.AwaitOut("ready 1\n")
	written := func() bool {
		files, err := filepath.Glob(filepath.Join(dir, "chunk-*", "kernel-*"))
		return err == nil && len(files) > 0
	}
	if written() {
		t.Fatal("events are written, and the condition has not held")
	}
	j.Send("20000")
	j.AwaitOut("ready 2\n")
	testkit.Eventually(t, "there is a part", written)
	snapshot(t, dir)
	if list := reported(t, dir, "syscall:getpriority"); len(list) == 0 || list[len(list)-1].Num(t, "who") != 19999 {
		t.Errorf("%d events, the last is not the newest", len(list))
	}
	before := partsOf(t, dir)
	j.Signal(syscall.SIGKILL)
	<-j.Ended
	if list := reported(t, dir, ""); len(list) == 0 || len(partsOf(t, dir)) < len(before) {
		t.Errorf("%d events in %d parts after jalon was killed, %d before", len(list), len(partsOf(t, dir)), len(before))
	}
}

// runtimeDir is a directory for the sockets of this test's recorders.
func runtimeDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// snapshot has the recorder of a directory write a part, and returns it.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var a struct {
		Part   string
		Events int
	}
	p := jalon(t, "snapshot", "--json", dir)
	if err := json.Unmarshal([]byte(p.Out.String()), &a); err != nil || p.Status != 0 {
		t.Fatalf("%d, %v: %s%s", p.Status, err, p.Out.String(), p.Errs.String())
	}
	return a.Part
}

func partsOf(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "chunk-*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// reported are the events of a recording at a place; "": at all.
func reported(t *testing.T, dir, place string) []event {
	t.Helper()
	p := jalon(t, "report", dir, "-f", "json")
	if p.Status != 0 {
		t.Fatalf("%d: %s", p.Status, p.Errs.String())
	}
	return ofPlace(testkit.ParseEvents(t, strings.NewReader(p.Out.String())), place)
}

// ofPlace returns the events of a place, all for "".
func ofPlace(events []event, place string) (list []event) {
	for _, e := range events {
		if place == "" || e.Place == place {
			list = append(list, e)
		}
	}
	return list
}

// TestSharedCounts: one program of the kernel serves the functions of a glob, and each has its own counts, whatever places are before it.
func TestSharedCounts(t *testing.T) {
	prog := compile(t, "gcc", "many.c", "-g", "-O1")
	for _, flags := range [][]string{nil, {"--overwrite"}} {
		p := jalon(t, append(append([]string{"trace", "--engine", "kernel", "-f", "none"}, flags...), "f_999 if (i == 5)", "f_99[0-8] if (i % 2 == 0)", "--", prog)...)
		rows := map[string]string{}
		for line := range strings.Lines(p.Errs.String()) {
			if f := strings.Fields(line); len(f) > 5 && strings.HasPrefix(f[0], "f_99") {
				rows[f[0]] = strings.Join(f[1:6], " ")
			}
		}
		for i := 990; i < 1000; i++ {
			want := "1 1 0 0 0" // hits, recorded, false, faults, lost
			if i%2 == 1 {
				want = "1 0 1 0 0"
			}
			if got := rows[fmt.Sprintf("f_%d", i)]; got != want {
				t.Errorf("%q: f_%d has the counts %q, want %q\n%s", flags, i, got, want, p.Errs.String())
			}
		}
	}
}

// TestFlightSize: a flight recorder of the kernel whose buffers have another size than the user wants says so.
func TestFlightSize(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", runtimeDir(t))
	for size, want := range map[string]bool{"1G": true, "4M": false} {
		if p := jalon(t, "trace", "--buffer", size, "syscall:exit_group", "--", "/bin/true"); strings.Contains(p.Errs.String(), "the buffers of the kernel's places have") != want {
			t.Errorf("--buffer %s: %s", size, p.Errs.String())
		}
	}
	for size, want := range map[string]string{
		"4k":    "KiB for each CPU, not 4: its parts have room for the largest event",
		"5M":    "", // 8 MiB: a power of two
		"1024k": "",
	} {
		dir := filepath.Join(t.TempDir(), "run")
		p := jalon(t, "record", "-o", dir, "--flight", size, "syscall:exit_group", "--", "/bin/true")
		if errs := p.Errs.String(); want != "" && !strings.Contains(errs, want) || want == "" && strings.Contains(errs, "KiB for each CPU") {
			t.Errorf("%s: %s", size, errs)
		}
	}
}
