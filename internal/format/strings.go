package format

import (
	"bytes"
	"strconv"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// charset says how characters of a type are stored and written.
type charset struct {
	width  int    // bytes of a unit; 0: not characters
	prefix string // "L", "u", "U" or ""
}

// textual finds whether GDB shows arrays of t as strings. GDB's own base types int8_t
// and uint8_t, those of registers, are no text; in programs they are typedefs.
func textual(t *ctype.Type, f Fmt) charset {
	if t == nil || f != 0 && f != 's' {
		return charset{}
	}
	if s := t.Strip(); f == 0 && s.Kind == ctype.Int && s.Size == 1 && (s.Name == "int8_t" || s.Name == "uint8_t") {
		return charset{}
	}
	c := ctype.TextOf(t)
	return charset{c.Width, c.Prefix}
}

// unit is one character of a string as stored.
type unit struct {
	raw  []byte
	r    rune
	kind unitKind
}

type unitKind uint8

const (
	validUnit unitKind = iota
	invalidUnit
	incompleteUnit // the string ends inside a character
)

// next takes the first character of data (not empty).
func (c charset) next(data []byte) unit {
	switch {
	case len(data) < c.width:
		return unit{raw: data, kind: incompleteUnit}
	case c.width == 1:
		return nextUTF8(data)
	case c.width == 2:
		return nextUTF16(data)
	}
	if r := rune(word(data[:4])); utf8.ValidRune(r) {
		return unit{raw: data[:4], r: r}
	}
	return unit{raw: data[:4], kind: invalidUnit}
}

func nextUTF8(data []byte) unit {
	if data[0] < utf8.RuneSelf {
		return unit{raw: data[:1], r: rune(data[0])}
	}
	r, n := utf8.DecodeRune(data)
	switch {
	case r != utf8.RuneError || n > 1:
		return unit{raw: data[:n], r: r}
	case !utf8.FullRune(data):
		return unit{raw: data, kind: incompleteUnit}
	}
	return unit{raw: data[:1], kind: invalidUnit}
}

func nextUTF16(data []byte) unit {
	r := rune(word(data[:2]))
	switch {
	case !utf16.IsSurrogate(r):
		return unit{raw: data[:2], r: r}
	case r >= 0xdc00:
		return unit{raw: data[:2], kind: invalidUnit}
	case len(data) < 4:
		return unit{raw: data, kind: incompleteUnit}
	}
	if r = utf16.DecodeRune(r, rune(word(data[2:4]))); r == utf8.RuneError {
		return unit{raw: data[:2], kind: invalidUnit}
	}
	return unit{raw: data[:4], r: r}
}

// character prints 'a', '\n', '\377', L'€'.
func (p *Printer) character(b []byte, c charset, data []byte) []byte {
	b = append(b, c.prefix...)
	b = append(b, '\'')
	for len(data) > 0 {
		u := c.next(data)
		b = p.appendUnit(b, c, u, '\'')
		data = data[len(u.raw):]
	}
	return append(b, '\'')
}

var escapes = [128]byte{'\a': 'a', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't', '\v': 'v'}

// appendUnit prints one character between quotes; what cannot be shown is
// escaped unit by unit, in octal.
func (p *Printer) appendUnit(b []byte, c charset, u unit, quote byte) []byte {
	if u.kind == validUnit {
		switch r := u.r; {
		case r < utf8.RuneSelf && escapes[r] != 0:
			return append(b, '\\', escapes[r])
		case r == rune(quote) || r == '\\':
			return append(b, '\\', byte(r))
		case r >= ' ' && r < 0x7f:
			return append(b, byte(r))
		case r >= utf8.RuneSelf && !p.ASCII && unicode.IsGraphic(r):
			return utf8.AppendRune(b, r)
		}
	}
	raw := u.raw
	for ; len(raw) >= c.width; raw = raw[c.width:] {
		if v := word(raw[:c.width]); v <= 0o777 {
			b = append(b, '\\', '0'+byte(v>>6), '0'+byte(v>>3&7), '0'+byte(v&7))
		} else {
			b = strconv.AppendUint(append(b, '\\', 'x'), v, 16)
		}
	}
	for _, v := range raw {
		b = append(b, '\\', '0'+v>>6, '0'+v>>3&7, '0'+v&7)
	}
	return b
}

// ending says what is known of the end of a string.
type ending uint8

const (
	endOfArray  ending = iota // an array's bytes: a last NUL is not shown
	endOfString               // the whole string, without its NUL
	cutOff                    // truncated: dots follow
)

// untilNUL returns data before its first zero character.
func untilNUL(data []byte, width int) []byte {
	for at := 0; at+width <= len(data); at += width {
		if isZero(data[at : at+width]) {
			return data[:at]
		}
	}
	return data
}

// str prints a string: "abc", 'x' <repeats 20 times>, "d".
func (p *Printer) str(b []byte, c charset, data []byte, end ending) []byte {
	if n := len(data) - c.width; end == endOfArray && n >= 0 && isZero(data[n:]) {
		data = data[:n]
	}
	if p.NullStop && end == endOfArray {
		data = untilNUL(data, c.width)
	}
	b = append(b, c.prefix...)
	if len(data) == 0 {
		b = append(b, '"', '"')
		return appendDots(b, end)
	}
	limit, threshold := p.elementLimit(), p.repeatLimit()
	open := false // inside of double quotes
	first := true
	comma := func() {
		if open {
			b = append(b, '"')
			open = false
		}
		if !first {
			b = append(b, ", "...)
		}
	}
	for shown := 0; len(data) > 0; first = false {
		if shown >= limit {
			end = cutOff
			break
		}
		u := c.next(data)
		reps := 1
		rest := data[len(u.raw):]
		for bytes.HasPrefix(rest, u.raw) && u.kind != incompleteUnit {
			if c.next(rest).kind != u.kind {
				break
			}
			reps++
			rest = rest[len(u.raw):]
		}
		shown += reps
		data = rest
		switch {
		case u.kind == incompleteUnit:
			comma()
			b = append(b, "<incomplete sequence "...)
			b = p.appendUnit(b, c, u, 0)
			b = append(b, '>')
		case reps > threshold:
			comma()
			b = append(b, '\'')
			b = p.appendUnit(b, c, u, '\'')
			b = append(b, "' <repeats "...)
			b = strconv.AppendInt(b, int64(reps), 10)
			b = append(b, " times>"...)
		default:
			if !open {
				comma()
				b = append(b, '"')
				open = true
			}
			for range reps {
				b = p.appendUnit(b, c, u, '"')
			}
		}
	}
	if open {
		b = append(b, '"')
	}
	return appendDots(b, end)
}

func appendDots(b []byte, end ending) []byte {
	if end == cutOff {
		return append(b, "..."...)
	}
	return b
}

// pointed reads the string at an address and prints it.
func (p *Printer) pointed(b []byte, c charset, addr uint64) []byte {
	if p.Memory == nil || addr == 0 {
		return b
	}
	data := p.Memory(addr, p.elementLimit()*c.width)
	end, n := cutOff, 0
	for ; n+c.width <= len(data); n += c.width {
		if isZero(data[n : n+c.width]) {
			end = endOfString
			break
		}
	}
	b = append(b, ' ')
	if len(data) < c.width {
		b = append(b, "<error: Cannot access memory at address "...)
		return append(appendHex(b, addr), '>')
	}
	return p.str(b, c, data[:n], end)
}
