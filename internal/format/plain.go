package format

import (
	"encoding/binary"
	"fmt"
	"io"
	"unicode/utf8"
)

// Plain returns a writer for text that people read, on a terminal too. Names and paths
// come from traced programs and their files, which may be hostile: control characters
// (escape sequences of terminals), characters that change the direction of text, and
// bytes that are not UTF-8 are written as \xNN or \u{NNNN}. Newlines and tabs stay.
func Plain(w io.Writer) io.Writer { return &plainWriter{w: w} }

// PlainText is a string as Plain writes it.
func PlainText(s string) string {
	if n := plainPrefix([]byte(s)); n == len(s) {
		return s
	}
	return string(appendPlain(nil, []byte(s)))
}

type plainWriter struct {
	w   io.Writer
	cut []byte // the beginning of a character whose end comes with the next Write
	buf []byte
}

// Write implements io.Writer.
func (p *plainWriter) Write(b []byte) (int, error) {
	if len(p.cut) == 0 && plainPrefix(b) == len(b) {
		return p.w.Write(b)
	}
	all := b
	if len(p.cut) > 0 {
		all = append(p.cut, b...)
	}
	whole := len(all) - cutTail(all)
	p.buf = appendPlain(p.buf[:0], all[:whole])
	p.cut = append([]byte(nil), all[whole:]...)
	if _, err := p.w.Write(p.buf); err != nil {
		return 0, err
	}
	return len(b), nil
}

// cutTail is how many bytes at the end of b begin a character that is not complete.
func cutTail(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// plainPrefix is the length of the part of b that surely needs no change, all of it for
// printable ASCII.
func plainPrefix(b []byte) int {
	const high, low = 0x8080808080808080, 0x2020202020202020
	for i := 0; ; {
		for ; i+8 <= len(b); i += 8 {
			// A byte below 0x20 borrows into its high bit when 0x20 is subtracted; so
			// may the byte above it, which only makes the slower look below necessary.
			x := binary.LittleEndian.Uint64(b[i:])
			if (x|(x-low))&high != 0 || hasDEL(x) {
				break
			}
		}
		for end := min(i+8, len(b)); i < end; i++ {
			if c := b[i]; (c < 0x20 || c >= 0x7f) && c != '\n' && c != '\t' {
				return i
			}
		}
		if i == len(b) {
			return i
		}
	}
}

// hasDEL reports whether one of eight bytes below 0x80 is 0x7f.
func hasDEL(x uint64) bool { return (x+0x0101010101010101)&0x8080808080808080 != 0 }

func appendPlain(dst, b []byte) []byte {
	for len(b) > 0 {
		if n := plainPrefix(b); n > 0 {
			dst, b = append(dst, b[:n]...), b[n:]
			continue
		}
		r, n := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && n <= 1, r < 0x20, r == 0x7f, r >= 0x80 && r < 0xa0:
			for _, c := range b[:n] {
				dst = fmt.Appendf(dst, `\x%02x`, c)
			}
		case steers(r):
			dst = fmt.Appendf(dst, `\u{%04x}`, r)
		default:
			dst = append(dst, b[:n]...)
		}
		b = b[n:]
	}
	return dst
}

// steers reports characters beyond ASCII that act on a terminal or are not seen and
// change how others are shown: C1 controls, marks and overrides of the direction of
// text, separators of lines and paragraphs. All are below 0x10000.
func steers(r rune) bool {
	return r >= 0x80 && r < 0xa0 || r == 0x200e || r == 0x200f || r == 0x061c || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}
