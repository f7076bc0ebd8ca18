package session

import (
	"github.com/jalon-trace/jalon/internal/drain"
	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// records are what the engines' programs record: where they are read, and what they are of.
type records struct {
	clock   *event.Clock
	threads *event.Threads
	drain   *drain.Drain // nil: there was nothing to read yet
	begin   func() drain.Sink
	max     uint64                                   // events to show; 0: all
	of      map[*event.Schema]*tracepoint.Tracepoint // what records are of
}

// add has the rings of an engine read. The drain is made with its sink when there first
// is something to read.
func (r *records) add(mem *ring.Shared, kernel bool, dec event.Decoder) *drain.Source {
	if r.drain == nil {
		r.drain = drain.New(r.clock, r.begin())
		r.drain.Max = r.max
	}
	return r.drain.Add(mem, kernel, dec)
}

// know has the records of a program decoded.
func (r *records) know(src *drain.Source, x *engine.Program) {
	tp := trackedOf(x)
	r.of[x.Schema] = tp.Tracepoint
	r.drain.AddSchema(src, x.Schema, tp.pass())
}

// forget leaves the records of a program without a tracepoint.
func (r *records) forget(x *engine.Program) { delete(r.of, x.Schema) }

// sources are the rings that are read.
func (r *records) sources() []*drain.Source {
	if r.drain == nil {
		return nil
	}
	return r.drain.Sources()
}

// poll reads and shows what is there, for a short while at most. enough: all that was
// asked for is shown.
func (r *records) poll() (enough bool, err error) {
	if r.drain == nil {
		return false, nil
	}
	return r.drain.PollAll()
}

// finish reads and shows what is left, until late.
func (r *records) finish(late func() bool) error {
	if r.drain == nil {
		return nil
	}
	return r.drain.Finish(late)
}
