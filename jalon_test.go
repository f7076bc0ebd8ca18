package jalon_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jalon-trace/jalon"
	"github.com/jalon-trace/jalon/test/testkit"
)

func one(place, cond string, collect ...string) jalon.Options {
	return jalon.Options{Tracepoints: []jalon.Tracepoint{{Place: place, Condition: cond, Collect: collect}}}
}

func start(t *testing.T, target jalon.Target, opt jalon.Options) *jalon.Trace {
	t.Helper()
	tr, err := jalon.Start(t.Context(), target, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tr.Close() })
	return tr
}

// endless starts the program, which then calls work until the test is over. It is a child of a shell, since
// wait(2) for children of this process would take the tracer's events.
func endless(t *testing.T, pause string) (pid int) {
	t.Helper()
	sh := testkit.Start(t, "sh", "-c", `"$0" "$1" & echo child $!; wait`, program, pause).AwaitOut("ready")
	testkit.Eventually(t, "the number of the child", func() bool {
		_, rest, ok := strings.Cut(sh.Out.String(), "child ")
		n, _ := fmt.Sscanf(rest, "%d\n", &pid)
		return ok && n == 1
	})
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	return pid
}

// TestValues: each way to read a value.
func TestValues(t *testing.T) {
	tr := start(t, jalon.Command(program), one("work", "n == 3",
		"n, item->number, item->colour, item->name, item->weight, item->tag, *item, *(int *)8, $regs, $bt, $comm, $tid, item"))
	var events []*jalon.Event
	for ev := range tr.Events() {
		events = append(events, ev)
	}
	if len(events) != 1 {
		t.Fatalf("%d events", len(events))
	}
	ev := events[0]
	if ev.Schema.Function != "work" || ev.Comm != "work" || ev.PID == 0 || ev.TID != ev.PID || time.Since(ev.Time).Abs() > time.Minute {
		t.Errorf("%+v", ev)
	}
	v := func(name string) jalon.Value {
		got, ok := ev.Lookup(name)
		if !ok {
			t.Fatalf("no field %s", name)
		}
		return got
	}
	if n, ok := v("item->number").Int64(); n != -7 || !ok {
		t.Errorf("number %d, %v", n, ok)
	}
	if n, ok := v("item->colour").Uint64(); n != 1 || !ok || v("item->colour").String() != "GREEN" {
		t.Errorf("colour %d, %v, %s", n, ok, v("item->colour"))
	}
	if s, ok := v("item->name").Text(); s != "hello" || !ok {
		t.Errorf("name %q, %v", s, ok)
	}
	if s, ok := v("item->tag").Text(); s != "tag" || !ok {
		t.Errorf("tag %q, %v", s, ok)
	}
	if f, ok := v("item->weight").Float64(); f != 0.5 || !ok {
		t.Errorf("weight %v, %v", f, ok)
	}
	if s := v("*item").String(); !strings.HasPrefix(s, "{number = -7, colour = GREEN, name = 0x") {
		t.Errorf("*item %s", s)
	}
	var un *jalon.Unavailable
	if err := v("*(int *)8").Err(); !errors.As(err, &un) || un.Reason != "unreadable address 0x8" {
		t.Errorf("%v", err)
	}
	if _, ok := v("*(int *)8").Int64(); ok {
		t.Error("a value for an unreadable address")
	}
	if r := v("$regs").Registers(); r["rip"] != ev.Schema.PC {
		t.Errorf("registers %v", r)
	}
	if f := v("$bt").Frames(); len(f) < 2 || f[0].Function != "work" || f[1].Function != "main" {
		t.Errorf("frames %v", f)
	}
	if s, ok := v("$comm").Text(); s != "work" || !ok {
		t.Errorf("comm %q", s)
	}
	if n, ok := v("$tid").Int64(); int(n) != ev.TID || !ok {
		t.Errorf("tid %d", n)
	}
	if n, ok := v("item").Uint64(); n == 0 || !ok {
		t.Errorf("item %#x", n)
	}
}

// TestOnArmed: a program of Command has not begun when OnArmed is called, and the call comes once.
func TestOnArmed(t *testing.T) {
	opt := one("write", "")
	out, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	size := func() int64 {
		st, err := out.Stat()
		if err != nil {
			t.Fatal(err)
		}
		return st.Size()
	}
	var got []*jalon.Trace
	before := int64(-1)
	opt.OnArmed = func(tr *jalon.Trace) { got, before = append(got, tr), size() }
	tr := start(t, jalon.Command("echo", "begun").Streams(nil, out, nil), opt)
	if _, err := tr.Wait(); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0] != tr || before != 0 || size() == 0 {
		t.Errorf("%d calls; the program had written %d bytes at the first, and %d at its end", len(got), before, size())
	}
	if _, err := jalon.Start(t.Context(), jalon.Command("echo"), jalon.Options{
		Tracepoints: []jalon.Tracepoint{{Place: "no_such_function"}}, OnArmed: opt.OnArmed,
	}); err == nil || len(got) != 1 {
		t.Errorf("%d calls after an error %v", len(got), err)
	}
}

