package process

import (
	"maps"
	"sync"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/experiment"
)

// Tracepoints that cannot run in the process are collected by the tracer: the thread stops at an int3, the
// reference interpreter evaluates condition and actions, and the thread is stepped over the instruction. A
// hit costs a stop; while-stepping needs stops in any case.

// slowSite is a tracepoint that the tracer collects.
type slowSite struct {
	a *armed
	e *engine

	mu    sync.Mutex
	count experiment.Counts
}

func (s *slowSite) counts() experiment.Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// slowHit is a frame that the tracer collected.
type slowHit struct {
	a     *armed
	step  bool
	time  int64
	tid   int
	pc    uint64
	frame *agentexpr.Frame
}

// cost is what its frame costs in the buffer.
func (h *slowHit) cost() int64 { return h.a.cost(h.frame) }

// stepSite is a thread's while-stepping.
type stepSite struct {
	s    *slowSite
	left uint64
	last bool // they belong to the hit that has ended the run
}

// stepping has the threads that are being stepped, by tid; the tracer's goroutine's.
type stepping struct {
	mu      sync.Mutex
	threads map[int][]*stepSite
}

// setSlow arms or disarms a tracepoint of the tracer's.
func (e *engine) setSlow(a *armed, on bool) error {
	return e.pr.Load().setBreak(a.spec.Addr, func(b *breakpoint) {
		for i, s := range b.slow {
			if s == a.slow {
				b.slow = append(b.slow[:i:i], b.slow[i+1:]...)
				break
			}
		}
		if on {
			b.slow = append(b.slow[:len(b.slow):len(b.slow)], a.slow)
		}
	})
}

// collectAll collects at the tracepoints of an address; step reports that one of them needs single steps of
// the thread.
func (pr *proc) collectAll(tid int, list []*slowSite) (step bool) {
	for _, s := range list {
		step = pr.collect(tid, s) || step
	}
	return step
}

// take collects a hit if the tracepoint's condition holds. last reports that the hit ends the run.
func (pr *proc) take(tid int, s *slowSite) (hit, last bool) {
	s.e.deciding.RLock()
	defer s.e.deciding.RUnlock()
	frame, last := pr.interpret(tid, s)
	if frame != nil {
		s.e.addSlow(slowHit{a: s.a, tid: tid, frame: frame})
	}
	return frame != nil, last
}

// interpret evaluates a tracepoint for a stopped thread and counts. last reports that the hit ends the run.
func (pr *proc) interpret(tid int, s *slowSite) (f *agentexpr.Frame, last bool) {
	if pr.stopped(s.a) {
		return nil, false
	}
	m := pr.machine(tid)
	cond := agentexpr.Site{Name: s.a.site.Name, Cond: s.a.site.Cond}
	out := cond.Run(&m.Machine)
	if out.Frame == nil {
		m.storeVars()
		s.add(func(c *experiment.Counts) {
			if out.CondFail != nil {
				c.Faults++
			} else {
				c.False++
			}
		})
		return nil, false
	}
	var ok bool
	if ok, last = pr.passes(s.a); !ok {
		return nil, false
	}
	m.storeVars()
	actions := agentexpr.Site{Name: s.a.site.Name, Actions: s.a.site.Actions}
	out = actions.Run(&m.Machine)
	if !pr.fits(s.a, out.Frame, false) { // its actions set nothing either
		s.add(func(c *experiment.Counts) { c.Hits++; c.Lost++ })
		return nil, false
	}
	m.storeVars()
	s.add(func(c *experiment.Counts) { c.Hits++ })
	return out.Frame, last
}

// add counts a hit.
func (s *slowSite) add(f func(*experiment.Counts)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.count)
}

// collectHere collects at the tracepoints of an address that run in the process, for
// a thread that is reported as stopped before the jump to them: GDB's users expect the
// frame of its place. The thread is set behind them, to the copy of the
// instruction, so that going on collects nothing twice.
func (pr *proc) collectHere(tid int, addr uint64) {
	run := pr.run.Load()
	if run == nil {
		return
	}
	list := pr.t.engine.natives(addr)
	pc, ok := run.Displaced(addr)
	if len(list) == 0 || !ok {
		return
	}
	regs, err := pr.p.GetRegs(tid)
	if err != nil {
		return // it is dying
	}
	sp := regs.General.SP()
	regs.General.SetPC(pc)
	if pr.p.SetRegs(tid, regs) != nil {
		return
	}
	pr.mu.Lock()
	pr.behind[tid] = behind{addr, sp}
	pr.mu.Unlock()
	for _, a := range list {
		pr.take(tid, &a.here)
	}
}

