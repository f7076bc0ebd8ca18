package process

import (
	"debug/elf"
	"fmt"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/memory"
)

// debugged is a program under run control; its stops come by a queue.
type debugged struct {
	*Process
	t *testing.T
	r *run
	q *stopQueue
}

type stopQueue struct {
	mu   sync.Mutex
	list []Stop
	more chan struct{}
}

func newStopQueue() *stopQueue { return &stopQueue{more: make(chan struct{}, 1)} }

func (q *stopQueue) put(s Stop) {
	q.mu.Lock()
	q.list = append(q.list, s)
	q.mu.Unlock()
	select {
	case q.more <- struct{}{}:
	default:
	}
}

func (q *stopQueue) take() (Stop, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.list) == 0 {
		return Stop{}, false
	}
	s := q.list[0]
	q.list = q.list[1:]
	return s, true
}

// startControl starts a program under run control.
func startControl(t *testing.T, c Control, argv ...string) *debugged {
	t.Helper()
	return startControlWith(t, Config{}, c, argv...)
}

func startControlWith(t *testing.T, cfg Config, c Control, argv ...string) *debugged {
	t.Helper()
	d := &debugged{t: t, q: newStopQueue()}
	if c.OnStop == nil {
		c.OnStop = d.q.put
	}
	cfg.Control = &c
	d.r = start(t, cfg, argv...)
	d.Process = d.r.Process
	return d
}

// next waits for a stop.
func (d *debugged) next() Stop {
	d.t.Helper()
	s, ok := d.nextOrEnd()
	if !ok {
		d.t.Fatalf("the program has ended: %v", d.Wait())
	}
	return s
}

// nextOrEnd waits for a stop or the program's end.
func (d *debugged) nextOrEnd() (s Stop, ok bool) {
	d.t.Helper()
	limit := time.After(testPatience)
	for {
		if s, ok := d.q.take(); ok {
			return s, true
		}
		select {
		case <-d.q.more:
		case <-d.Done():
			return d.q.take()
		case <-limit:
			d.t.Fatalf("no stop\n%s\n%+v", describe(d.Pid()), d.dump())
		}
	}
}

// dump shows what the tracer knows of the threads.
func (d *debugged) dump() (s string) {
	_ = d.do(func() error {
		s = fmt.Sprintf("frozen %d, %d queued, %d late, %d to do\n", d.threads.Frozen, len(d.waits.queue), len(d.waits.late), d.threads.Waiting())
		for _, t := range d.threads.All() {
			s += fmt.Sprintf("%+v\n", *t)
			if k := t.dbg.Kept; k != nil {
				s += fmt.Sprintf("kept: %+v\n", k.Info)
			}
		}
		return nil
	})
	return s
}

// expect waits for a stop of a kind.
func (d *debugged) expect(kind StopKind) Stop {
	d.t.Helper()
	s := d.next()
	if s.Kind != kind {
		d.t.Fatalf("stop %+v at %#x, want kind %d", s, d.pc(s.TID), kind)
	}
	return s
}

func (d *debugged) resume(r ...Resumption) {
	d.t.Helper()
	if err := d.ResumeThreads(r); err != nil {
		d.t.Fatal(err)
	}
}

// resumeAll resumes all stopped threads.
func (d *debugged) resumeAll() {
	d.t.Helper()
	var list []Resumption
	for _, th := range d.ThreadList() {
		list = append(list, Resumption{TID: th.TID})
	}
	d.resume(list...)
}

func (d *debugged) step(tid int) Stop {
	d.t.Helper()
	d.resume(Resumption{TID: tid, Step: true})
	return d.next()
}

func (d *debugged) pc(tid int) uint64 {
	d.t.Helper()
	return d.regs(tid).General.PC()
}

func (d *debugged) regs(tid int) *RegSet {
	d.t.Helper()
	r, err := d.GetRegs(tid)
	if err != nil {
		d.t.Fatal(err)
	}
	return r
}

func (d *debugged) insert(addr uint64) {
	d.t.Helper()
	if err := d.InsertBreak(addr); err != nil {
		d.t.Fatal(err)
	}
}

func (d *debugged) remove(addr uint64) {
	d.t.Helper()
	if err := d.RemoveBreak(addr); err != nil {
		d.t.Fatal(err)
	}
}

func (d *debugged) haltAll() []Stop {
	d.t.Helper()
	stops, err := d.HaltAll()
	if err != nil {
		d.t.Fatal(err)
	}
	for _, th := range d.ThreadList() {
		if !th.Stopped {
			d.t.Errorf("thread %d is not stopped", th.TID)
		}
	}
	return stops
}

// symbol finds the address of a symbol of a program that was linked with -no-pie.
func symbol(t *testing.T, prog, name string) uint64 {
	t.Helper()
	f, err := elf.Open(prog)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range syms {
		if s.Name == name {
			return s.Value
		}
	}
	t.Fatalf("no symbol %s in %s", name, prog)
	return 0
}

func controlProg(t *testing.T) string { return build(t, "control", "-no-pie") }

// end waits for the program to end, all threads resumed.
func (d *debugged) expectEnd(code int, out string) {
	d.t.Helper()
	st := d.r.wait()
	if st != (ExitStatus{Code: code}) {
		d.t.Errorf("status %v, want %d", st, code)
	}
	if got := d.r.out.all(); got != out {
		d.t.Errorf("output %q, want %q", got, out)
	}
}

