package process

import (
	"sync"
	"time"

	"github.com/jalon-trace/jalon/internal/gdb/stub"
	"github.com/jalon-trace/jalon/internal/process"
)

// eventQueue takes the reports of tracers and never blocks them.
type eventQueue struct {
	mu    sync.Mutex
	list  []report
	ready chan struct{}
	done  chan struct{}
	once  sync.Once
	out   chan stub.Stop
	// moving is held while reports are moved to out.
	moving sync.Mutex
}

// eventRoom is how many stops wait for the stub; more stay in the list.
const eventRoom = 4096

// report is a stop as a tracer reported it, or the end of a process.
type report struct {
	pr   *proc
	stop process.Stop
	exit *process.ExitStatus
}

func newEventQueue() *eventQueue {
	return &eventQueue{ready: make(chan struct{}, 1), done: make(chan struct{}), out: make(chan stub.Stop, eventRoom)}
}

func (q *eventQueue) put(x report) {
	q.mu.Lock()
	q.list = append(q.list, x)
	q.mu.Unlock()
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

func (q *eventQueue) next() (x report, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.list) == 0 {
		return report{}, false
	}
	x = q.list[0]
	q.list = q.list[1:]
	return x, true
}

func (q *eventQueue) close() { q.once.Do(func() { close(q.done) }) }

// pump turns reports into the stub's stops while the stub does other work.
func (t *Target) pump() {
	for {
		select {
		case <-t.events.ready:
			for t.flush() {
				time.Sleep(time.Millisecond) // the stub is behind: it takes what there is first
			}
		case <-t.events.done:
			return
		}
	}
}

// flush puts all reports so far on Events. The stub's goroutine calls it before it looks at the threads'
// states: no thread may appear to be stopped without a reason. The result reports that there are more than
// Events has room for.
func (t *Target) flush() (more bool) {
	q := t.events
	q.moving.Lock()
	defer q.moving.Unlock()
	for len(q.out) < cap(q.out) {
		x, ok := q.next()
		if !ok {
			return false
		}
		if x.exit != nil && (x.pr.quiet.Load() || x.exit.Detached) {
			continue // it was ended, or let go, by request
		}
		q.out <- t.convert(x)
	}
	return true
}

var stopKinds = map[process.StopKind]stub.StopKind{
	process.StopSignal: stub.StopSignal, process.StopHalted: stub.StopHalted,
	process.StopBreakpoint: stub.StopBreakpoint, process.StopHardwareBreak: stub.StopHardware,
	process.StopWatch: stub.StopWatch, process.StopStep: stub.StopStep,
	process.StopForked: stub.StopForked, process.StopVForked: stub.StopVForked,
	process.StopVForkDone: stub.StopVForkDone, process.StopExec: stub.StopExec,
	process.StopCloned: stub.StopCloned, process.StopThreadExit: stub.StopThreadExit,
	process.StopSyscallEntry: stub.StopSyscallEntry, process.StopSyscallReturn: stub.StopSyscallReturn,
	process.StopNoneRuns: stub.StopNoResumed,
}

// convert gives a stop the stub's form. A new process becomes one of ours.
func (t *Target) convert(x report) stub.Stop {
	id := stub.ThreadID{PID: x.pr.pid, TID: x.stop.TID}
	if x.exit != nil {
		t.drop(x.pr)
		if x.exit.Signal != 0 {
			return stub.Stop{Kind: stub.StopKilled, Thread: stub.ThreadID{PID: x.pr.pid}, Signal: int(x.exit.Signal)}
		}
		return stub.Stop{Kind: stub.StopExited, Thread: stub.ThreadID{PID: x.pr.pid}, Code: x.exit.Code}
	}
	kind, ok := stopKinds[x.stop.Kind]
	if !ok {
		panic("BUG: gdb/process: a stop of an unknown kind")
	}
	stop := stub.Stop{
		Kind: kind, Thread: id, Signal: int(x.stop.Signal), Addr: x.stop.Addr, Path: x.stop.Path,
		Syscall: x.stop.Syscall, Code: x.stop.Code,
	}
	switch kind {
	case stub.StopNoResumed:
		stop.Thread = stub.ThreadID{}
	case stub.StopWatch:
		stop.Watch = x.pr.watches.kind(x.stop.Slot)
	case stub.StopForked, stub.StopVForked:
		if err := t.takeChild(x.pr, x.stop.Child, kind == stub.StopVForked); err != nil {
			t.log("taking process %d: %v", x.stop.Child, err)
		}
		stop.Child = stub.ThreadID{PID: x.stop.Child, TID: x.stop.Child}
	}
	return stop
}

// takeChild makes a stopped child a separate process.
func (t *Target) takeChild(parent *proc, pid int, vfork bool) error {
	pr := t.newProc()
	pr.attached = parent.attached
	p, err := parent.p.TakeChild(pid, pr.config())
	if err != nil {
		return err
	}
	if vfork { // it borrows the memory, with our code in it
		pr.lender.Store(parent)
	} else if _, err := p.Stopped(func(st *process.Stopped) error { parent.forked(st); return nil }); err != nil {
		t.log("taking the tracepoints out of process %d: %v", pid, err)
	}
	pr.start(p)
	pr.breaks.copyFrom(&parent.breaks)
	pr.watches.copyFrom(&parent.watches)
	t.add(pr)
	return nil
}

func (t *Target) newProc() *proc {
	pr := &proc{t: t}
	pr.breaks.byAddr = map[uint64]*breakpoint{}
	pr.init()
	return pr
}

// start is called when the process is there.
func (pr *proc) start(p *process.Process) {
	pr.p, pr.pid = p, p.Pid()
	_ = p.SetOptions(pr.t.controlOptions()) // an error: it is gone already
}

// config has the callbacks of the process's tracer.
func (pr *proc) config() process.Config {
	return process.Config{
		OnFault:  pr.fault,
		OnClock:  pr.clock,
		OnTrap:   pr.trap,
		PCBack:   pr.back,
		OnThread: func(e process.ThreadEvent) { note(pr.threads, e) },
		OnFork:   pr.forked,
		OnExec:   func(int) bool { pr.replaced(); return false },
		OnExit:   func(st process.ExitStatus) { pr.report(report{pr: pr, exit: &st}) },
		OnPanic:  pr.t.opt.OnPanic,
		Go:       pr.t.opt.Go,
		Control: &process.Control{
			OnStop:    func(s process.Stop) { pr.report(report{pr: pr, stop: s}) },
			OnBreak:   pr.onBreak,
			OnStepped: pr.onStepped,
			Where:     pr.where,
		},
	}
}

// report forwards a report of the tracer, to Launch while that waits.
func (pr *proc) report(x report) {
	pr.mu.Lock()
	startup := pr.startup
	pr.mu.Unlock()
	if startup != nil {
		startup <- x
		return
	}
	pr.t.events.put(x)
}

func (t *Target) log(format string, args ...any) {
	if t.opt.Log != nil {
		t.opt.Log(sprintf(format, args...))
	}
}
