package stub

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// How often a Machine receives the passing of time: seldom, and often enough that a
// trace's rings do not fill while one runs.
const (
	tickEvery  = 100 * time.Millisecond
	drainEvery = 4 * time.Millisecond
)

// Listener is where GDB connects; rsp.Listener is one. Accept is called again when
// a connection has ended; io.EOF says that there will be no other.
type Listener interface {
	Accept() (io.ReadWriteCloser, error)
}

// accepted is what Accept returned.
type accepted struct {
	stream io.ReadWriteCloser
	err    error
}

// Serve connects a Machine with its clients, one after the other, and with
// what happens to its target, until the Machine or ctx ends it. The caller closes
// listener and target afterwards. The status is the Machine's; the error is that of
// the listener or of ctx.
func Serve(ctx context.Context, listener Listener, target Target, m *Machine) (status int, err error) {
	s := server{m: m, incoming: make(chan accepted, 1)}
	every := tickEvery
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	defer func() {
		if s.conn != nil {
			_ = s.conn.Close()
		}
	}()
	events := target.Events()
	s.accept(listener)
	for !s.over {
		var packets <-chan rsp.Event
		if s.conn != nil {
			packets = s.conn.Events()
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case a := <-s.incoming:
			if err := s.open(a); err != nil {
				return 0, err
			}
		case e, ok := <-packets:
			s.received(e, ok)
			if s.conn == nil && !s.over {
				s.accept(listener)
			}
		case stop, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			s.handle(Event{Kind: EventStop, Stop: stop})
		case <-ticker.C:
			s.handle(Event{Kind: EventTick})
		}
		want := tickEvery
		if m.exp.Running() {
			want = drainEvery
		}
		if want != every {
			every = want
			ticker.Reset(every)
		}
	}
	return s.status, nil
}

// server is the state of Serve.
type server struct {
	m        *Machine
	conn     *rsp.Conn // nil: no client is connected
	incoming chan accepted
	status   int
	over     bool
}

// accept waits for the next connection in the background. One accept at a time is
// under way, so the channel has room for what it gets even if Serve has ended.
func (s *server) accept(listener Listener) {
	go func() {
		stream, err := listener.Accept()
		s.incoming <- accepted{stream, err}
	}()
}

// open begins a connection. Without any further one, a target without a client
// about is given up.
func (s *server) open(a accepted) error {
	if errors.Is(a.err, io.EOF) {
		s.over = true
		return nil
	}
	if a.err != nil {
		return a.err
	}
	s.conn = rsp.NewConn(a.stream, rsp.LinkConfig{PacketSize: s.m.cfg.PacketSize})
	s.handle(Event{Kind: EventOpened})
	return nil
}

// kinds are the Machine's names of what comes over a connection.
var kinds = map[rsp.EventKind]EventKind{
	rsp.EventPacket:    EventPacket,
	rsp.EventTooLong:   EventTooLong,
	rsp.EventInterrupt: EventInterrupt,
	rsp.EventClosed:    EventClosed,
}

func (s *server) received(e rsp.Event, ok bool) {
	if !ok {
		e.Kind = rsp.EventClosed
	}
	kind, known := kinds[e.Kind]
	if !known {
		return
	}
	if e.Kind == rsp.EventClosed {
		s.hangUp()
	}
	s.handle(Event{Kind: kind, Payload: e.Payload})
}

func (s *server) hangUp() {
	if s.conn != nil {
		_ = s.conn.Close()
		s.conn = nil
	}
}

// handle executes the actions of the Machine. A connection to which nothing can be written any more ends with
// its own event.
func (s *server) handle(ev Event) {
	for _, o := range s.m.Handle(ev) {
		switch {
		case o.Kind == OutExit:
			s.over, s.status = true, o.Status
		case s.conn == nil:
		case o.Kind == OutReply:
			_ = s.conn.Send(o.Payload)
		case o.Kind == OutNotify:
			_ = s.conn.Notify(o.Payload)
		case o.Kind == OutStartNoAck:
			s.conn.StartNoAck()
		}
	}
}
