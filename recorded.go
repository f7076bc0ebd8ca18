package jalon

import (
	"io"
	"iter"
	"slices"
	"time"

	"github.com/jalon-trace/jalon/internal/ctf"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/image"
	"github.com/jalon-trace/jalon/internal/report"
)

// RecordedTrace is a trace on disk that [Record] or "jalon record" has made. It is used from one goroutine.
type RecordedTrace struct {
	t       *ctf.Trace
	schemas map[*event.Schema]*Schema
	names   *Trace
	looked  bool                              // for symbols
	symbols func(pid int, addr uint64) string // nil: there are none
	pid     int                               // of the event that was read last
}

// OpenRecording opens a trace. One whose recording was killed, or still goes on, is read as far as it is whole: see Damage.
func OpenRecording(dir string) (*RecordedTrace, error) {
	t, err := ctf.Open(dir)
	if err != nil {
		return nil, err
	}
	r := &RecordedTrace{t: t, schemas: map[*event.Schema]*Schema{}}
	r.names = &Trace{recorded: r}
	return r, nil
}

// symbol is the name of an address in the recorded program, "" if it is not known: the recording is of several programs, or the file of its
// program is not there.
func (r *RecordedTrace) symbol(addr uint64) string {
	if !r.looked {
		r.looked, r.symbols = true, report.Names(r.t, image.NewFiles(dwarf.Options{Warn: func(string) {}}))
	}
	if r.symbols == nil {
		return ""
	}
	return r.symbols(r.pid, addr)
}

// Close closes the files of the trace.
func (r *RecordedTrace) Close() { r.t.Close() }

// Sites are the schemas of the sites that had events.
func (r *RecordedTrace) Sites() (list []*Schema) {
	for _, s := range r.t.Schemas() {
		list = append(list, r.schema(s))
	}
	return list
}

func (r *RecordedTrace) schema(s *event.Schema) *Schema {
	x := r.schemas[s]
	if x == nil {
		x = newSchema(s)
		r.schemas[s] = x
	}
	return x
}

// Span are the times of the first and the last event; ok: there are events.
func (r *RecordedTrace) Span() (first, last time.Time, ok bool) {
	a, b, ok := r.t.Span()
	return time.Unix(0, a+r.t.Info.WallOffset), time.Unix(0, b+r.t.Info.WallOffset), ok
}

// Lost is how many hits had no room in a ring.
func (r *RecordedTrace) Lost() uint64 { return r.t.Lost() }

// CompleteFrom is from which time on the trace has all events, where a flight recorder has overwritten some of the older ones; the zero Time: it
// has all from its beginning.
func (r *RecordedTrace) CompleteFrom() time.Time {
	if r.t.CompleteFrom == 0 {
		return time.Time{}
	}
	return time.Unix(0, r.t.CompleteFrom+r.t.Info.WallOffset)
}

// Damage has what could not be read, in words: parts of packets at the end of files, and what the loops over events so far have found.
func (r *RecordedTrace) Damage() []string { return slices.Clone(r.t.Damage) }

// Events returns the events from a time to another, both included, in the order of time; the zero Time is the start or end of the trace.
// Only what is needed for them is read, and little of it is in memory at a time. An event is valid until the loop goes on. Each loop
// begins anew.
func (r *RecordedTrace) Events(from, to time.Time) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		q, offset := ctf.Query{}, r.t.Info.WallOffset
		if !from.IsZero() {
			q.From = max(from.UnixNano()-offset, 0)
		}
		if !to.IsZero() {
			q.To = max(to.UnixNano()-offset, 1)
		}
		it := r.t.Events(q)
		for {
			e, err := it.Next()
			if err == io.EOF {
				for _, text := range it.Damage() {
					if !slices.Contains(r.t.Damage, text) {
						r.t.Damage = append(r.t.Damage, text)
					}
				}
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			r.pid = e.Pid
			ev := &Event{
				Time: time.Unix(0, e.TimeNS+offset), Monotonic: time.Duration(e.TimeNS), CPU: e.CPU, PID: e.Pid, TID: e.Tid, Comm: e.Comm,
				Schema: r.schema(e.Schema), ev: *e, t: r.names,
			}
			if !yield(ev, nil) {
				return
			}
		}
	}
}
