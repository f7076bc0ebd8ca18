package format

import (
	"encoding/binary"
	"fmt"
	"io"
	"unicode/utf8"
)

// Plain returns a writer for text that may be shown on a terminal. Names and paths come from traced programs
// and their files, which may be hostile. So control characters (escape sequences of terminals), characters that
// change the direction of text, and bytes that are not UTF-8 are written as \xNN or \u{NNNN}. Newlines and tabs
// are kept.
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
	cut []byte // the beginning of a character that the next Write completes
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

// cutTail returns the number of bytes at the end of b that begin an incomplete character.
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

// plainPrefix returns the length of a prefix of b that needs no change; for printable ASCII it is all of b.
func plainPrefix(b []byte) int {
	const high, low = 0x8080808080808080, 0x2020202020202020
	for i := 0; ; {
		for ; i+8 <= len(b); i += 8 {
			// Subtracting 0x20 sets the high bit of a byte below 0x20, by borrowing. It may also do so for the
			// next byte, which only leads to the slower test below.
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

// steers reports characters beyond ASCII that control a terminal, or are invisible and change the display of
// others: C1 controls, direction marks and overrides, separators of lines and paragraphs. All are below
// 0x10000.
func steers(r rune) bool {
	return r >= 0x80 && r < 0xa0 || r == 0x200e || r == 0x200f || r == 0x061c || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}
