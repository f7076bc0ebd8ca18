package test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/test/testkit"
)

const (
	threadCount = 16
	threadCalls = 1_000_000
)

// threadsSum is the output of threads.c.
func threadsSum(threads, calls int64) string {
	var sum int64
	for id := range threads {
		sum += calls*id*31 + calls*(calls-1)/2
	}
	return fmt.Sprintf("sum %d\n", sum)
}

// inOrder checks that each thread's events carry increasing numbers, by step
// where no event was lost (step > 0), and returns how many events there are.
func inOrder(t *testing.T, events []event, step int64) {
	t.Helper()
	last := map[int64]int64{}
	tid := map[int64]int{}
	for i := range events {
		e := &events[i]
		id, n := e.Num(t, "job->id"), e.Num(t, "i")
		if old, ok := tid[id]; ok && old != e.Tid {
			t.Fatalf("event %d: job %d was thread %d's and is %d's", i, id, old, e.Tid)
		}
		tid[id] = e.Tid
		if old, ok := last[id]; ok && (n <= old || step > 0 && n != old+step) {
			t.Fatalf("event %d: thread %d: call %d after %d", i, id, n, old)
		}
		last[id] = n
	}
}

func TestThreadsCountEveryHit(t *testing.T) {
	prog := compile(t, "gcc", "threads.c", "-g", "-O2", "-pthread")
	r := trace(t, "work if (i % 1000 == 7)", "-c", "i, job->id", "--", prog, fmt.Sprint(threadCount), fmt.Sprint(threadCalls))
	equal(t, "output", r.stdout, threadsSum(threadCount, threadCalls))
	if r.sum.Hits != threadCount*threadCalls || r.sum.Lost != 0 || r.sum.Recorded != threadCount*threadCalls/1000 {
		t.Errorf("summary: %+v, want %d hits", r.sum, threadCount*threadCalls)
	}
	if uint64(len(r.events)) != r.sum.Recorded {
		t.Errorf("%d events, %d recorded", len(r.events), r.sum.Recorded)
	}
	inOrder(t, r.events, 1000)
}

// Nothing is lost if the buffer is large enough.
func TestThreadsLargeBuffer(t *testing.T) {
	calls := 5_000
	if full {
		calls = 100_000
	}
	prog := compile(t, "gcc", "threads.c", "-g", "-O2", "-pthread")
	r := trace(t, "--buffer", "256M", "work", "-c", "i, job->id", "--", prog, fmt.Sprint(threadCount), fmt.Sprint(calls))
	equal(t, "output", r.stdout, threadsSum(threadCount, int64(calls)))
	want := uint64(threadCount * calls)
	if r.sum.Hits != want || r.sum.Recorded != want || r.sum.Lost != 0 || uint64(len(r.events)) != want {
		t.Errorf("%d events, summary %+v, want %d of each and none lost", len(r.events), r.sum, want)
	}
	inOrder(t, r.events, 1)
}

// Records that do not fit are counted.
func TestThreadsSmallBuffer(t *testing.T) {
	calls := 30_000
	if full {
		calls = threadCalls
	}
	prog := compile(t, "gcc", "threads.c", "-g", "-O2", "-pthread")
	r := trace(t, "--buffer", "64k", "work", "-c", "i, job->id", "--", prog, fmt.Sprint(threadCount), fmt.Sprint(calls))
	equal(t, "output", r.stdout, threadsSum(threadCount, int64(calls)))
	if r.sum.Recorded+r.sum.Lost != uint64(threadCount*calls) || r.sum.Hits != uint64(threadCount*calls) {
		t.Errorf("recorded %d + lost %d = %d, want %d", r.sum.Recorded, r.sum.Lost, r.sum.Recorded+r.sum.Lost, threadCount*calls)
	}
	if r.sum.Lost == 0 {
		t.Error("nothing was lost: this tests nothing")
	}
	if uint64(len(r.events)) != r.sum.Recorded {
		t.Errorf("%d events, %d recorded", len(r.events), r.sum.Recorded)
	}
	inOrder(t, r.events, 0)
	// At full speed, and without further reading, the count is still exact.
	n := trace(t, "--buffer", "64k", "-f", "none", "work", "-c", "i, job->id", "--", prog, fmt.Sprint(threadCount), fmt.Sprint(threadCalls))
	if n.sum.Recorded+n.sum.Lost != threadCount*threadCalls {
		t.Errorf("recorded %d + lost %d, want %d", n.sum.Recorded, n.sum.Lost, threadCount*threadCalls)
	}
}

