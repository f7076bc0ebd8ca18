package session

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/jalon-trace/jalon/internal/agentexpr"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/process"
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

// driven is a process that a Run traces, and nobody stops.
type driven struct {
	p       *process.Process
	run     atomic.Pointer[Run]
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
		OnFault: func(tid, sig int, pc uint64) (uint64, bool) { return d.run.Load().Fault(tid, sig, pc) },
		OnTrap:  func(tid int, addr uint64) (uint64, bool) { return d.run.Load().Trap(tid, addr) },
		PCBack:  func(pc uint64) (process.Origin, bool) { return d.run.Load().Back(pc) },
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

// collecting makes a program that records the first argument where it is not the
// value but, and counts all its hits in variable 0.
func collecting(addr uint64, but int64, lay **agentexpr.Layout) *Program {
	// if (rdi != but): $v0 = $v0 + 1, collect $rdi
	cond := []byte{0x26, 0, 5, 0x16, 32, 0x25}
	cond = binary.BigEndian.AppendUint64(cond, uint64(but))
	cond = append(cond, 0x13, 0x0e, 0x27)
	count := []byte{0x2c, 0, 1, 0x22, 1, 0x02, 0x2d, 0, 1, 0x27}
	return &Program{Number: 1, Addr: addr, Make: func(f SiteFacts) (*ir.Program, int, error) {
		c, err := agentexpr.Validate(cond, agentexpr.ForCondition)
		if err != nil {
			return nil, 0, err
		}
		n, err := agentexpr.Validate(count, agentexpr.ForAction)
		if err != nil {
			return nil, 0, err
		}
		site := &agentexpr.Site{Name: "work", Cond: c, Actions: []agentexpr.Action{
			{Kind: agentexpr.CollectRegs, Regs: []int{5}}, {Kind: agentexpr.Evaluate, Expr: n},
		}}
		p, l, err := agentexpr.Lower(site, &agentexpr.Options{Var: func(n int) (agentexpr.Variable, bool) {
			return agentexpr.Variable{Index: 0}, n == 1
		}})
		if err != nil {
			return nil, 0, err
		}
		*lay = l
		return p, l.RecordSize, nil
	}}
}

// TestRun: two tracepoints at one address, of which one is disabled and enabled
// again while the program stands.
func TestRun(t *testing.T) {
	d := drive(t)
	run, err := NewRun(d.p, RunOptions{Threads: d.threads, Variables: []uint64{40}, Log: func(m string) { t.Log(m) }}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d.run.Store(run)
	var lay, lay2 *agentexpr.Layout
	a, b := collecting(d.work, -1, &lay), collecting(d.work, 7, &lay2)
	for i, err := range run.Arm([]*Program{a, b}) {
		if err != nil {
			t.Fatalf("program %d: %v", i, err)
		}
	}
	if err := run.Enable(b, false); err != nil {
		t.Fatal(err)
	}
	if err := run.Enable(b, true); err != nil {
		t.Fatal(err)
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
	run.Original(d.work, own)
	if !bytes.Equal(own, d.code) || bytes.Equal(now, own) {
		t.Errorf("code %x is shown as %x, the file has %x", now, own, d.code)
	}
	if w := run.Where(d.work); w.In {
		t.Errorf("the site itself: %+v", w)
	}
	for _, p := range run.s.placed {
		if w := run.Where(p.at); !w.Boundary || w.Orig != d.work {
			t.Errorf("the trampoline's start: %+v", w)
		}
		if w := run.Where(p.at + 1); !w.In || w.Boundary || len(w.Stops) != 1 {
			t.Errorf("within the hit program: %+v", w)
		}
		last := p.pcs[len(p.pcs)-1]
		if w := run.Where(last.End); !w.Boundary || w.Orig != p.end() {
			t.Errorf("the way back: %+v, want %#x", w, p.end())
		}
	}
	if err := d.p.Resume(d.p.Pid()); err != nil {
		t.Fatal(err)
	}
	d.p.Wait()
	if v, ok := run.Variable(0); !ok || v != 40+2000+1999 {
		t.Errorf("the variable is %d, %v", v, ok)
	}
	if err := run.Stop(); err != nil {
		t.Error(err)
	}
	sum := map[*Program]int64{}
	n := map[*Program]int{}
	err = run.Drain(Final, func(r Record) {
		f := lay.Frame(r.Data)
		sum[r.Program] += int64(int32(binary.LittleEndian.Uint32(f.Regs[0].Data)))
		n[r.Program]++
		if r.TID != d.p.Pid() {
			t.Errorf("thread %d", r.TID)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if n[a] != 2000 || sum[a] != 999000 || n[b] != 1999 || sum[b] != 999000-14-1 {
		t.Errorf("%d hits with sum %d, %d with %d", n[a], sum[a], n[b], sum[b])
	}
	if rec, falses, _, lost := run.Counts(b); rec != 1999 || falses != 2 || lost != 0 {
		t.Errorf("counts of b: %d %d %d", rec, falses, lost)
	}
	run.Close()
}
