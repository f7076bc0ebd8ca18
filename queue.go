package jalon

import (
	"sync"
	"time"
	"unsafe"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/drain"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/record"
	"github.com/jalon-trace/jalon/internal/session"
)

// queue holds events until they are read. It never delays the trace, because that would delay the traced
// program.
type queue struct {
	mu      sync.Mutex
	ready   sync.Cond // list is not empty, or the trace has ended
	list    []*Event
	size    int // of list, bytes
	limit   int
	dropped uint64
	over    bool
}

func newQueue(limit int) *queue {
	q := &queue{limit: limit}
	q.ready.L = &q.mu
	return q
}

func (q *queue) put(ev *Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := eventSize + len(ev.ev.Raw)
	if q.size+n > q.limit {
		q.dropped++
		return
	}
	q.list, q.size = append(q.list, ev), q.size+n
	q.ready.Signal()
}

// take waits for events and returns all in the queue; none at the end of the trace.
func (q *queue) take() []*Event {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.list) == 0 && !q.over {
		q.ready.Wait()
	}
	list := q.list
	q.list, q.size = nil, 0
	return list
}

// putBack returns unused events to the front of the queue.
func (q *queue) putBack(list []*Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, ev := range list {
		q.size += eventSize + len(ev.ev.Raw)
	}
	q.list = append(list[:len(list):len(list)], q.list...)
}

func (q *queue) end() (dropped uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.over = true
	q.ready.Broadcast()
	return q.dropped
}

const eventSize = int(unsafe.Sizeof(Event{}))

// queueing makes the sink that fills a trace's queue.
type queueing struct{ t *Trace }

func (q queueing) sink(s *session.Session, _ *record.Redactor) drain.Sink {
	return &queueSink{t: q.t, offset: s.WallOffset(), schemas: map[*event.Schema]*Schema{}}
}

// queueSink copies the events, which are valid only during the call.
type queueSink struct {
	t       *Trace
	offset  int64 // wall clock minus CLOCK_MONOTONIC, ns
	schemas map[*event.Schema]*Schema
}

// Event implements drain.Sink.
func (q *queueSink) Event(e *event.Event) error {
	schema := q.schemas[e.Schema]
	if schema == nil {
		load(e.Schema)
		schema = newSchema(e.Schema)
		q.schemas[e.Schema] = schema
	}
	ev := &Event{
		Time: time.Unix(0, e.TimeNS+q.offset), Monotonic: time.Duration(e.TimeNS), CPU: e.CPU, PID: e.Pid, TID: e.Tid,
		Comm: e.Comm, Overwritten: e.Overwritten, Untimed: e.Untimed, Schema: schema, ev: *e, t: q.t,
	}
	ev.ev.Raw = append([]byte(nil), e.Raw...)
	q.t.queue.put(ev)
	return nil
}

// Flush implements drain.Sink.
func (q *queueSink) Flush() error { return nil }

// load completes the types of a schema. Members are read from debug information on first access, which must
// happen on the session's goroutine.
func load(s *event.Schema) {
	seen := map[*ctype.Type]bool{}
	var walk func(t *ctype.Type, depth int)
	walk = func(t *ctype.Type, depth int) {
		if t == nil || seen[t] || depth == 0 {
			return
		}
		seen[t] = true
		_ = t.Enumerators()
		if t.Kind == ctype.Pointer || t.Kind == ctype.Reference || t.Kind == ctype.Func {
			return // only its name is printed
		}
		walk(t.Elem, depth-1)
		for _, f := range t.Fields() {
			walk(f.Type, depth-1)
		}
	}
	for i := range s.Fields {
		walk(s.Fields[i].Type, maxNesting)
	}
}

// maxNesting bounds the depth of the types to load.
const maxNesting = 64
