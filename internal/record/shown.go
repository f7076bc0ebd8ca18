package record

import (
	"github.com/jalon-trace/jalon/internal/drain"
	"github.com/jalon-trace/jalon/internal/event"
)

// Shown is a sink that shows events without what is redacted.
func Shown(sink drain.Sink, by *Redactor) drain.Sink {
	if by == nil {
		return sink
	}
	s := &shown{Sink: sink, by: by, sites: map[*event.Schema]*Redacted{}}
	if w, ok := sink.(drain.Waiter); ok {
		return &shownWaiter{s, w}
	}
	return s
}

type shown struct {
	drain.Sink
	by    *Redactor
	sites map[*event.Schema]*Redacted
}

// Event implements drain.Sink.
func (s *shown) Event(ev *event.Event) error {
	x, known := s.sites[ev.Schema]
	if !known {
		x = s.by.Site(ev.Schema)
		s.sites[ev.Schema] = x
	}
	out := s.by.Event(ev, x)
	return s.Sink.Event(&out)
}

// End implements drain.Ender.
func (s *shown) End() error {
	if e, ok := s.Sink.(drain.Ender); ok {
		return e.End()
	}
	return nil
}

// shownWaiter is a sink with a reader.
type shownWaiter struct {
	*shown
	drain.Waiter
}
