package kernelguest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hit is an event as jalon prints it in JSON.
type hit struct {
	Time     int64
	CPU      int
	Pid, Tid int
	Comm     string
	Place    string
	Function string
	Values   map[string]any
	Errors   map[string]string
}

// num is a number among the values; a missing one fails the test.
func (h *hit) num(t *testing.T, name string) int64 {
	t.Helper()
	n, ok := h.Values[name].(json.Number)
	if !ok {
		t.Fatalf("%s: %s is no number but %v (%s)", h.Place, name, h.Values[name], h.Errors[name])
	}
	v, err := n.Int64()
	if err != nil { // an unsigned one
		var u uint64
		if _, err = fmt.Sscan(n.String(), &u); err != nil {
			t.Fatal(err)
		}
		v = int64(u)
	}
	return v
}

// text is a string among the values without the zeros that fill an array.
func (h *hit) text(name string) string {
	s, _ := h.Values[name].(string)
	s, _, _ = strings.Cut(s, "\x00")
	return s
}

// totals is what --summary-json prints.
type totals struct {
	Hits, Recorded, False, Faults, Lost, Missed, Torn uint64
	Sites                                             int
	Outcome                                           string
}

// outcome is what a run of jalon gave.
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
		out = append(out, list[i].num(t, name))
	}
	return out
}

// run runs jalon trace and returns what came of it; it may fail.
func run(t *testing.T, args ...string) *outcome {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), jalon, append([]string{"trace", "--format=json", "--summary-json"}, args...)...)
	var out, msg bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &msg
	err := cmd.Run()
	o := &outcome{stderr: msg.String()}
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	o.status = cmd.ProcessState.ExitCode()
	o.hits = parse(t, &out)
	for _, line := range strings.Split(o.stderr, "\n") {
		if strings.HasPrefix(line, "{") {
			if err := json.Unmarshal([]byte(line), &o.totals); err != nil {
				t.Fatalf("the summary %s: %v", line, err)
			}
		}
	}
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

func parse(t *testing.T, r io.Reader) []hit {
	t.Helper()
	var out []hit
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		if h, ok := parseLine(t, sc.Bytes()); ok {
			out = append(out, h)
		}
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// parseLine reads one line; what the traced program itself printed is no event.
func parseLine(t *testing.T, line []byte) (h hit, ok bool) {
	t.Helper()
	if !bytes.HasPrefix(line, []byte("{")) {
		return h, false
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	if err := d.Decode(&h); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return h, true
}

// tracer is a jalon that traces while the test does something.
type tracer struct {
	t    *testing.T
	cmd  *exec.Cmd
	out  chan []byte // lines
	msg  bytes.Buffer
	hits []hit
}

// start starts jalon trace; the events come one by one, by next.
func start(t *testing.T, args ...string) *tracer {
	t.Helper()
	tr := &tracer{t: t, cmd: exec.CommandContext(t.Context(), jalon, append([]string{"trace", "--format=json", "--summary-json"}, args...)...)}
	r, err := tr.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	tr.cmd.Stderr = &tr.msg
	if err := tr.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tr.cmd.Process.Kill(); _ = tr.cmd.Wait() })
	tr.out = make(chan []byte, 100_000)
	go func() {
		defer close(tr.out)
		sc := bufio.NewScanner(r)
		for sc.Scan() {
			tr.out <- bytes.Clone(sc.Bytes())
		}
	}()
	return tr
}

// patience is how long an event may be on its way.
const patience = 300 * time.Millisecond

// tryNext gives the next event, or false when none is there for some time.
func (tr *tracer) tryNext() (hit, bool) {
	tr.t.Helper()
	late := time.After(patience)
	for {
		select {
		case line, open := <-tr.out:
			if !open {
				_ = tr.cmd.Wait()
				tr.t.Fatalf("jalon has ended:\n%s", tr.msg.String())
			}
			if h, ok := parseLine(tr.t, line); ok {
				tr.hits = append(tr.hits, h)
				return h, true
			}
		case <-late:
			return hit{}, false
		}
	}
}

// next waits for an event; false at the end of all.
func (tr *tracer) next() (hit, bool) {
	tr.t.Helper()
	for line := range tr.out {
		if h, ok := parseLine(tr.t, line); ok {
			tr.hits = append(tr.hits, h)
			return h, true
		}
	}
	return hit{}, false
}

// stop asks jalon to end and returns all that it showed.
func (tr *tracer) stop() *outcome {
	tr.t.Helper()
	_ = tr.cmd.Process.Signal(os.Interrupt)
	for {
		if _, ok := tr.next(); !ok {
			break
		}
	}
	err := tr.cmd.Wait()
	o := &outcome{hits: tr.hits, stderr: tr.msg.String(), status: tr.cmd.ProcessState.ExitCode()}
	if err != nil {
		tr.t.Fatalf("jalon: %v\n%s", err, o.stderr)
	}
	for _, line := range strings.Split(o.stderr, "\n") {
		if strings.HasPrefix(line, "{") {
			if err := json.Unmarshal([]byte(line), &o.totals); err != nil {
				tr.t.Fatal(err)
			}
		}
	}
	return o
}

// kill ends jalon at once.
func (tr *tracer) kill() {
	tr.t.Helper()
	if err := tr.cmd.Process.Kill(); err != nil {
		tr.t.Fatal(err)
	}
	for range tr.out {
	}
	_ = tr.cmd.Wait()
}

// worker is the C program with something to do for each byte that it is given.
type worker struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out io.Reader
}

func work(t *testing.T, args ...string) *worker {
	t.Helper()
	w := &worker{t: t, cmd: exec.CommandContext(t.Context(), calls, args...)}
	var err error
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if w.out, err = w.cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.in.Close(); _ = w.cmd.Wait() })
	return w
}

// once has it work once and returns its answer.
func (w *worker) once() byte {
	w.t.Helper()
	var b [1]byte
	if _, err := w.in.Write([]byte{'.'}); err != nil {
		w.t.Fatal(err)
	}
	if _, err := io.ReadFull(w.out, b[:]); err != nil {
		w.t.Fatal(err)
	}
	return b[0]
}

// kernelIs says whether the guest's kernel is of that series.
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
