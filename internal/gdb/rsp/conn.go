package rsp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

const (
	// writeTimeout is how long the other side may leave its receive buffer full before
	// the connection counts as dead.
	writeTimeout = 30 * time.Second
	// writePatience is the maximum time that a sender waits for that buffer. The rest is then written in the
	// background, because the sender has other work.
	writePatience = 20 * time.Millisecond
)

// Conn is a Link over a stream: one goroutine reads, timers retransmit, and what
// arrives comes out of Events in order. The channel's last event is EventClosed.
//
// Nothing is read from a side that does not take what it is sent: it cannot make what
// waits for it grow.
type Conn struct {
	stream io.ReadWriteCloser
	events chan Event
	done   chan struct{} // closed by Close: the reader stops delivering

	mu     sync.Mutex
	link   *Link
	timer  *time.Timer
	err    error // the first, for EventClosed
	closed bool

	backlog []byte     // what the stream did not take yet; catchUp writes it
	caught  *sync.Cond // of mu: there is no backlog any more, or no stream
}

// NewConn begins to read from stream. The caller receives from Events until
// EventClosed or calls Close.
func NewConn(stream io.ReadWriteCloser, cfg LinkConfig) *Conn {
	c := &Conn{
		stream: stream,
		events: make(chan Event, 16),
		done:   make(chan struct{}),
		link:   NewLink(cfg),
	}
	c.caught = sync.NewCond(&c.mu)
	go c.read()
	return c
}

// Events delivers what arrives.
func (c *Conn) Events() <-chan Event { return c.events }

func (c *Conn) read() {
	defer close(c.events)
	buf := make([]byte, 4096)
	var found []Event
	for {
		n, err := c.stream.Read(buf)
		found = found[:0]
		c.mu.Lock()
		c.link.Receive(buf[:n], time.Now(), func(e Event) { found = append(found, e) })
		c.flush()
		for len(c.backlog) > 0 && c.err == nil {
			c.caught.Wait()
		}
		c.mu.Unlock()
		for _, e := range found {
			if !c.deliver(e) {
				return
			}
		}
		if err != nil {
			c.deliver(Event{Kind: EventClosed, Err: c.reason(err)})
			return
		}
	}
}

func (c *Conn) deliver(e Event) bool {
	select {
	case c.events <- e:
		return true
	case <-c.done:
		return false
	}
}

// reason is why the connection ended: the first error, or nil if the other side closed it.
func (c *Conn) reason(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
	switch {
	case c.err != nil:
		return c.err
	case errors.Is(err, io.EOF):
		return nil
	}
	return fmt.Errorf("read from GDB: %w", err)
}

// Send sends a packet.
func (c *Conn) Send(payload []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.link.Send(payload, time.Now()); err != nil {
		c.fail(err)
	}
	c.flush()
	return c.err
}

// Notify sends a notification.
func (c *Conn) Notify(payload []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.link.Notify(payload)
	c.flush()
	return c.err
}

// Interrupt sends the interrupt byte.
func (c *Conn) Interrupt() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.link.Interrupt()
	c.flush()
	return c.err
}

// StartNoAck turns acknowledgements off; see Link.StartNoAck.
func (c *Conn) StartNoAck() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.link.StartNoAck(time.Now())
	c.flush()
}

// flush writes what the link has to say and arms the timer; c.mu is held.
func (c *Conn) flush() {
	if out := c.link.Out(); len(out) > 0 && c.err == nil {
		c.write(out)
	}
	at := c.link.Deadline()
	switch {
	case at.IsZero() || c.err != nil:
		if c.timer != nil {
			c.timer.Stop()
		}
	case c.timer == nil:
		c.timer = time.AfterFunc(time.Until(at), c.tick)
	default:
		c.timer.Reset(time.Until(at))
	}
}

// write writes, or leaves to catchUp what the stream does not take at once; c.mu is held.
func (c *Conn) write(out []byte) {
	if len(c.backlog) > 0 {
		c.backlog = append(c.backlog, out...)
		return
	}
	d, ok := c.stream.(deadliner)
	ok = ok && d.SetWriteDeadline(time.Now().Add(writePatience)) == nil // pipes have none
	n, err := c.stream.Write(out)
	switch {
	case err == nil:
	case ok && errors.Is(err, os.ErrDeadlineExceeded):
		c.backlog = bytes.Clone(out[n:])
		go c.catchUp(d)
	default:
		c.fail(fmt.Errorf("write to GDB: %w", err))
	}
}

type deadliner interface{ SetWriteDeadline(time.Time) error }

// catchUp writes the backlog while others do what they have to.
func (c *Conn) catchUp(d deadliner) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.backlog) > 0 && c.err == nil {
		out := c.backlog
		c.mu.Unlock()
		_ = d.SetWriteDeadline(time.Now().Add(writeTimeout)) // it could be set before
		n, err := c.stream.Write(out)
		c.mu.Lock()
		c.backlog = c.backlog[n:]
		if err != nil && c.err == nil {
			c.fail(fmt.Errorf("write to GDB: %w", err))
		}
	}
	c.caught.Broadcast()
}

func (c *Conn) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	if err := c.link.Tick(time.Now()); err != nil {
		c.fail(err)
	}
	c.flush()
}

// fail ends the connection; the reader then delivers EventClosed. c.mu is held.
func (c *Conn) fail(err error) {
	if c.err == nil {
		c.err = err
		c.stream.Close()
		c.caught.Broadcast()
	}
}

// Close ends the connection. Events delivers nothing more.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	if c.timer != nil {
		c.timer.Stop()
	}
	if c.err == nil {
		c.err = net.ErrClosed
	}
	c.caught.Broadcast()
	close(c.done)
	return c.stream.Close()
}
