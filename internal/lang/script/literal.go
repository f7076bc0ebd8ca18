package script

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/lang"
)

// units are the suffixes of integers and their factors: C's have no effect, durations give nanoseconds.
var units = map[string]uint64{
	"": 1, "u": 1, "ul": 1, "ull": 1, "l": 1, "ll": 1,
	"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "h": 3600e9, "d": 86400e9,
}

// number consumes an integer, or a floating literal such as 1.5.
func (p *literalParser) number() Expr {
	p.layout()
	lo := p.pos
	if n := p.floatLen(); n > 0 {
		p.take(n)
		v, err := strconv.ParseFloat(strings.ReplaceAll(p.src[lo:p.pos], "_", ""), 64)
		if err != nil {
			p.report(p.since(lo), "", "%q is not a number that a double can hold", p.src[lo:p.pos])
		}
		return &Float{p.expr(lo), v}
	}
	v, text := p.integer()
	return &Int{p.expr(lo), v, text}
}

// floatLen returns the length of a floating literal at the current position: digits, a dot, digits, and an
// exponent. 1..2 is a range.
func (p *literalParser) floatLen() int {
	i := p.pos
	for isDigit(p.at(i)) || p.at(i) == '_' {
		i++
	}
	if p.at(i) != '.' || !isDigit(p.at(i+1)) {
		return 0
	}
	for i++; isDigit(p.at(i)); i++ {
	}
	if e := i; p.at(e)|0x20 == 'e' {
		if e++; p.at(e) == '-' || p.at(e) == '+' {
			e++
		}
		if isDigit(p.at(e)) {
			for i = e; isDigit(p.at(i)); i++ {
			}
		}
	}
	return i - p.pos
}

// integer consumes an integer literal.
func (p *literalParser) integer() (uint64, string) {
	p.layout()
	lo := p.pos
	if !isDigit(p.peek(0)) {
		p.unexpected("expected a number %s", p.found())
		return 0, ""
	}
	p.take(p.wordEnd(lo) - lo)
	text := p.src[lo:p.pos]
	v, err := ParseInt(text)
	if err != nil {
		p.report(p.since(lo), "", "%s: %s", err, text)
	}
	return v, text
}

// ParseInt returns the value of an integer literal: decimal, octal (0...), hexadecimal (0x...), binary (0b...) or
// 1e6, with _ between digits and a suffix of C or of a duration.
func ParseInt(text string) (uint64, error) {
	if strings.HasSuffix(text, "_") {
		return 0, errors.New("trailing underscore in integer literal")
	}
	s := strings.ReplaceAll(text, "_", "")
	base := 10
	switch {
	case hasPrefixFold(s, "0x"):
		base, s = 16, s[2:]
	case hasPrefixFold(s, "0b"):
		base, s = 2, s[2:]
	case len(s) > 1 && s[0] == '0' && s[1] >= '0' && s[1] <= '7':
		base, s = 8, s[1:]
	}
	n := 0
	for n < len(s) && digitOf(s[n]) < base {
		n++
	}
	if n == 0 {
		return 0, errors.New("invalid integer")
	}
	v, err := strconv.ParseUint(s[:n], base, 64)
	if err != nil {
		return 0, errTooLarge
	}
	s = s[n:]
	if base == 10 && len(s) > 1 && s[0]|0x20 == 'e' && s[1] >= '1' && s[1] <= '9' {
		if v, s, err = exponent(v, s[1:]); err != nil {
			return 0, err
		}
	}
	unit, ok := units[s]
	if !ok {
		if unit, ok = units[strings.ToLower(s)]; !ok || strings.ToLower(s)[0] != 'u' && strings.ToLower(s)[0] != 'l' {
			return 0, fmt.Errorf("invalid integer suffix %q", s)
		}
	}
	hi, lo := bits.Mul64(v, unit)
	if hi != 0 {
		return 0, errTooLarge
	}
	return lo, nil
}

var errTooLarge = errors.New("integer larger than 18446744073709551615")

// exponent multiplies v by the power of ten that s begins with.
func exponent(v uint64, s string) (uint64, string, error) {
	if v == 0 || v >= 10 {
		return 0, s, errors.New("the coefficient of a scientific literal must be 1 to 9")
	}
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	e, err := strconv.Atoi(s[:n])
	if err != nil || e > 19 {
		return 0, s, errTooLarge
	}
	for range e {
		hi, lo := bits.Mul64(v, 10)
		if hi != 0 {
			return 0, s, errTooLarge
		}
		v = lo
	}
	return v, s[n:], nil
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) > len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func digitOf(c byte) int {
	switch {
	case isDigit(c):
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return 99
}

// escapes are the characters after a backslash with a fixed meaning.
var escapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', '"': '"', '\\': '\\'}

// quoted consumes a string literal and returns its value.
func (p *literalParser) quoted() string {
	p.layout()
	lo := p.pos
	if p.peek(0) != '"' {
		p.unexpected("expected a string %s", p.found())
		return ""
	}
	p.take(1)
	var b strings.Builder
	for !p.bad {
		switch c := p.peek(0); {
		case p.pos >= len(p.src) || c == '\n':
			p.errorAt(p.since(lo), "", "unterminated string")
		case c == '"':
			p.take(1)
			return b.String()
		case c == '\\':
			p.escape(&b)
		default:
			b.WriteByte(c)
			p.take(1)
		}
	}
	return b.String()
}

// escape consumes a backslash and what belongs to it.
func (p *literalParser) escape(b *strings.Builder) {
	lo := p.pos
	p.take(1)
	c := p.peek(0)
	switch {
	case escapes[c] != 0:
		b.WriteByte(escapes[c])
		p.take(1)
	case c >= '0' && c <= '7':
		p.coded(b, lo, 3, 8)
	case c == 'x' || c == 'X':
		p.take(1)
		p.coded(b, lo, 2, 16)
	default:
		p.take(1)
		p.report(p.since(lo), `there are \n \t \r \" \\, \nnn (octal) and \xnn`, "invalid escape character %q", p.src[lo:p.pos])
	}
}

// coded consumes up to max digits of a byte's number.
func (p *literalParser) coded(b *strings.Builder, lo, max, base int) {
	n := 0
	for n < max && digitOf(p.peek(n)) < base {
		n++
	}
	v, err := strconv.ParseUint(p.src[p.pos:min(p.pos+n, len(p.src))], base, 64)
	p.take(n)
	if err != nil || v > 255 {
		p.report(lang.Span{Lo: lo, Hi: p.pos}, "", "%q is not the number of a byte", p.src[lo:p.pos])
		return
	}
	b.WriteByte(byte(v))
}
