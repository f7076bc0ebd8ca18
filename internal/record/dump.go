package record

import (
	"time"

	"github.com/jalon-trace/jalon/internal/ctf"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/statedump"
)

// A dump of the state is read on a goroutine of its own, so that the rings are read meanwhile.
//
// The first dump begins when the places are armed. So where the trace has the life cycle of processes (jalon record --set life), each process
// is in the dump or in an event: one that has forked before the places were armed and lives is in the list, any other has its fork recorded. Of
// the traced process the mappings and files are read before, since it may end soon.

const (
	// dumpEvery is the shortest time between two dumps that begin parts of a trace.
	dumpEvery = time.Second
	// wholeParts is the size of parts from which on each has the mappings and files of all processes, which can be some megabytes.
	wholeParts = 64 << 20
	// dumpPatience is how long the end of a recording waits for a dump.
	dumpPatience = 5 * time.Second
)

// beginDump begins to read the state, unless it is being read. whole: without a traced process, mappings and files are those of all.
func (r *Recorder) beginDump(whole bool) {
	if r.dumping != nil || r.target != nil {
		return
	}
	done, pid := make(chan *statedump.Dump, 1), r.s.Pid
	go func() {
		d := r.dumper.Target(pid)
		r.dumper.All(d, pid, whole && pid == 0)
		done <- d
	}()
	r.dumping, r.dumped = done, time.Now()
}

// Armed says that the places are armed: the state can be read. Any goroutine may call it.
func (r *Recorder) Armed() { r.armed.Store(true) }

// firstDump begins to read the state, as beginDump does, but has what was read of the program before its first hit: it may end soon.
func (r *Recorder) firstDump() {
	d, done, pid := r.target, make(chan *statedump.Dump, 1), r.s.Pid
	r.target = nil
	go func() {
		r.dumper.All(d, pid, pid == 0)
		done <- d
	}()
	r.dumping, r.dumped = done, time.Now()
}

// takeDump writes the state if it has been read; wait is how long to wait for it.
func (r *Recorder) takeDump(wait time.Duration) {
	if r.target != nil && (r.armed.Load() || wait > 0) {
		r.firstDump()
	}
	if r.wanted.Load() && r.target == nil && r.dumping == nil && r.wanted.Swap(false) {
		r.beginDump(true)
	}
	if r.dumping == nil {
		return
	}
	if wait == 0 {
		select {
		case d := <-r.dumping:
			r.putDump(d)
		default:
		}
		return
	}
	select {
	case d := <-r.dumping:
		r.putDump(d)
	case <-time.After(wait):
	}
}

// endDumps frees what the dumps need, now or behind the one that is being read.
func (r *Recorder) endDumps() {
	if r.dumping == nil {
		r.dumper.Close()
		return
	}
	go func(d <-chan *statedump.Dump) {
		<-d
		r.dumper.Close()
	}(r.dumping)
}

// putDump writes the state.
func (r *Recorder) putDump(d *statedump.Dump) {
	r.dumping = nil
	r.opt.Redact.dump(d)
	now := event.Monotonic()
	r.state.Begin(now)
	full := func() {
		if r.state.Full() {
			r.out.packet(ctf.State.String(), r.state.Take(0, nil), 0)
		}
	}
	for i := range d.Processes {
		r.state.Process(now, d.Processes[i])
		full()
	}
	for _, t := range d.Tasks {
		r.state.Task(now, t.Pid, t.Tid, t.Name)
		full()
	}
	for i := range d.Mappings {
		r.state.Mapping(now, d.Mappings[i])
		full()
	}
	for i := range d.Files {
		r.state.File(now, d.Files[i])
		full()
	}
	for i := range d.CPUs {
		r.state.CPU(now, d.CPUs[i])
	}
	for i := range d.Interrupts {
		r.state.Interrupt(now, d.Interrupts[i])
		full()
	}
	r.state.Span(now, d.Span)
	r.state.End(now, d.Unread)
}

// DumpState writes the present state to the trace. Any goroutine may call it.
func (r *Recorder) DumpState() { r.wanted.Store(true) }