// Threads that come and go by the thousand.
func TestThreadsComeAndGo(t *testing.T) {
	n := 4000
	if full {
		n = 40000
	}
	prog := compile(t, "gcc", "churn.c", "-g", "-O2", "-pthread")
	want := run(t, prog, fmt.Sprint(n))
	for _, avoid := range tactics {
		r := trace(t, "--avoid", avoid.bits, "visit", "-c", "i", "--", prog, fmt.Sprint(n))
		equal(t, "output", r.stdout, want.stdout)
		if r.sum.Hits != uint64(2*n) || len(r.events) != 2*n {
			t.Errorf("%s: %d events, summary %+v, want %d", avoid.name, len(r.events), r.sum, 2*n)
		}
		seen := map[int64]int{}
		for i := range r.events {
			seen[r.events[i].Num(t, "i")]++
		}
		if len(seen) != n+1 || seen[1] != 2 || seen[0] != 1 {
			t.Errorf("%s: %d different values, want %d", avoid.name, len(seen), n+1)
		}
	}
}

// tactics are the tactics of a site, selected by forbidding others.
var tactics = []struct{ name, bits string }{
	{"best", "0"},
	{"punned", "3"},
	{"int3", "7"},
}

// target is checked.c under our control.
type target struct {
	*running
	in *os.File
}

func startTarget(t *testing.T, threads int, flags ...string) *target {
	t.Helper()
	return startChecked(t, compile(t, "gcc", "checked.c", append([]string{"-g", "-pthread"}, flags...)...), threads)
}

// startChecked starts a program with the protocol of checked.c.
func startChecked(t *testing.T, prog string, threads int) *target {
	t.Helper()
	return startCheckedCmd(t, exec.Command(prog, fmt.Sprint(threads)))
}

// startCheckedCmd is startChecked for a command that runs the program.
func startCheckedCmd(t *testing.T, cmd *exec.Cmd) *target {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = r
	x := &target{running: startCmd(t, cmd), in: w}
	_ = r.Close()
	t.Cleanup(func() { _ = w.Close() })
	x.goesOn("at first")
	return x
}

// goesOn makes sure that every thread of the target gets through all its
// functions once more.
func (x *target) goesOn(when string) {
	x.T.Helper()
	before := strings.Count(x.Out.String(), "on\n")
	if _, err := x.in.Write([]byte("?")); err != nil {
		x.T.Fatalf("%s: the target is gone: %v; status %d, stderr %q", when, err, x.Status, x.Errs.String())
	}
	deadline := time.Now().Add(patience)
	for strings.Count(x.Out.String(), "on\n") == before {
		select {
		case <-x.Ended:
			x.T.Fatalf("%s: the target ended with status %d", when, x.Status)
		default:
		}
		if time.Now().After(deadline) {
			x.T.Fatalf("%s: the target hangs\n%s", when, x.StateOf())
		}
		time.Sleep(200 * time.Microsecond)
	}
}

// finish ends the target and checks that all its results were right.
func (x *target) finish(when string) {
	x.T.Helper()
	_ = x.in.Close()
	r := x.wait()
	if r.status != 0 || !strings.HasSuffix(r.stdout, "ok\n") {
		x.T.Fatalf("%s: status %d, output %q", when, r.status, tail(r.stdout))
	}
}

// tamePlaces are sites in every function of checked.c; wildPlaces follow a pointer
// that leads nowhere most of the time.
var (
	tamePlaces = []string{
		"leaf if (a == 4)", "loop if (n < 0)", "depth if (n == 1000)", "mixed if (x > 100)", "choose if (k > 4000000000)",
		"wild if (follow == 3)", "uprobe:checked:wild if (arg1 == 77)", "text if (from == \"nothing\")", "tight if (n == 0)",
	}
	wildPlaces = []string{
		"leaf if (a == 4)", "loop if (n < 0)", "depth if (n == 1000)", "mixed if (x > 100)", "choose if (k > 4000000000)",
		"wild if (p->next->value == 3)", "uprobe:checked:wild if (*(long *)arg0 == 77)", "text if (from == \"nothing\")", "tight if (n == 0)",
	}
)

