package arming

import (
	"github.com/jalon-trace/jalon/internal/drain"
	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// records are what the engines' programs record: where they are read, and what they are of.
type Records struct {
	Clock   *event.Clock
	Threads *event.Threads
	Begin   func() drain.Sink                        // makes the sink when there first is something to read
	Max     uint64                                   // events to show; 0: all
	Drain   *drain.Drain                             // nil: there was nothing to read yet
	of      map[*event.Schema]*tracepoint.Tracepoint // what records are of
}

// Add has the rings of an engine read. The drain is made with its sink when there first
// is something to read.
func (r *Records) Add(mem *ring.Shared, kernel bool, dec event.Decoder) *drain.Source {
	if r.Drain == nil {
		r.Drain = drain.New(r.Clock, r.Begin())
		r.Drain.Max = r.Max
	}
	return r.Drain.Add(mem, kernel, dec)
}

// Know has the records of a program decoded.
func (r *Records) Know(src *drain.Source, x *engine.Program) {
	tp := TrackedOf(x)
	if r.of == nil {
		r.of = map[*event.Schema]*tracepoint.Tracepoint{}
	}
	r.of[x.Schema] = tp.Tracepoint
	r.Drain.AddSchema(src, x.Schema, tp.pass())
}

// Of is the tracepoint that records are of; nil: that of a library that is gone.
func (r *Records) Of(s *event.Schema) *tracepoint.Tracepoint { return r.of[s] }

// Forget leaves the records of a program without a tracepoint.
func (r *Records) Forget(x *engine.Program) { delete(r.of, x.Schema) }

// Sources are the rings that are read.
func (r *Records) Sources() []*drain.Source {
	if r.Drain == nil {
		return nil
	}
	return r.Drain.Sources()
}

// Poll reads and shows what is there, for a short while at most. enough: all that was
// asked for is shown.
func (r *Records) Poll() (enough bool, err error) {
	if r.Drain == nil {
		return false, nil
	}
	return r.Drain.PollAll()
}

// Finish reads and shows what is left, until late.
func (r *Records) Finish(late func() bool) error {
	if r.Drain == nil {
		return nil
	}
	return r.Drain.Finish(late)
}
