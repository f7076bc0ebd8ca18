package inproc

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/jalon-trace/jalon/internal/drain"
	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/internal/ring"
)

const runProgram = `
int total;
__attribute__((noipa)) int work(int i, int j) { total += i; return i * j; }
int main(void) {
	for (int i = 0; i < 1000; i++) work(i, 3);
	work(-1, 0);
	for (int i = 0; i < 1000; i++) work(i, 4);
	return 0;
}
`

// driven is a process traced by an engine.
type driven struct {
	p       *process.Process
	run     atomic.Pointer[Engine]
	threads *event.Threads
	work    uint64
	code    []byte // of the function, in the file
}

func drive(t *testing.T) *driven {
	t.Helper()
	dir := t.TempDir()
	src, exe := filepath.Join(dir, "run.c"), filepath.Join(dir, "run")
	if err := os.WriteFile(src, []byte(runProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-O1", "-g", "-no-pie", "-o", exe, src).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f, err := elf.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := &driven{threads: event.NewThreads()}
	syms, _ := f.Symbols()
	for _, s := range syms {
		if s.Name == "work" {
			d.work = s.Value
			d.code = make([]byte, 16)
			text := f.Section(".text")
			if _, err := text.ReadAt(d.code, int64(s.Value-text.Addr)); err != nil {
				t.Fatal(err)
			}
		}
	}
	d.p, err = process.Start([]string{exe}, process.StartOptions{}, process.Config{
		OnFault: func(tid, sig int, pc uint64) (uint64, bool) { return d.run.Load().Callbacks().Fault(tid, sig, pc) },
		OnTrap:  func(tid int, addr uint64) (uint64, bool) { return d.run.Load().Callbacks().Trap(tid, addr) },
		PCBack:  func(pc uint64) (process.Origin, bool) { return d.run.Load().Callbacks().Back(pc) },
		OnThread: func(e process.ThreadEvent) {
			Note(d.threads, e)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.p.Kill() })
	return d
}

// collecting makes a program that records the first argument if it is not the value but, and counts all its
// hits in variable 0.
func collecting(t *testing.T, e *Engine, addr uint64, but int64, key any) (*engine.Program, *agentexpr.Layout) {
	t.Helper()
	// if (rdi != but): $v0 = $v0 + 1, collect $rdi
	cond := []byte{0x26, 0, 5, 0x16, 32, 0x25}
	cond = binary.BigEndian.AppendUint64(cond, uint64(but))
	cond = append(cond, 0x13, 0x0e, 0x27)
	count := []byte{0x2c, 0, 1, 0x22, 1, 0x02, 0x2d, 0, 1, 0x27}
	place, err := probe.Parse(fmt.Sprintf("*%#x", addr))
	if err != nil {
		t.Fatal(err)
	}
	sites, err := e.Resolve(place)
	if err != nil {
		t.Fatal(err)
	}
	c, err := agentexpr.Validate(cond, agentexpr.ForCondition)
	if err != nil {
		t.Fatal(err)
	}
	n, err := agentexpr.Validate(count, agentexpr.ForAction)
	if err != nil {
		t.Fatal(err)
	}
	site := &agentexpr.Site{Name: "work", Cond: c, Actions: []agentexpr.Action{
		{Kind: agentexpr.CollectRegs, Regs: []int{5}}, {Kind: agentexpr.Evaluate, Expr: n},
	}}
	p, l, err := agentexpr.Lower(site, &agentexpr.Options{Var: func(n int) (agentexpr.Variable, bool) {
		return agentexpr.Variable{Index: 0}, n == 1
	}})
	if err != nil {
		t.Fatal(err)
	}
	engine.Finish(p, "work", true)
	return &engine.Program{
		Key: key, Number: 1, Label: "work", Site: sites[0], IR: p,
		Schema: &event.Schema{Place: "work", RecordSize: l.RecordSize, ShortSize: engine.ShortRecord(p, l.RecordSize)},
	}, l
}

// arm installs programs.
func arm(t *testing.T, e *Engine, list ...*engine.Program) {
	t.Helper()
	for _, step := range []func([]*engine.Program) ([]error, error){e.Load, e.Arm} {
		errs, err := step(list)
		if err = errors.Join(append(errs, err)...); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEngine: two programs at one address. One is removed and installed again while the process is stopped;
// the counts of both are complete.
func TestEngine(t *testing.T) {
	d := drive(t)
	clock, err := event.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	sum, n := map[any]int64{}, map[any]int{}
	var lay *agentexpr.Layout
	keys := map[*event.Schema]any{}
	out := drain.New(clock, sinkFunc(func(ev *event.Event) {
		f := lay.Frame(ev.Raw)
		key := keys[ev.Schema]
		sum[key] += int64(int32(binary.LittleEndian.Uint32(f.Regs[0].Data)))
		n[key]++
		if ev.Tid != d.p.Pid() {
			t.Errorf("thread %d", ev.Tid)
		}
	}))
	var src *drain.Source
	run := New(Options{Join: true, Variables: []uint64{40}, Log: func(m string) { t.Log(m) }, OnRings: func(mem *ring.Shared) {
		src = out.Add(mem, false, event.Decoder{Threads: d.threads, Pid: d.p.Pid()})
	}})
	run.Trace(d.p, nil)
	d.run.Store(run)
	if err := run.Refresh(); err != nil {
		t.Fatal(err)
	}
	a, lay := collecting(t, run, d.work, -1, "a")
	b, _ := collecting(t, run, d.work, 7, "b")
	arm(t, run, a, b)
	if err := run.Remove([]*engine.Program{b}); err != nil {
		t.Fatal(err)
	}
	id := b.Schema.SiteID
	b, _ = collecting(t, run, d.work, 7, "b")
	arm(t, run, b)
	if b.Schema.SiteID != id || a.Schema.SiteID == id {
		t.Errorf("b had the number %d and has %d, a has %d", id, b.Schema.SiteID, a.Schema.SiteID)
	}
	for _, x := range []*engine.Program{a, b} {
		keys[x.Schema] = x.Key
		out.AddSchema(src, x.Schema, nil)
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", d.p.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	now, own := make([]byte, 16), make([]byte, 16)
	if _, err := mem.ReadAt(now, int64(d.work)); err != nil {
		t.Fatal(err)
	}
	copy(own, now)
	run.Callbacks().Original(d.work, own)
	if !bytes.Equal(own, d.code) || bytes.Equal(now, own) {
		t.Errorf("code %x is shown as %x, the file has %x", now, own, d.code)
	}
	if w := run.Callbacks().Where(d.work); w.In {
		t.Errorf("the address of the site: %+v", w)
	}
	for _, p := range run.patches.list() {
		if w := run.Callbacks().Where(p.at); !w.Boundary || w.Orig != d.work {
			t.Errorf("the trampoline's start: %+v", w)
		}
		if w := run.Callbacks().Where(p.at + 1); !w.In || w.Boundary || len(w.Stops) != 1 {
			t.Errorf("within the hit program: %+v", w)
		}
		last := p.pcs[len(p.pcs)-1]
		if w := run.Callbacks().Where(last.End); !w.Boundary || w.Orig != p.end() {
			t.Errorf("the jump back: %+v, want %#x", w, p.end())
		}
	}
	if err := d.p.Resume(d.p.Pid()); err != nil {
		t.Fatal(err)
	}
	d.p.Wait()
	if v := run.Rings().Variable(0); v != 40+2000+1999 {
		t.Errorf("the variable is %d", v)
	}
	if err := run.Stop(); err != nil && !errors.Is(err, process.ErrGone) {
		t.Error(err)
	}
	if err := out.Finish(nil); err != nil {
		t.Fatal(err)
	}
	if n["a"] != 2000 || sum["a"] != 999000 || n["b"] != 1999 || sum["b"] != 999000-14-1 {
		t.Errorf("%d hits with sum %d, %d with %d", n["a"], sum["a"], n["b"], sum["b"])
	}
	if c := run.Counts(b); c != (engine.Counts{False: 2}) {
		t.Errorf("counts of b: %+v", c)
	}
	if err := run.Close(); err != nil {
		t.Error(err)
	}
}

// sinkFunc is a drain.Sink that only handles events.
type sinkFunc func(*event.Event)

func (f sinkFunc) Event(ev *event.Event) error { f(ev); return nil }
func (sinkFunc) Flush() error                  { return nil }
