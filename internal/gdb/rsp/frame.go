package rsp

// Bytes with a meaning outside or inside frames.
const (
	packetStart       = '$'
	notificationStart = '%'
	frameEnd          = '#'
	escape            = '}'
	runMark           = '*'
	ackByte           = '+'
	nakByte           = '-'
	interruptByte     = 0x03

	// An escaped byte is sent as escape and the byte xor escapeBit.
	escapeBit = 0x20
	// A run is its byte, runMark, and the number of further copies plus runBias,
	// which keeps the count printable.
	runBias = 29
	minRun  = 3
	maxRun  = '~' - runBias
)

const hexDigits = "0123456789abcdef"

// AppendPacket appends the frame `$payload#checksum`, the payload escaped. A stub's
// frames may compress runs of equal bytes (runs); GDB's own never do, because stubs
// need not understand it.
func AppendPacket(dst, payload []byte, runs bool) []byte {
	return appendFrame(dst, packetStart, payload, runs)
}

// AppendNotification appends the frame `%payload#checksum`: a message that the stub sends without a request and
// that is never acknowledged.
func AppendNotification(dst, payload []byte) []byte {
	return appendFrame(dst, notificationStart, payload, false)
}

func appendFrame(dst []byte, start byte, payload []byte, runs bool) []byte {
	dst = append(dst, start)
	body := len(dst)
	dst = appendEscaped(dst, payload)
	if runs {
		dst = append(dst[:body], compress(dst[body:])...)
	}
	sum := checksum(dst[body:])
	return append(dst, frameEnd, hexDigits[sum>>4], hexDigits[sum&15])
}

func checksum(body []byte) byte {
	var sum byte
	for _, c := range body {
		sum += c
	}
	return sum
}

// mustEscape has the bytes of a payload that must be escaped.
func mustEscape(c byte) bool {
	return c == packetStart || c == frameEnd || c == escape || c == runMark
}

func appendEscaped(dst, payload []byte) []byte {
	for _, c := range payload {
		if mustEscape(c) {
			dst = append(dst, escape, c^escapeBit)
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// EscapedSize is the number of bytes between `$` and `#` that payload takes, before
// runs are compressed: what the PacketSize of the other side limits.
func EscapedSize(payload []byte) int {
	n := len(payload)
	for _, c := range payload {
		if mustEscape(c) {
			n++
		}
	}
	return n
}

// compress run-length encodes escaped bytes. It works on what is sent, not on what
// is meant: the receiver expands runs before it undoes the escapes. The result is
// never longer than the input, and shares no memory with it unless it is the input.
func compress(body []byte) []byte {
	if !hasRun(body) {
		return body
	}
	out := make([]byte, 0, len(body))
	for i := 0; i < len(body); {
		c := body[i]
		n := 0 // further copies
		for i+1+n < len(body) && n < maxRun && body[i+1+n] == c {
			n++
		}
		out = append(out, c)
		i++
		for n >= minRun && !validRun(n) {
			n--
		}
		if n >= minRun {
			out = append(out, runMark, byte(n+runBias))
			i += n
		}
	}
	return out
}

func hasRun(body []byte) bool {
	for i := minRun; i < len(body); i++ {
		if body[i] == body[i-1] && body[i] == body[i-2] && body[i] == body[i-3] {
			return true
		}
	}
	return false
}

// validRun reports whether a count may be sent: its byte must not look like a frame's
// edge or an acknowledgement.
func validRun(n int) bool {
	switch n + runBias {
	case packetStart, frameEnd, ackByte, nakByte:
		return false
	}
	return true
}
