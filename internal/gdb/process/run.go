package process

import (
	"time"

	"github.com/jalon-trace/jalon/internal/drain"
	contract "github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/engine/inproc"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/internal/ring"
)

// run is the engine of one trace experiment, in its process. Threads may be in its code
// longer than the experiment lasts.
type run struct {
	inProcess
	callbacks
	clock *event.Clock
}

// inProcess is an engine in a process that GDB drives.
type inProcess interface {
	contract.Engine
	// Refresh and Reloaded find out what has become of libraries.
	Refresh() error
	Reloaded(*contract.Program) ([]*contract.Program, error)
	// Outside serves drain.Unblock.
	Outside(seen map[int]bool, f func(quiet bool) error) (all bool, err error)
	// Uncover and Rewrite make way for changes of the program's code.
	Uncover(addr uint64) error
	Rewrite(addr uint64, n int, write func() error) error
	Lingering() bool
	CloseModules()
}

// callbacks are what the process's tracer asks of code that is patched.
type callbacks interface {
	Fault(tid, sig int, pc uint64) (uint64, bool)
	Trap(tid int, addr uint64) (uint64, bool)
	Clock(tid int, pc uint64) (uint64, bool)
	Back(pc uint64) (process.Origin, bool)
	Forked(*process.Stopped)
	Forget()
	// The code as GDB is to see it.
	Where(pc uint64) process.Code
	Displaced(addr uint64) (uint64, bool)
	Original(addr uint64, b []byte)
}

// newRun constructs the engine of an experiment; before is the one before in the same
// process, or nil.
func (e *engine) newRun(pr *proc, before *run, clock *event.Clock, onRings func(*ring.Shared)) *run {
	show := func(place, text string) { e.t.log("hit program at %s:\n%s", place, text) }
	opt := inproc.Options{
		BufferSize: e.t.opt.BufferSize, Variables: e.vars.initial(), DebugDirs: e.t.opt.DebugDirs,
		Join: true, Breakpoints: pr.breaks.within, Log: e.t.opt.Log, Warn: e.t.opt.Log, OnRings: onRings,
	}
	if e.t.opt.Log != nil {
		opt.Dump = inproc.Dumper{IR: show, Code: show}
	}
	x := inproc.New(opt)
	var last *inproc.Engine
	if before != nil {
		last = before.inProcess.(*inproc.Engine)
	}
	x.Trace(pr.p, last)
	return &run{x, x.Callbacks(), clock}
}

func note(threads *event.Threads, t process.ThreadEvent) { inproc.Note(threads, t) }

// records reads what the programs of a run have recorded.
type records struct {
	*drain.Drain
	clock *event.Clock
	src   *drain.Source            // nil as long as there are no rings
	by    map[*event.Schema]*armed // whose records they are
	last  *event.Schema            // hits come by the million each second,
	of    *armed                   // mostly of one place many in a row
	give  func(a *armed, time int64, ev *event.Event)
}

func newRecords() (*records, error) {
	clock, err := event.NewClock()
	if err != nil {
		return nil, err
	}
	r := &records{clock: clock, by: map[*event.Schema]*armed{}}
	r.Drain = drain.New(clock, r)
	return r, nil
}

// open has the rings of a process read.
func (r *records) open(mem *ring.Shared, threads *event.Threads, pid int) {
	r.src = r.Add(mem, false, event.Decoder{Threads: threads, Pid: pid, Comm: drain.Comm(pid, pid)})
}

// know has the records of an armed program decoded.
func (r *records) know(a *armed) {
	r.by[a.prog.Schema] = a
	r.AddSchema(r.src, a.prog.Schema, nil)
}

// drainLimit is how long the caller is kept from other things by hits that come as
// fast as they are read; it is asked again soon.
const drainLimit = 20 * time.Millisecond

// read gives the records since the last call: final: all, those of threads that were
// killed too; settled: all, since no thread of the process runs; else those whose order
// in time is known.
func (r *records) read(final, settled bool, give func(a *armed, time int64, ev *event.Event)) error {
	if r.src == nil {
		return nil
	}
	r.give = give
	defer func() { r.give = nil }()
	switch {
	case final:
		return r.Finish(nil)
	case settled:
		return r.Settle()
	}
	for start := time.Now(); ; {
		more, err := r.Poll()
		if err != nil || !more || time.Since(start) > drainLimit {
			return err
		}
	}
}

// Event implements drain.Sink.
func (r *records) Event(ev *event.Event) error {
	if ev.Schema != r.last {
		r.last, r.of = ev.Schema, r.by[ev.Schema]
	}
	if r.of != nil {
		r.of.recorded++
		r.give(r.of, ev.TimeNS+r.clock.WallOffset(), ev)
	}
	return nil
}

// Flush implements drain.Sink.
func (r *records) Flush() error { return nil }

// rings is the shared memory of the run; nil if there is none.
func (r *run) rings() *ring.Shared {
	if r == nil {
		return nil
	}
	return r.Rings()
}
