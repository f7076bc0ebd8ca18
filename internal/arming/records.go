package arming

import (
	"github.com/jalon-trace/jalon/internal/drain"
	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// Records reads the records of the engines' programs and finds their tracepoints.
type Records struct {
	Clock   *event.Clock
	Threads *event.Threads
	Begin   func() drain.Sink                        // makes the sink when the first rings are added
	Max     uint64                                   // limit of the events to show; 0: all
	Drain   *drain.Drain                             // nil before rings are added
	of      map[*event.Schema]*tracepoint.Tracepoint // the tracepoint of each schema
}

// Add adds the rings of an engine. The first call makes the drain with its sink.
func (r *Records) Add(mem *ring.Shared, kernel bool, dec event.Decoder) *drain.Source {
	if r.Drain == nil {
		r.Drain = drain.New(r.Clock, r.Begin())
		r.Drain.Max = r.Max
	}
	return r.Drain.Add(mem, kernel, dec)
}

// Know registers the schema of a program, so that its records can be decoded.
func (r *Records) Know(src *drain.Source, x *engine.Program) {
	tp := TrackedOf(x)
	if r.of == nil {
		r.of = map[*event.Schema]*tracepoint.Tracepoint{}
	}
	r.of[x.Schema] = tp.Tracepoint
	r.Drain.AddSchema(src, x.Schema, tp.pass())
}

// Of returns the tracepoint of a schema; nil if its library has been unloaded.
func (r *Records) Of(s *event.Schema) *tracepoint.Tracepoint { return r.of[s] }

// Forget removes the tracepoint of a program's records.
func (r *Records) Forget(x *engine.Program) { delete(r.of, x.Schema) }

// Sources returns the rings that are read.
func (r *Records) Sources() []*drain.Source {
	if r.Drain == nil {
		return nil
	}
	return r.Drain.Sources()
}

// Poll reads and shows records for a short time. enough: all requested events have been shown.
func (r *Records) Poll() (enough bool, err error) {
	if r.Drain == nil {
		return false, nil
	}
	return r.Drain.PollAll()
}

// Snapshot shows what is in rings that are overwritten.
func (r *Records) Snapshot() error {
	if r.Drain == nil {
		return nil
	}
	return r.Drain.Snapshot()
}

// Finish reads and shows the remaining records until late.
func (r *Records) Finish(late func() bool) error {
	if r.Drain == nil {
		return nil
	}
	return r.Drain.Finish(late)
}
