package rsp

import (
	"bytes"
	"errors"
	"fmt"
	"time"
)

// Defaults of LinkConfig.
const (
	DefaultPacketSize = 0x4000
	DefaultTimeout    = 2 * time.Second
	DefaultRetries    = 5
	// What may wait for the other side's acknowledgements.
	maxUnsent = 1 << 20
)

// LinkConfig has the options of a Link; zero values mean the defaults.
type LinkConfig struct {
	// Client makes it GDB's side: runs in received packets are expanded, none are
	// sent.
	Client bool
	// PacketSize is the longest packet that is accepted, between `$` and `#`.
	PacketSize int
	// Timeout is how long an acknowledgement may take before the packet is sent
	// again, and how long a packet that has begun may take to end.
	Timeout time.Duration
	// Retries is how often a packet is sent again before the link is given up.
	Retries int
}

func (c LinkConfig) withDefaults() LinkConfig {
	if c.PacketSize == 0 {
		c.PacketSize = DefaultPacketSize
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Retries == 0 {
		c.Retries = DefaultRetries
	}
	return c
}

// EventKind is the kind of an event of a Link.
type EventKind uint8

// The kinds of events.
const (
	EventPacket       EventKind = iota // a packet, acknowledged
	EventNotification                  // a notification (only a client gets them)
	EventInterrupt                     // 0x03
	EventTooLong                       // a packet above PacketSize: answer with an error
	EventClosed                        // the link has ended, Err says why (nil: in order)
)

// Event is one of them. Payload belongs to the receiver.
type Event struct {
	Kind    EventKind
	Payload []byte
	Err     error
}

// ErrNoAck is why a link ends whose other side acknowledges nothing.
var ErrNoAck = errors.New("the other side acknowledges nothing")

// Link is the reliable layer over a byte stream: acknowledgements, retransmission,
// no-ack mode. It is a pure state machine: time and bytes are given to it, what is
// to be written is taken from it with Out.
//
// One packet is under way at a time. A packet that arrives while one of ours waits
// for its acknowledgement is either the same as the last, then the other side has
// not got our answer and it is sent again; or a new one, then the other side has got
// it and only the acknowledgement was lost. A client drops what arrives before its
// acknowledgement, as GDB does: it may be the answer to an earlier packet.
type Link struct {
	cfg   LinkConfig
	dec   Decoder
	noAck bool
	out   []byte

	waiting  []byte   // the frame under way
	queue    [][]byte // frames behind it
	queued   int      // their bytes
	tries    int
	deadline time.Time // of waiting

	last    []byte    // the last packet received
	partial time.Time // when an unfinished packet last grew; zero: there is none
}

// NewLink returns a link in acknowledging mode, the protocol's first state.
func NewLink(cfg LinkConfig) *Link {
	cfg = cfg.withDefaults()
	return &Link{cfg: cfg, dec: Decoder{Limit: cfg.PacketSize, Runs: cfg.Client}}
}

// Receive takes bytes from the other side and hands over what they complete.
func (l *Link) Receive(data []byte, now time.Time, deliver func(Event)) {
	l.dec.Feed(data, func(f Frame) { l.frame(f, now, deliver) })
	l.partial = time.Time{}
	if l.dec.Partial() {
		l.partial = now
	}
}

func (l *Link) frame(f Frame, now time.Time, deliver func(Event)) {
	switch f.Kind {
	case FrameAck:
		l.acked(now)
	case FrameNak:
		l.resend(now)
	case FrameInterrupt:
		deliver(Event{Kind: EventInterrupt})
	case FrameNotification:
		deliver(Event{Kind: EventNotification, Payload: bytes.Clone(f.Payload)})
	case FrameBad:
		if !l.noAck {
			l.out = append(l.out, nakByte)
		}
	case FrameTooLong:
		l.acknowledge()
		l.acked(now)
		l.last = nil
		deliver(Event{Kind: EventTooLong})
	case FramePacket:
		l.packet(f.Payload, now, deliver)
	}
}

func (l *Link) acknowledge() {
	if !l.noAck {
		l.out = append(l.out, ackByte)
	}
}

func (l *Link) packet(payload []byte, now time.Time, deliver func(Event)) {
	if l.cfg.Client && l.waiting != nil {
		return // GDB waits for the acknowledgement alone; the stub sends it again
	}
	l.acknowledge()
	if l.waiting != nil && bytes.Equal(payload, l.last) {
		l.resend(now)
		return
	}
	l.acked(now)
	l.last = append(l.last[:0], payload...)
	deliver(Event{Kind: EventPacket, Payload: bytes.Clone(payload)})
}

// acked ends what is under way and begins the next.
func (l *Link) acked(now time.Time) {
	if l.waiting == nil {
		return
	}
	l.waiting = nil
	if len(l.queue) > 0 {
		next := l.queue[0]
		l.queue = l.queue[1:]
		l.queued -= len(next)
		l.transmit(next, now)
	}
}

func (l *Link) transmit(frame []byte, now time.Time) {
	l.out = append(l.out, frame...)
	if l.noAck {
		return
	}
	l.waiting, l.tries = frame, 0
	l.deadline = now.Add(l.cfg.Timeout)
}

func (l *Link) resend(now time.Time) {
	if l.waiting == nil {
		return
	}
	l.tries++
	l.deadline = now.Add(l.cfg.Timeout)
	if l.tries <= l.cfg.Retries {
		l.out = append(l.out, l.waiting...)
	}
}

// Send sends a packet, behind those that are still under way.
func (l *Link) Send(payload []byte, now time.Time) error {
	frame := AppendPacket(nil, payload, !l.cfg.Client)
	if l.waiting == nil {
		l.transmit(frame, now)
		return nil
	}
	if l.queued+len(frame) > maxUnsent {
		return fmt.Errorf("%d bytes wait to be sent: %w", l.queued, ErrNoAck)
	}
	l.queue = append(l.queue, frame)
	l.queued += len(frame)
	return nil
}

// Notify sends a notification at once.
func (l *Link) Notify(payload []byte) {
	l.out = append(l.out, AppendNotification(nil, payload)...)
}

// Interrupt sends the interrupt byte (a client's).
func (l *Link) Interrupt() { l.out = append(l.out, interruptByte) }

// StartNoAck ends acknowledgements on both sides; the stub calls it before it sends
// the OK to QStartNoAckMode, whose own acknowledgement is then ignored.
func (l *Link) StartNoAck(now time.Time) {
	l.noAck = true
	if l.waiting != nil {
		l.acked(now)
	}
	for _, frame := range l.queue {
		l.out = append(l.out, frame...)
	}
	l.queue, l.queued = nil, 0
}

// Deadline is when Tick is next to be called; zero means never.
func (l *Link) Deadline() time.Time {
	var at time.Time
	if l.waiting != nil {
		at = l.deadline
	}
	if !l.partial.IsZero() {
		if p := l.partial.Add(l.cfg.Timeout); at.IsZero() || p.Before(at) {
			at = p
		}
	}
	return at
}

// Tick handles timeouts: it sends unacknowledged packets again, and drops an incomplete packet. It fails if
// there are no retries left.
func (l *Link) Tick(now time.Time) error {
	if !l.partial.IsZero() && !now.Before(l.partial.Add(l.cfg.Timeout)) {
		l.dec.Reset()
		l.partial = time.Time{}
		if !l.noAck {
			l.out = append(l.out, nakByte)
		}
	}
	if l.waiting == nil {
		return nil
	}
	if !now.Before(l.deadline) {
		l.resend(now)
	}
	if l.tries > l.cfg.Retries {
		return fmt.Errorf("a packet was sent %d times: %w", l.tries, ErrNoAck)
	}
	return nil
}

// Out takes what is to be written.
func (l *Link) Out() []byte {
	out := l.out
	l.out = nil
	return out
}

// Drained reports whether everything sent has been acknowledged.
func (l *Link) Drained() bool { return l.waiting == nil }