// behind is where a thread was set behind the hit programs of an address.
type behind struct{ addr, sp uint64 }

// stillBehind is the pc for a thread that GDB sets to one: GDB calls a function in the
// program, and then puts registers back among which is the pc that it was shown.
func (pr *proc) stillBehind(tid int, pc, sp uint64) uint64 {
	pr.mu.Lock()
	was, ok := pr.behind[tid]
	pr.mu.Unlock()
	run := pr.run.Load()
	if !ok || run == nil || was != (behind{pc, sp}) {
		return pc
	}
	if to, ok := run.Displaced(pc); ok {
		return to
	}
	return pc
}

func (pr *proc) collect(tid int, s *slowSite) (step bool) {
	hit, last := pr.take(tid, s)
	if !hit || s.a.spec.Steps == 0 {
		return false
	}
	pr.steps.mu.Lock()
	pr.steps.threads[tid] = append(pr.steps.threads[tid], &stepSite{s, s.a.spec.Steps, last})
	pr.steps.mu.Unlock()
	return true
}

// onStepped is the tracer's OnStepped: the actions of while-stepping.
func (pr *proc) onStepped(tid int) (again bool) {
	pr.steps.mu.Lock()
	list := pr.steps.threads[tid]
	pr.steps.mu.Unlock()
	var left []*stepSite
	for _, x := range list {
		if !x.last && pr.stopped(x.s.a) {
			continue
		}
		m := pr.machine(tid)
		site := agentexpr.Site{Actions: x.s.a.steps}
		out := site.Run(&m.Machine)
		if !pr.fits(x.s.a, out.Frame, true) {
			continue
		}
		m.storeVars()
		x.s.e.addSlow(slowHit{a: x.s.a, step: true, tid: tid, pc: m.Regs[pcRegister], frame: out.Frame})
		if x.left--; x.left > 0 {
			left = append(left, x)
		}
	}
	pr.steps.mu.Lock()
	if len(left) == 0 {
		delete(pr.steps.threads, tid)
	} else {
		pr.steps.threads[tid] = left
	}
	pr.steps.mu.Unlock()
	return len(left) > 0
}

// Numbers of registers.
const (
	fpRegister = 6
	spRegister = 7
	pcRegister = 16
)

func (e *engine) addSlow(h slowHit) {
	offset := int64(0)
	if r := e.pr.Load().run.Load(); r != nil {
		offset = r.clock.WallOffset()
	}
	h.time = event.Monotonic() + offset
	e.mu.Lock()
	e.slow = append(e.slow, h)
	e.waiting.Store(true)
	e.mu.Unlock()
}

// machine is the state of a stopped thread for the interpreter.
type machine struct {
	agentexpr.Machine
	pr *proc
	// vars is what the variables were when they were read: other threads run, and what
	// they count is not to be undone.
	vars map[int]uint64
}

func (pr *proc) machine(tid int) *machine {
	m := &machine{pr: pr, Machine: agentexpr.Machine{Mem: liveMemory{pr}, Vars: map[int]uint64{}}}
	regs, err := pr.p.GetRegs(tid)
	if err != nil {
		return m // it is dying: everything is unreadable
	}
	for _, r := range host.Processor.Registers {
		if r.Ptrace != arch.Nowhere {
			m.Regs[r.GDB] = *regs.General.Word(r.Ptrace)
		}
	}
	m.Register = func(number int) []byte { return pr.t.regs.Get(number, &regs.General, regs.XSave) }
	e := pr.t.engine
	for number := range e.vars.all() {
		if v, ok := e.vars.get(pr.run.Load().rings(), number); ok {
			m.Vars[number] = v
		}
	}
	m.Predefined = func(number int) (uint64, bool) {
		if p := predefinedByNumber[number]; p != nil {
			return p.tracer(pr.pid, tid)
		}
		return 0, true // GDB has not defined it
	}
	m.vars = maps.Clone(m.Vars)
	m.Vars[experiment.TimestampVariable] = uint64(nowMicros())
	return m
}

// storeVars puts back what an expression has set.
func (m *machine) storeVars() {
	for number, was := range m.vars {
		if now := m.Vars[number]; now != was {
			m.pr.t.engine.vars.change(m.pr.run.Load().rings(), number, was, now)
			m.vars[number] = now
		}
	}
}

// liveMemory is a process's memory for the interpreter.
type liveMemory struct{ pr *proc }

// Read implements agentexpr.Memory.
func (l liveMemory) Read(addr uint64, b []byte) int {
	n, _ := l.pr.read(addr, b) // what is unreadable is not copied
	return n
}