// TestAttach traces a running process: counts, enabling and disabling, symbols, and the end by a context.
func TestAttach(t *testing.T) {
	pid := endless(t, "100")
	ctx, cancel := context.WithCancel(t.Context())
	tr, err := jalon.Start(ctx, jalon.Attach(pid), one("work", "", "n, $bt"))
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	count := func() jalon.Count {
		list, err := tr.Counts(t.Context())
		if err != nil || len(list) != 1 {
			t.Fatalf("%v, %v", list, err)
		}
		return list[0]
	}
	n := 0
	for ev := range tr.Events() {
		if f := ev.Value(1).Frames(); len(f) == 0 || f[0].Function != "work" {
			t.Errorf("frames %v", f)
		}
		if name := tr.Symbol(ev.Schema.PC); name != "work" {
			t.Errorf("symbol %q", name)
		}
		if n++; n == 20 {
			break
		}
	}
	if c := count(); !c.Enabled || c.Tracepoint != 1 || c.Recorded < 20 {
		t.Errorf("%+v", c)
	}
	if err := tr.SetEnabled(t.Context(), 1, false); err != nil {
		t.Fatal(err)
	}
	if c := count(); c.Enabled {
		t.Errorf("%+v", c)
	}
	if err := tr.SetEnabled(t.Context(), 2, false); err == nil {
		t.Error("enabled a tracepoint that does not exist")
	}
	cancel()
	res, err := tr.Wait()
	if err != nil || res.Ended || res.Armed != 1 {
		t.Errorf("%+v, %v", res, err)
	}
	if _, err := tr.Counts(t.Context()); err == nil {
		t.Error("counts after the end of the trace")
	}
	if testkit.TracerOf(pid) != 0 || !testkit.Alive(pid) {
		t.Error("the program is not as before")
	}
}

// next returns the value of the next event whose first field has the name. It skips other events.
func next(t *testing.T, tr *jalon.Trace, field string) jalon.Value {
	t.Helper()
	for ev := range tr.Events() {
		if ev.Schema.Fields[0].Name == field {
			return ev.Value(0)
		}
	}
	t.Fatalf("the trace is over before an event with %s", field)
	return jalon.Value{}
}

