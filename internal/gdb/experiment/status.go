package experiment

import (
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// statistics are what happened in the run.
type statistics struct {
	*base
	buffer    *buffer
	notes     *notes
	catalogue *catalogue
	runner    *runner
	frames    *frames
	view      *view
}

func newStatistics(x *Experiment, view *view) *statistics {
	return &statistics{
		base: x.base, buffer: x.buffer, notes: x.notes, catalogue: x.catalogue, runner: x.runner, frames: x.frames, view: view,
	}
}

// packets are those that it handles.
func (x *statistics) packets() []row {
	return []row{
		on("qTStatus", "how the run is, or has ended", x.status),
		on("qTP", "hits of a location, and what its frames take", x.usage),
	}
}

func (x *statistics) status(rsp.QueryTrace) (rsp.Packet, error) {
	x.runner.Tick()
	return x.traceStatus(), nil
}

func (x *statistics) traceStatus() rsp.TraceStatus {
	r, b := &x.runner.run, x.buffer
	frames, size, free := uint64(b.count), uint64(b.size), uint64(b.size-b.used)
	created, circular, disconnected := b.created, b.circular, x.notes.disconnected
	start, end := uint64(r.start), uint64(r.end)
	user, notes := rsp.Text(x.notes.user), rsp.Text(x.notes.text)
	s := rsp.TraceStatus{
		Running: r.on, Frames: &frames, Created: &created, Free: &free, Size: &size,
		Circular: &circular, Disconnected: &disconnected, Start: &start, End: &end,
		User: &user, Notes: &notes,
	}
	if r.on { // one that has reached a limit waits for its last steps
		end = 0
		return s
	}
	s.Stop = r.reason
	switch r.reason {
	case rsp.StopRequested:
		s.StopText = rsp.Text(x.notes.stop)
	case rsp.StopError:
		s.StopText, s.StopNumber = rsp.Text(r.text), r.number
	case rsp.StopPassCount:
		s.StopNumber = r.number
	}
	return s
}

// usage answers qTP.
func (x *statistics) usage(p rsp.QueryTracepoint) (rsp.Packet, error) {
	tp, err := x.catalogue.find(p.Number, p.Addr)
	if err != nil {
		return nil, err
	}
	x.runner.Tick()
	return rsp.TracepointUsage{Hits: x.hits(tp), Usage: x.bytes(tp)}, nil
}

// hits counts those that came, recorded or not: behind the end of a run there are
// none.
func (x *statistics) hits(tp *tracepoint) uint64 { return tp.hits + x.counts(tp).Lost }

func (x *statistics) bytes(tp *tracepoint) uint64 {
	if int(tp.index) >= len(x.buffer.usage) {
		return 0
	}
	return uint64(x.buffer.usage[tp.index])
}

func (x *statistics) counts(tp *tracepoint) Counts {
	if x.runner.run.on && !x.runner.run.counted && tp.known {
		return x.engine.Counts(&tp.spec)
	}
	return tp.counts
}

// Report says in words what happened at each location: a table, one line each.
func (x *statistics) Report() string {
	x.runner.Tick()
	var b strings.Builder
	fmt.Fprintf(&b, "%-32s %10s %10s %10s %8s %8s %10s\n", "", "hits", "recorded", "false", "faults", "lost", "unreadable")
	for _, tp := range x.catalogue.list {
		c := x.counts(tp)
		reached := x.hits(tp) + c.False + c.Faults // as in the summary of a trace
		fmt.Fprintf(&b, "%-32s %10d %10d %10d %8d %8d %10d\n", tp.key, reached, tp.hits, c.False, c.Faults, c.Lost, tp.unreadable)
	}
	fmt.Fprintf(&b, "%d frames of %d, %d of %d bytes used\n", x.buffer.count, x.buffer.created, x.buffer.used, x.buffer.size)
	if x.runner.run.dropped > 0 {
		fmt.Fprintf(&b, "%d hits behind the end of the trace are left out\n", x.runner.run.dropped)
	}
	if x.runner.collector.damaged > 0 {
		fmt.Fprintf(&b, "%d records are damaged and left out\n", x.runner.collector.damaged)
	}
	if e := &x.view.entry; x.view.on {
		fmt.Fprintf(&b, "frame %d: thread %d", x.frames.SelectedFrame(), e.tid)
		if e.cpu >= 0 {
			fmt.Fprintf(&b, ", CPU %d", e.cpu)
		}
		fmt.Fprintf(&b, ", %d.%09d s since the epoch\n", e.time/1e9, e.time%1e9)
	}
	return b.String()
}
