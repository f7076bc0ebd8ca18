package experiment

import (
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

func (x *Experiment) status(rsp.QueryTrace) (rsp.Packet, error) {
	x.Tick()
	return x.traceStatus(), nil
}

func (x *Experiment) traceStatus() rsp.TraceStatus {
	r, b := &x.run, &x.buffer
	frames, size, free := uint64(b.count), uint64(b.size), uint64(b.size-b.used)
	created, circular, disconnected := b.created, b.circular, x.disconnected
	start, end := uint64(r.start), uint64(r.end)
	user, notes := rsp.Text(x.user), rsp.Text(x.notes)
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
		s.StopText = rsp.Text(x.stopNote)
	case rsp.StopError:
		s.StopText, s.StopNumber = rsp.Text(r.text), r.number
	case rsp.StopPassCount:
		s.StopNumber = r.number
	}
	return s
}

// usage answers qTP.
func (x *Experiment) usage(p rsp.QueryTracepoint) (rsp.Packet, error) {
	tp, err := x.find(p.Number, p.Addr)
	if err != nil {
		return nil, err
	}
	x.Tick()
	return rsp.TracepointUsage{Hits: x.hits(tp), Usage: x.bytes(tp)}, nil
}

// hits counts those that came, recorded or not: behind the end of a run there are
// none.
func (x *Experiment) hits(tp *tracepoint) uint64 { return tp.hits + x.counts(tp).Lost }

func (x *Experiment) bytes(tp *tracepoint) uint64 {
	if int(tp.index) >= len(x.buffer.usage) {
		return 0
	}
	return uint64(x.buffer.usage[tp.index])
}

func (x *Experiment) counts(tp *tracepoint) Counts {
	if x.run.on && !x.run.counted && tp.known {
		return x.engine.Counts(&tp.spec)
	}
	return tp.counts
}

// Report says in words what happened at each location: a table, one line each.
func (x *Experiment) Report() string {
	x.Tick()
	var b strings.Builder
	fmt.Fprintf(&b, "%-32s %10s %10s %8s %8s %10s\n", "", "hits", "false", "faults", "lost", "unreadable")
	for _, tp := range x.tracepoints {
		c := x.counts(tp)
		fmt.Fprintf(&b, "%-32s %10d %10d %8d %8d %10d\n", tp.key, x.hits(tp), c.False, c.Faults, c.Lost, tp.unreadable)
	}
	fmt.Fprintf(&b, "%d frames of %d, %d of %d bytes used\n", x.buffer.count, x.buffer.created, x.buffer.used, x.buffer.size)
	if x.run.dropped > 0 {
		fmt.Fprintf(&b, "%d hits behind the end of the trace are left out\n", x.run.dropped)
	}
	if x.run.damaged > 0 {
		fmt.Fprintf(&b, "%d records are damaged and left out\n", x.run.damaged)
	}
	if e := &x.view.entry; x.view.on {
		fmt.Fprintf(&b, "frame %d: thread %d", x.SelectedFrame(), e.tid)
		if e.cpu >= 0 {
			fmt.Fprintf(&b, ", CPU %d", e.cpu)
		}
		fmt.Fprintf(&b, ", %d.%09d s since the epoch\n", e.time/1e9, e.time%1e9)
	}
	return b.String()
}
