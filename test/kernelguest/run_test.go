package kernelguest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// Parsing of jalon's output.
type (
	hit    = testkit.Event
	totals = testkit.Totals
)

// str is a string among the values without the zeros that fill an array.
func str(h *hit, name string) string {
	s, _, _ := strings.Cut(h.Str(name), "\x00")
	return s
}

// outcome is the result of a run of jalon.
type outcome struct {
	hits   []hit
	totals totals
	stderr string
	status int
}

// of are the hits at a place.
func (o *outcome) of(place string) []hit {
	var out []hit
	for _, h := range o.hits {
		if h.Place == place {
			out = append(out, h)
		}
	}
	return out
}

// nums are the numbers under a name at a place, in their order.
func (o *outcome) nums(t *testing.T, place, name string) []int64 {
	t.Helper()
	var out []int64
	list := o.of(place)
	for i := range list {
		out = append(out, list[i].Num(t, name))
	}
	return out
}

// options are those that every run has.
var options = []string{jalon, "trace", "--format=json", "--summary-json"}

// run runs jalon trace and returns its result; it may fail.
func run(t *testing.T, args ...string) *outcome {
	t.Helper()
	return ended(t, testkit.Start(t, slices.Concat(options, args)...))
}

func ended(t testing.TB, p *testkit.Process) *outcome {
	t.Helper()
	p.Wait()
	o := &outcome{hits: testkit.ParseEvents(t, strings.NewReader(p.Out.String())), stderr: p.Errs.String(), status: p.Status}
	o.totals, _ = testkit.FindTotals(o.stderr) // a refused trace has no output
	o.totals.ArmedMS, o.totals.PauseUS = 0, 0
	return o
}

// point is a tracepoint with a collect list of its own.
type point struct{ place, cond, list string }

// script writes a file of tracepoints and returns the option that names it.
func script(t *testing.T, points ...point) string {
	t.Helper()
	var b strings.Builder
	for _, p := range points {
		fmt.Fprintf(&b, "trace %s\n", p.place)
		if p.cond != "" {
			fmt.Fprintf(&b, "  condition $tpnum %s\n", p.cond)
		}
		fmt.Fprintf(&b, "  actions\n    collect %s\n  end\n", p.list)
	}
	name := filepath.Join(t.TempDir(), "points")
	if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return "--file=" + name
}

// trace is run where jalon must end well.
func trace(t *testing.T, args ...string) *outcome {
	t.Helper()
	o := run(t, args...)
	if o.status != 0 {
		t.Fatalf("jalon trace %q ended with status %d:\n%s", args, o.status, o.stderr)
	}
	return o
}

// tracer is a jalon that traces while the test does something.
type tracer struct{ *testkit.Process }

// start starts jalon trace and waits until its sites are armed.
func start(t *testing.T, args ...string) tracer {
	t.Helper()
	p := testkit.Start(t, slices.Concat(options, []string{"-v"}, args)...)
	p.AwaitErr("armed after")
	return tracer{p}
}

// stop ends jalon and returns its whole output.
func (tr tracer) stop() *outcome {
	tr.T.Helper()
	tr.Signal(syscall.SIGINT)
	o := ended(tr.T, tr.Process)
	if o.status != 0 {
		tr.T.Fatalf("jalon ended with status %d:\n%s", o.status, o.stderr)
	}
	return o
}

// worker is the C program with something to do for each byte that it is given.
type worker struct {
	*testkit.Process
	turns int
}

func work(t *testing.T, args ...string) *worker {
	t.Helper()
	return &worker{Process: testkit.StartTold(t, exec.Command(calls, args...))}
}

// once has it work once and returns its answer.
func (w *worker) once() byte {
	w.T.Helper()
	if _, err := w.In.Write([]byte{'.'}); err != nil {
		w.T.Fatal(err)
	}
	w.turns++
	testkit.Eventually(w.T, "the worker's answer", func() bool { return len(w.Out.String()) >= w.turns })
	return w.Out.String()[w.turns-1]
}

// kernelIs reports whether the guest's kernel is of that series.
func kernelIs(t *testing.T, series string) bool {
	t.Helper()
	b, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		t.Fatal(err)
	}
	return strings.HasPrefix(string(b), series+".")
}

// address is that of a symbol in /proc/kallsyms.
func address(t *testing.T, symbol string) uint64 {
	t.Helper()
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		if p := strings.Fields(sc.Text()); len(p) == 3 && p[2] == symbol {
			var addr uint64
			if _, err := fmt.Sscanf(p[0], "%x", &addr); err != nil {
				t.Fatal(err)
			}
			return addr
		}
	}
	t.Fatalf("the kernel has no symbol %s", symbol)
	return 0
}