// jalon is killed at any time: while it arms, runs, detaches.
func TestJalonKilled(t *testing.T) {
	rounds := 3
	if full {
		rounds = 100
	}
	for _, flags := range []string{"-O0", "-O2"} {
		for _, tac := range tactics {
			sets := map[string][]string{"/tame": tamePlaces, "/wild": wildPlaces}
			if tac.name == "best" { // no int3: the last place is the one that needs it
				sets["/jumps"] = tamePlaces[:len(tamePlaces)-1]
			}
			for name, places := range sets {
				t.Run(tac.name+flags+name, func(t *testing.T) {
					for i := range rounds {
						killedOnce(t, i, tac.bits, flags, places)
					}
				})
			}
		}
	}
}

// killedOnce attaches jalon, kills it after a while that chance chooses (that it
// is any moment is the point) and looks how the target does.
func killedOnce(t *testing.T, i int, avoid, flags string, places []string) {
	x := startTarget(t, 3, flags)
	args := append(jalonArgs("trace", "-f", "json", "--avoid", avoid, "-p", fmt.Sprint(x.Pid()), "-o", filepath.Join(t.TempDir(), "ev"), "-v"), places...)
	j := start(t, args...)
	when, last := fmt.Sprintf("round %d", i), "armed after"
	switch i % 3 {
	case 0: // while it arms
		eventually(t, "jalon stops the target: "+tail(j.Errs.String()), func() bool { return strings.Contains(j.Errs.String(), "stopped for") || ended(j) })
		time.Sleep(time.Duration(rand.Int64N(int64(20 * time.Millisecond))))
	case 1: // while it runs
		eventually(t, "jalon arms: "+tail(j.Errs.String()), func() bool { return strings.Contains(j.Errs.String(), last) || ended(j) })
		time.Sleep(time.Duration(rand.Int64N(int64(2 * time.Millisecond))))
	case 2: // while it detaches
		eventually(t, "jalon arms", func() bool { return strings.Contains(j.Errs.String(), last) || ended(j) })
		j.Signal(syscall.SIGINT)
		time.Sleep(time.Duration(rand.Int64N(int64(6 * time.Millisecond))))
	}
	j.Kill()
	testkit.NoPanic(t, args, j.Errs.String())
	if i%3 != 0 && strings.Contains(j.Errs.String(), "error:") {
		t.Fatalf("%s: jalon could not trace: %s", when, j.Errs.String())
	}
	x.goesOn(when + ": jalon was killed")
	x.goesOn(when + ": jalon was killed, second look")
	x.finish(when)
}

func ended(r *running) bool {
	select {
	case <-r.Ended:
		return true
	default:
		return false
	}
}

// startOutlived starts a program whose child continues after its end. Their output is read until the child
// has ended too, which closes done. (startCmd would allow the child only some seconds.)
func startOutlived(t *testing.T, cmd *exec.Cmd) (x *running, done <-chan struct{}) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	x = startCmd(t, cmd)
	_ = w.Close()
	end := make(chan struct{})
	go func() {
		defer close(end)
		defer r.Close()
		_, _ = io.Copy(&x.Out, r)
	}()
	return x, end
}

// A jalon that starts its program and is killed leaves it running.
func TestJalonKilledLaunched(t *testing.T) {
	rounds := 6
	if full {
		rounds = 100
	}
	prog := compile(t, "gcc", "checked.c", "-g", "-O2", "-pthread")
	for i := range rounds {
		avoid := tactics[i%len(tactics)].bits
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(jalonBin, append([]string{"trace", "-f", "none", "--avoid", avoid, "-v"}, append(append([]string{}, wildPlaces...), "--", prog, "2")...)...)
		cmd.Stdin = r
		j, done := startOutlived(t, cmd)
		x := &target{running: j, in: w}
		_ = r.Close()
		eventually(t, "jalon arms", func() bool { return strings.Contains(x.Errs.String(), "armed after") || ended(x.running) })
		x.goesOn("with jalon")
		child := childOf(x.Pid())
		if child == 0 {
			t.Fatalf("jalon has no child: %s", x.Errs.String())
		}
		x.Signal(syscall.SIGKILL)
		before := strings.Count(x.Out.String(), "on\n")
		if _, err := w.Write([]byte("?")); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the orphan goes on", func() bool { return strings.Count(x.Out.String(), "on\n") > before || !alive(child) })
		_ = w.Close()
		eventually(t, "the orphan ends", func() bool { return !alive(child) })
		<-x.Ended
		<-done
		if out := x.Out.String(); !strings.HasSuffix(out, "ok\n") {
			t.Fatalf("round %d (%s): the orphan's output: %q, stderr %q", i, tactics[i%len(tactics)].name, out, tail(x.Errs.String()))
		}
	}
}

