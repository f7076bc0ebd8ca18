package rsp

// FrameKind is the kind of a frame that a Decoder has found in the stream.
type FrameKind uint8

// The kinds of frames.
const (
	FramePacket       FrameKind = iota // a packet with a correct checksum
	FrameNotification                  // a notification with a correct checksum
	FrameAck                           // `+`
	FrameNak                           // `-`
	FrameInterrupt                     // 0x03 outside a packet: stop the program
	FrameBad                           // a packet whose checksum, escapes or runs are wrong
	FrameTooLong                       // a packet above the limit, swallowed to its end
)

// Frame is one item of the stream. Payload is that of packets and notifications,
// escapes undone and runs expanded; it is valid until the decoder is fed again.
type Frame struct {
	Kind    FrameKind
	Payload []byte
}

// Decoder finds frames in a stream that may arrive in pieces of any size. What lies
// between frames is skipped; a `$` inside a frame begins a new one, because it
// cannot be part of the old. It never holds more than Limit bytes.
type Decoder struct {
	// Limit is the maximum number of bytes between `$` and `#` (PacketSize), and of the decoded payload.
	Limit int
	// Runs says that runs are expanded: only replies of stubs have them.
	Runs bool

	state   decoderState
	kind    FrameKind
	body    []byte // as received
	sum     byte
	tooLong bool
	high    byte // first digit of the checksum
	// Skipped counts bytes that belonged to no frame.
	Skipped uint64
}

type decoderState uint8

const (
	outside decoderState = iota
	inBody
	sumHigh
	sumLow
)

// Partial reports whether a frame has begun and not ended.
func (d *Decoder) Partial() bool { return d.state != outside }

// Reset gives up a frame that has begun.
func (d *Decoder) Reset() {
	d.state = outside
	d.body = d.body[:0]
}

// Feed takes the next bytes of the stream and calls found for each frame that they
// complete, in order.
func (d *Decoder) Feed(data []byte, found func(Frame)) {
	for _, c := range data {
		switch d.state {
		case outside:
			d.between(c, found)
		case inBody:
			d.inside(c)
		case sumHigh:
			d.high = c
			d.state = sumLow
			d.restart(c)
		case sumLow:
			if d.restart(c) {
				continue
			}
			d.state = outside
			f := d.finish(c)
			if d.kind == FrameNotification && f.Kind != FrameNotification {
				d.Skipped += uint64(len(d.body)) + 4 // notifications are not acknowledged
				continue
			}
			found(f)
		}
	}
}

func (d *Decoder) between(c byte, found func(Frame)) {
	switch c {
	case packetStart:
		d.begin(FramePacket)
	case notificationStart:
		d.begin(FrameNotification)
	case ackByte:
		found(Frame{Kind: FrameAck})
	case nakByte:
		found(Frame{Kind: FrameNak})
	case interruptByte:
		found(Frame{Kind: FrameInterrupt})
	default:
		d.Skipped++
	}
}

func (d *Decoder) begin(kind FrameKind) {
	d.state, d.kind = inBody, kind
	d.body = d.body[:0]
	d.sum, d.tooLong = 0, false
}

// restart begins a new packet where one starts inside another.
func (d *Decoder) restart(c byte) bool {
	if c != packetStart {
		return false
	}
	d.Skipped += uint64(len(d.body)) + 1
	d.begin(FramePacket)
	return true
}

func (d *Decoder) inside(c byte) {
	switch {
	case c == frameEnd:
		d.state = sumHigh
	case d.restart(c):
	case len(d.body) >= d.Limit:
		d.tooLong = true
		d.sum += c
	default:
		d.body = append(d.body, c)
		d.sum += c
	}
}

// finish checks the frame; low is the last digit of its checksum.
func (d *Decoder) finish(low byte) Frame {
	h, okh := hexValue(d.high)
	l, okl := hexValue(low)
	if !okh || !okl || h<<4|l != d.sum {
		return Frame{Kind: FrameBad}
	}
	if d.tooLong {
		return Frame{Kind: FrameTooLong}
	}
	payload := d.body
	if d.Runs {
		var ok bool
		if payload, ok = expand(payload, d.Limit); !ok {
			return Frame{Kind: FrameBad}
		}
	}
	payload, ok := unescape(payload)
	if !ok {
		return Frame{Kind: FrameBad}
	}
	return Frame{Kind: d.kind, Payload: payload}
}

// expand undoes compress, up to limit bytes.
func expand(body []byte, limit int) ([]byte, bool) {
	var out []byte
	for i := 0; i < len(body); i++ {
		c := body[i]
		if c != runMark {
			if out != nil {
				out = append(out, c)
			}
			continue
		}
		if i == 0 || i+1 == len(body) {
			return nil, false
		}
		if out == nil {
			out = append(make([]byte, 0, len(body)*2), body[:i]...)
		}
		i++
		n := int(body[i]) - runBias
		if n < minRun || body[i] > '~' || len(out)+n > limit {
			return nil, false
		}
		for last := out[len(out)-1]; n > 0; n-- {
			out = append(out, last)
		}
	}
	if out == nil {
		out = body
	}
	return out, len(out) <= limit
}

// unescape works in place.
func unescape(body []byte) ([]byte, bool) {
	out := body[:0]
	for i := 0; i < len(body); i++ {
		c := body[i]
		if c == escape {
			if i++; i == len(body) {
				return nil, false
			}
			c = body[i] ^ escapeBit
		}
		out = append(out, c)
	}
	return out, true
}

func hexValue(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
