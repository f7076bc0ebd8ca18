package rsp

import (
	"bytes"
	"fmt"
	"strconv"
)

// SyntaxError: the packet is known, but the protocol does not allow its contents. A stub answers with an
// Error, not with the empty packet.
type SyntaxError struct {
	Packet string // its beginning, up to the place of the error
	Offset int    // in the payload
	Want   string // what should have stood there
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("malformed packet %q, byte %d: want %s", e.Packet, e.Offset, e.Want)
}

// scanner is a cursor over a payload. The first error sticks, and from then on
// nothing is consumed.
type scanner struct {
	in  []byte
	pos int
	err error
	// stop lists the bytes that end a Word or an unseparated list at this place.
	stop string
}

func (s *scanner) fail(want string) {
	if s.err == nil {
		shown := s.in[:s.pos]
		if len(shown) > 40 {
			shown = shown[:40]
		}
		s.err = &SyntaxError{Packet: string(shown), Offset: s.pos, Want: want}
	}
}

// rest is what is left; nothing after an error.
func (s *scanner) rest() []byte {
	if s.err != nil {
		return nil
	}
	return s.in[s.pos:]
}

func (s *scanner) peek() (byte, bool) {
	if r := s.rest(); len(r) > 0 {
		return r[0], true
	}
	return 0, false
}

// accept consumes the literal if it is next.
func (s *scanner) accept(lit string) bool {
	if !bytes.HasPrefix(s.rest(), []byte(lit)) {
		return false
	}
	s.pos += len(lit)
	return s.err == nil
}

func (s *scanner) expect(lit string) {
	if !s.accept(lit) {
		s.fail(strconv.Quote(lit))
	}
}

// number reads an unsigned hexadecimal number of at most 64 bits.
func (s *scanner) number() uint64 {
	var v uint64
	n := 0
	for _, c := range s.rest() {
		d, ok := hexValue(c)
		if !ok {
			break
		}
		if v>>60 != 0 {
			s.fail("a number of at most 64 bits")
			return 0
		}
		v = v<<4 | uint64(d)
		n++
	}
	if n == 0 {
		s.fail("a hexadecimal number")
		return 0
	}
	s.pos += n
	return v
}

// signed reads a hexadecimal number with an optional minus sign.
func (s *scanner) signed() int64 {
	negative := s.accept("-")
	v := s.number()
	if v > 1<<63-1 {
		s.fail("a number of at most 63 bits")
		return 0
	}
	if negative {
		return -int64(v)
	}
	return int64(v)
}

// hexBytes reads pairs of hexadecimal digits as long as there are digits.
func (s *scanner) hexBytes() []byte {
	r := s.rest()
	n := 0
	for n < len(r) {
		if _, ok := hexValue(r[n]); !ok {
			break
		}
		n++
	}
	if n%2 != 0 {
		s.fail("an even number of hexadecimal digits")
		return nil
	}
	return s.hexN(n / 2)
}

// hexN reads n bytes as pairs of digits.
func (s *scanner) hexN(n int) []byte {
	r := s.rest()
	if n < 0 || n > len(r)/2 {
		s.fail(fmt.Sprintf("%d bytes in hexadecimal", n))
		return nil
	}
	if n == 0 {
		return nil
	}
	out := make([]byte, n)
	for i := range out {
		h, okh := hexValue(r[2*i])
		l, okl := hexValue(r[2*i+1])
		if !okh || !okl {
			s.pos += 2 * i
			s.fail("two hexadecimal digits")
			return nil
		}
		out[i] = h<<4 | l
	}
	s.pos += 2 * n
	return out
}

// until reads what comes before the first of the bytes in stop, or everything.
func (s *scanner) until(stop string) string {
	r := s.rest()
	if i := bytes.IndexAny(r, stop); i >= 0 {
		r = r[:i]
	}
	s.pos += len(r)
	return string(r)
}

// all reads everything that is left.
func (s *scanner) all() []byte {
	r := s.rest()
	s.pos += len(r)
	return append([]byte{}, r...)
}

func appendNumber(b []byte, v uint64) []byte { return strconv.AppendUint(b, v, 16) }

func appendSigned(b []byte, v int64) []byte { return strconv.AppendInt(b, v, 16) }

func appendHex(b, data []byte) []byte {
	for _, c := range data {
		b = append(b, hexDigits[c>>4], hexDigits[c&15])
	}
	return b
}

const upperDigits = "0123456789ABCDEF"

func appendUpperHex(b, data []byte) []byte {
	for _, c := range data {
		b = append(b, upperDigits[c>>4], upperDigits[c&15])
	}
	return b
}