// The target is killed at any time: its records are read, and jalon ends with its status.
func TestTargetKilled(t *testing.T) {
	rounds := 9
	if full {
		rounds = 400
	}
	prog := compile(t, "gcc", "checked.c", "-g", "-O2", "-pthread")
	for i := range rounds {
		file := filepath.Join(t.TempDir(), "events")
		cmd := exec.Command(jalonBin, "trace", "--avoid", tactics[i%3].bits, "-f", "json", "-o", file, "--summary-json", "--buffer", "256k",
			"leaf", "wild", "text", "-c", "$args, $bt", "--", prog, "3")
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdin = r
		j := startCmd(t, cmd)
		_ = r.Close()
		eventually(t, "events come", func() bool {
			st, err := os.Stat(file)
			return err == nil && st.Size() > 0 || ended(j)
		})
		child := childOf(j.Pid())
		if child == 0 {
			t.Fatalf("jalon has no child: %s", j.Errs.String())
		}
		time.Sleep(time.Duration(rand.Int64N(int64(3 * time.Millisecond)))) // chance chooses the moment
		if err := syscall.Kill(child, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		res := j.wait()
		_ = w.Close()
		sum := summaryOf(t, res)
		events := readEvents(t, file)
		if res.status != 128+9 || sum.Outcome != "killed by SIGKILL" {
			t.Errorf("status %d, outcome %q", res.status, sum.Outcome)
		}
		if len(events) == 0 || uint64(len(events)) != sum.Recorded {
			t.Errorf("%d events, %d recorded", len(events), sum.Recorded)
		}
		if sum.Torn > 3 {
			t.Errorf("%d records torn by 3 threads", sum.Torn)
		}
	}
}

// jalon attaches and detaches repeatedly, by Ctrl-C, -d and -n: the target is unchanged.
func TestAttachDetach(t *testing.T) {
	rounds := 6
	if full {
		rounds = 150
	}
	for _, tac := range tactics {
		x := startTarget(t, 4, "-O2")
		text := codeBytes(t, x.Pid())
		for i := range rounds {
			how := [][]string{{"-d", "30ms"}, {"-n", "50"}, {"-d", "1ms"}}[i%3]
			file := filepath.Join(t.TempDir(), "events")
			args := append(jalonArgs("trace", "--avoid", tac.bits, "-f", "json", "-o", file, "--summary-json", "-p", fmt.Sprint(x.Pid()), "leaf", "wild if (p->value != 0 || 1)", "text"), how...)
			r := run(t, args...)
			sum := summaryOf(t, r)
			if r.status != 0 || sum.Outcome != "detached" {
				t.Fatalf("%s: status %d: %s", tac.name, r.status, r.stderr)
			}
			if how[0] == "-n" && len(readEvents(t, file)) != 50 {
				t.Errorf("%s: -n 50: %d events", tac.name, len(readEvents(t, file)))
			}
			if pid := tracerOf(x.Pid()); pid != 0 {
				t.Fatalf("%s: still traced by %d", tac.name, pid)
			}
			if got := codeBytes(t, x.Pid()); got != text {
				t.Fatalf("%s: the program's code is not as before", tac.name)
			}
			x.goesOn(tac.name)
		}
		x.finish(tac.name)
	}
}

// codeBytes is the executable's code as it is in a process's memory now.
func codeBytes(t *testing.T, pid int) string {
	t.Helper()
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	var code strings.Builder // of all its mappings: pages whose protection was changed may stay one of their own
	for _, line := range strings.Split(string(maps), "\n") {
		var lo, hi int64
		if !strings.HasSuffix(line, exe) || !strings.Contains(line, "r-xp") {
			continue
		}
		if _, err := fmt.Sscanf(line, "%x-%x", &lo, &hi); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, hi-lo)
		if _, err := mem.ReadAt(b, lo); err != nil {
			t.Fatal(err)
		}
		code.Write(b)
	}
	if code.Len() == 0 {
		t.Fatalf("no code of %s in its maps", exe)
	}
	return code.String()
}