// TestControlBreak: a breakpoint in one thread, stops reported, registers and memory.
func TestControlBreak(t *testing.T) {
	prog := controlProg(t)
	d := startControl(t, Control{}, prog, "threads", "1", "3")
	target := symbol(t, prog, "target")
	d.insert(target)
	d.insert(target)
	if !d.HasBreak(target) {
		t.Error("no breakpoint")
	}
	var b [1]byte
	if n, err := d.ReadMemory(target, b[:]); n != 1 || err != nil || b[0] == memory.Int3 {
		t.Errorf("read %d %x %v", n, b, err)
	}
	d.resumeAll()
	for i := range 3 {
		s := d.expect(StopBreakpoint)
		r := d.regs(s.TID)
		if r.General.PC() != target || s.Addr != target || int(r.General.CallArg(0)) != i {
			t.Fatalf("%+v %+v", s, r.General)
		}
		if len(r.XSave) < 576 {
			t.Errorf("%d bytes of XSAVE area", len(r.XSave))
		}
		if err := d.SetRegs(s.TID, r); err != nil {
			t.Fatal(err)
		}
		d.remove(target)
		if st := d.step(s.TID); st.Kind != StopStep {
			t.Fatalf("%+v", st)
		}
		if pc := d.pc(s.TID); pc == target || pc-target > 15 {
			t.Errorf("stepped to %#x", pc)
		}
		d.insert(target)
		d.resume(Resumption{TID: s.TID})
	}
	d.expectEnd(0, "bad 0\n")
}

// TestControlVerdicts: eight threads come to a breakpoint that lets them go on, and
// every hit is seen once.
func TestControlVerdicts(t *testing.T) {
	prog := controlProg(t)
	const threads, hits = 8, 150
	for _, verdict := range []BreakVerdict{BreakGo, BreakStep} {
		t.Run(fmt.Sprint(verdict), func(t *testing.T) {
			n, steps := map[int]int{}, 0
			var d *debugged
			d = startControl(t, Control{
				OnBreak: func(tid int, addr uint64) BreakVerdict {
					if r, err := d.GetGeneral(tid); err != nil || int(r.CallArg(0)) != n[tid] || r.PC() != addr {
						t.Errorf("hit %d of %d: %+v, %v", n[tid], tid, r, err)
					}
					n[tid]++
					return verdict
				},
				OnStepped: func(tid int) bool {
					if _, err := d.GetRegs(tid); err != nil {
						t.Error(err)
					}
					steps++
					return steps%3 != 0
				},
			}, prog, "threads", fmt.Sprint(threads), fmt.Sprint(hits))
			d.insert(symbol(t, prog, "target"))
			d.resumeAll()
			d.expectEnd(0, "bad 0\n")
			if len(n) != threads {
				t.Errorf("%d threads", len(n))
			}
			for tid, k := range n {
				if k != hits {
					t.Errorf("thread %d: %d hits", tid, k)
				}
			}
			if verdict == BreakStep && steps < threads*hits {
				t.Errorf("%d steps", steps)
			}
		})
	}
}

// TestControlSignals: signals are reported, and delivered or not as requested.
func TestControlSignals(t *testing.T) {
	prog := controlProg(t)
	d := startControl(t, Control{}, prog, "signals")
	d.resumeAll()
	s := d.expect(StopSignal)
	if s.Signal != unix.SIGUSR1 {
		t.Fatalf("%+v", s)
	}
	d.resume(Resumption{TID: s.TID, Signal: unix.SIGUSR1})
	s = d.expect(StopSignal)
	if s.Signal != unix.SIGUSR2 {
		t.Fatalf("%+v", s)
	}
	d.resume(Resumption{TID: s.TID})
	d.expectEnd(0, "handled 1\n")
}

// TestControlHalt: threads are halted and resumed, all and one by one.
func TestControlHalt(t *testing.T) {
	prog := build(t, "busy")
	d := startControl(t, Control{}, prog, "8")
	d.resumeAll()
	d.r.out.wait(t, "ready")
	for range 8 {
		if stops := d.haltAll(); len(stops) != 0 {
			t.Errorf("%+v", stops)
		}
		list := d.ThreadList()
		if len(list) != 9 {
			t.Fatalf("%d threads", len(list))
		}
		d.resumeAll()
		var tids []int
		for _, th := range list[1:4] {
			tids = append(tids, th.TID)
		}
		if err := d.Halt(tids); err != nil {
			t.Fatal(err)
		}
		seen := map[int]bool{}
		for range tids {
			seen[d.expect(StopHalted).TID] = true
		}
		for _, tid := range tids {
			if !seen[tid] {
				t.Errorf("thread %d was not reported", tid)
			}
			d.step(tid)
			d.step(tid)
			d.resume(Resumption{TID: tid})
		}
	}
	fmt.Fprintln(d.r.in)
	d.expectEnd(0, "ready\nread 1 bad 0\n")
}

// ThreadList returns Threads with the result of Thread for each.
func (p *Process) ThreadList() []ThreadInfo {
	list := p.Threads()
	for i, info := range list {
		list[i] = p.Thread(info.TID)
		list[i].Stopped = info.Stopped
	}
	return list
}