// TestAddRemove adds tracepoints to a running trace and removes them. Numbers are never used again, and an
// error leaves the trace unchanged.
func TestAddRemove(t *testing.T) {
	pid := endless(t, "100")
	tr := start(t, jalon.Attach(pid), one("work", "", "n"))
	add := func(tp jalon.Tracepoint, want int) {
		t.Helper()
		n, err := tr.Add(t.Context(), tp)
		if err != nil || n != want {
			t.Fatalf("%+v: tracepoint %d, want %d: %v", tp, n, want, err)
		}
	}
	numbers := func() (list []int) {
		t.Helper()
		counts, err := tr.Counts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range counts {
			list = append(list, counts[i].Tracepoint)
		}
		slices.Sort(list)
		return list
	}
	next(t, tr, "n")
	add(jalon.Tracepoint{Place: "work", Condition: "item->number == -7", Collect: []string{"item->number"}}, 2)
	if v, _ := next(t, tr, "item->number").Int64(); v != -7 {
		t.Errorf("number %d", v)
	}
	next(t, tr, "n")

	// Two tracepoints at one address are enabled and disabled independently.
	enable := func(n int, on bool) {
		t.Helper()
		if err := tr.SetEnabled(t.Context(), n, on); err != nil {
			t.Fatal(err)
		}
	}
	recorded := func(n int) uint64 {
		t.Helper()
		counts, err := tr.Counts(t.Context())
		for i := range counts {
			if counts[i].Tracepoint == n {
				return counts[i].Recorded
			}
		}
		t.Fatalf("no tracepoint %d: %v", n, err)
		return 0
	}
	enable(1, false)
	was := recorded(1)
	next(t, tr, "item->number")
	enable(2, false)
	enable(1, true)
	testkit.Eventually(t, "hits of the first", func() bool { return recorded(1) > was })
	enable(1, false)
	enable(2, true)
	after := func(field string, then time.Time) { // events come in the order of time
		t.Helper()
		for ev := range tr.Events() {
			if ev.Schema.Fields[0].Name == field && ev.Time.After(then) {
				return
			}
		}
	}
	after("item->number", time.Now())
	first := recorded(1)
	after("item->number", time.Now())
	if n := recorded(1); n != first {
		t.Errorf("a disabled tracepoint recorded %d hits", n-first)
	}
	enable(1, true)
	testkit.Eventually(t, "hits of both", func() bool { return recorded(1) > first })

	// These cannot be added.
	var d *jalon.Diagnostic
	for _, tp := range []jalon.Tracepoint{
		{Place: "work", Condition: "item->nmae"},
		{Place: "nosuchfunction"},
		{Place: "work", Condition: "n >"},
		{Place: "syscall:nosuchcall"},
		{Place: "work", Collect: []string{"nothing"}},
	} {
		if n, err := tr.Add(t.Context(), tp); !errors.As(err, &d) {
			t.Errorf("%+v: tracepoint %d, %v", tp, n, err)
		}
	}
	if got := numbers(); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("tracepoints %v", got)
	}

	// The first is removed; the second stays at the same address.
	if err := tr.Remove(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := tr.SetEnabled(t.Context(), 1, true); err == nil || !strings.Contains(err.Error(), "no tracepoint 1") {
		t.Errorf("%v", err)
	}
	if err := tr.Remove(t.Context(), 1); err == nil {
		t.Error("removed twice")
	}
	next(t, tr, "item->number")
	add(jalon.Tracepoint{Place: "work", Collect: []string{"item->tag"}, Disabled: true}, 3)
	if got := numbers(); !slices.Equal(got, []int{2, 3}) {
		t.Errorf("tracepoints %v", got)
	}
	if err := tr.SetEnabled(t.Context(), 3, true); err != nil {
		t.Fatal(err)
	}
	if s, _ := next(t, tr, "item->tag").Text(); s != "tag" {
		t.Errorf("tag %q", s)
	}
	for _, n := range []int{2, 3} {
		if err := tr.Remove(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	add(jalon.Tracepoint{Place: "work", Collect: []string{"item->colour"}}, 4)
	if s := next(t, tr, "item->colour").String(); s != "GREEN" {
		t.Errorf("colour %s", s)
	}
	tr.Stop()
	res, err := tr.Wait()
	if err != nil || len(res.Sites) != 4 {
		t.Errorf("%d sites, %v", len(res.Sites), err)
	}
	for i := range res.Sites {
		if res.Sites[i].Recorded == 0 {
			t.Errorf("%+v", res.Sites[i])
		}
	}
	if testkit.TracerOf(pid) != 0 || !testkit.Alive(pid) {
		t.Error("the program is not as before")
	}
}

// TestAddKernel adds places of the kernel to a trace of a process and to a trace of the kernel. The latter
// accepts no place in a process.
func TestAddKernel(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	pid := endless(t, "1000")
	sleeps := jalon.Tracepoint{Place: "syscall:clock_nanosleep", Collect: []string{"$comm"}}
	for _, c := range []struct {
		place  string
		fields []string
	}{{"work", []string{"n", "$comm"}}, {"syscall:clock_nanosleep", []string{"pid", "$comm"}}} {
		tr := start(t, jalon.Attach(pid), one(c.place, "", c.fields[0]))
		next(t, tr, c.fields[0])
		n, err := tr.Add(t.Context(), sleeps)
		if err != nil || n != 2 {
			t.Fatalf("%s: tracepoint %d, %v", c.place, n, err)
		}
		if s, _ := next(t, tr, "$comm").Text(); s != "work" {
			t.Errorf("comm %q", s)
		}
		if err := tr.Remove(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		next(t, tr, c.fields[0])
		if n, err = tr.Add(t.Context(), sleeps); err != nil || n != 3 {
			t.Fatalf("%s: tracepoint %d, %v", c.place, n, err)
		}
		next(t, tr, "$comm")
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	}
	tr := start(t, jalon.System(), one("syscall:clock_nanosleep", fmt.Sprintf("$pid == %d", pid), "$comm"))
	if n, err := tr.Add(t.Context(), jalon.Tracepoint{Place: "work"}); err == nil {
		t.Errorf("tracepoint %d at a function of no process", n)
	}
	next(t, tr, "$comm")
}

// TestQueue: events that are not read take bounded memory, do not delay the program, and are counted.
func TestQueue(t *testing.T) {
	opt := one("work", "", "n")
	opt.Queue = 1000
	tr := start(t, jalon.Command(program), opt)
	res, err := tr.Wait()
	if err != nil {
		t.Fatal(err)
	}
	read := uint64(0)
	for range tr.Events() {
		read++
	}
	if res.Sites[0].Recorded != 10 || res.Dropped == 0 || res.Dropped+read != 10 {
		t.Errorf("%d recorded, %d dropped, %d read", res.Sites[0].Recorded, res.Dropped, read)
	}
}

// TestBreak: after a loop over Events is left, the next loop continues.
func TestBreak(t *testing.T) {
	tr := start(t, jalon.Command(program), one("work", "", "n"))
	var seen []int64
	for len(seen) < 10 {
		for ev := range tr.Events() {
			n, _ := ev.Value(0).Int64()
			seen = append(seen, n)
			break
		}
	}
	for i, n := range seen {
		if n != int64(i) {
			t.Fatalf("%v", seen)
		}
	}
}

// TestErrors: each kind of error has its type.
func TestErrors(t *testing.T) {
	var d *jalon.Diagnostic
	_, err := jalon.Start(t.Context(), jalon.Command(program), jalon.Options{Tracepoints: []jalon.Tracepoint{
		{Place: "work", Condition: "n >"}, {Place: "work", Collect: []string{"n, +"}},
	}})
	var ds jalon.Diagnostics
	if !errors.As(err, &ds) && !errors.As(err, &d) {
		t.Errorf("%T %v", err, err)
	}
	_, err = jalon.Start(t.Context(), jalon.Command(program), one("nosuchfunction", ""))
	if !errors.As(err, &d) || d.Message == "" {
		t.Errorf("%T %v", err, err)
	}
	_, err = jalon.Start(t.Context(), jalon.Command("/nonexistent/program"), one("work", ""))
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%T %v", err, err)
	}
	var e *jalon.Error
	_, err = jalon.Start(t.Context(), jalon.Attach(endedPid(t)), one("work", ""))
	if !errors.As(err, &e) || e.Op == "" {
		t.Errorf("%T %v", err, err)
	}
}

// TestOwnChild: jalon refuses to attach to a child of its own process, and the child runs on.
func TestOwnChild(t *testing.T) {
	p := testkit.Start(t, program, "100").AwaitOut("ready")
	_, err := jalon.Start(t.Context(), jalon.Attach(p.Pid()), one("work", ""))
	var e *jalon.Error
	if !errors.As(err, &e) || !strings.Contains(e.Remedy, "jalon.Command") {
		t.Errorf("%T %v", err, err)
	}
	if !testkit.Alive(p.Pid()) {
		t.Error("the child has ended")
	}
}

// endedPid returns the number of a process that has ended.
func endedPid(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

// TestOutputs compares the text of each output.
func TestOutputs(t *testing.T) {
	var b bytes.Buffer
	opt := one("work", "n < 2", "n, item->name")
	opt.Output = jalon.JSON(&b)
	tr := start(t, jalon.Command(program), opt)
	if _, err := tr.Wait(); err != nil {
		t.Fatal(err)
	}
	for range tr.Events() {
		t.Error("Events returned an event although there is an output")
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	var last struct{ Values map[string]any }
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || len(lines) != 2 || last.Values["n"] != 1.0 || last.Values["item->name"] != "hello" {
		t.Errorf("%v: %s", err, b.String())
	}
	b.Reset()
	opt.Output = jalon.Text(&b, jalon.TextOptions{Time: jalon.SinceStart})
	if _, err := start(t, jalon.Command(program), opt).Wait(); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, `n=1 item->name=`) || !strings.Contains(got, `"hello"`) {
		t.Errorf("%s", got)
	}
	opt.Output = jalon.Discard()
	if res, err := start(t, jalon.Command(program), opt).Wait(); err != nil || res.Sites[0].Recorded != 2 {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestReadFile: tracepoints read from a file keep the positions of their errors.
func TestReadFile(t *testing.T) {
	name := t.TempDir() + "/saved"
	if err := os.WriteFile(name, []byte("trace work\n  condition $bpnum item->nmae\n  actions\n    collect n\n  end\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	list, _, err := jalon.ReadFile(name)
	if err != nil || len(list) != 1 || list[0].Place != "work" || list[0].Condition != "item->nmae" || len(list[0].Collect) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	_, err = jalon.Start(t.Context(), jalon.Command(program), jalon.Options{Tracepoints: list})
	var d *jalon.Diagnostic
	if !errors.As(err, &d) || d.Source != name || d.Line != 2 {
		t.Errorf("%+v, %v", d, err)
	}
	list[0].Condition = "n == 4"
	tr := start(t, jalon.Command(program), jalon.Options{Tracepoints: list})
	if res, err := tr.Wait(); err != nil || res.Sites[0].Recorded != 1 {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestKernel traces an event of the kernel in one process.
func TestKernel(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	pid := endless(t, "1000")
	tr := start(t, jalon.Attach(pid), one("syscall:clock_nanosleep", "", "$comm, pid"))
	for ev := range tr.Events() {
		if s, _ := ev.Value(0).Text(); s != "work" || ev.PID != pid {
			t.Errorf("%+v: %s", ev, s)
		}
		break
	}
}
