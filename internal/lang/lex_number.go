package lang

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// number reads an integer or floating constant (C17 6.4.4.1, 6.4.4.2; binary
// constants as C23 and GNU C).
func (l *lexer) number() token {
	lo := l.pos
	hex := l.peek(0) == '0' && l.peek(1)|0x20 == 'x'
	for l.pos < l.end {
		n := identPartLen(l.rest())
		if n == 0 {
			break
		}
		exp := l.peek(0) | 0x20
		l.pos += n
		if sign := l.peek(0); (sign == '+' || sign == '-') && (exp == 'e' && !hex || exp == 'p' && hex) {
			l.pos++
		}
	}
	text := l.src[lo:l.pos]
	base, digits := numberBase(text)
	if strings.ContainsRune(text, '.') ||
		base == 16 && strings.ContainsAny(text, "pP") ||
		base != 16 && base != 2 && strings.ContainsAny(text, "eE") {
		return l.float(lo, text, base == 16)
	}
	return l.integer(lo, base, digits)
}

// identPartLen returns the length of the next character of a preprocessing number.
func identPartLen(s string) int {
	if s[0] == '.' {
		return 1
	}
	for i, r := range s {
		if i > 0 || !isIdentRune(r) || r == '$' {
			return i
		}
	}
	return len(s)
}

func numberBase(text string) (base int, digits string) {
	switch {
	case len(text) > 1 && text[0] == '0' && text[1]|0x20 == 'x':
		return 16, text[2:]
	case len(text) > 1 && text[0] == '0' && text[1]|0x20 == 'b':
		return 2, text[2:]
	case text[0] == '0':
		return 8, text
	}
	return 10, text
}

var baseNames = map[int]string{2: "a binary", 8: "an octal", 10: "a decimal", 16: "a hexadecimal"}

func (l *lexer) integer(lo, base int, digits string) token {
	text := l.src[lo:l.pos]
	start := l.pos - len(digits)
	n := 0
	var value uint64
	overflow := false
	for n < len(digits) {
		d := digitValue(digits[n])
		if d >= base {
			break
		}
		if value > (math.MaxUint64-uint64(d))/uint64(base) {
			overflow = true
		}
		value = value*uint64(base) + uint64(d)
		n++
	}
	suffix := digits[n:]
	switch {
	case n == 0:
		return l.errorAt(lo, l.pos, "", "%s constant needs digits after %s", baseNames[base], text)
	case suffix != "" && isDigit(suffix[0]):
		hint := ""
		if base == 8 {
			hint = "a leading 0 makes a constant octal"
		}
		return l.errorAt(start+n, start+n+1, hint, "the digit %c is not allowed in %s constant", suffix[0], baseNames[base])
	}
	unsigned, long, ok := integerSuffix(suffix)
	if !ok {
		hint := "integers may end in u, l, ul, ll, ull"
		if suffix == "f" || suffix == "F" {
			hint = fmt.Sprintf("write %s.0f for a float", digits[:n])
		}
		return l.errorAt(start+n, l.pos, hint, "%q is not an integer suffix", suffix)
	}
	s := Span{lo, l.pos}
	if overflow {
		return l.errorAt(lo, l.pos, "the largest is 18446744073709551615 (0xffffffffffffffff)", "the constant %s does not fit into 64 bits", text)
	}
	lit := &IntLit{node: node{span: s}, Value: value, Unsigned: unsigned, Long: long, Decimal: base == 10}
	return token{kind: tokLit, span: s, lit: lit}
}

func digitValue(c byte) int {
	switch {
	case isDigit(c):
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return 99
}

// integerSuffix reads u, l and ll in any order and case; "lL" is not C.
func integerSuffix(s string) (unsigned bool, long int, ok bool) {
	if t := strings.TrimLeft(s, "uU"); len(s)-len(t) == 1 {
		unsigned, s = true, t
	} else if t := strings.TrimRight(s, "uU"); len(s)-len(t) == 1 {
		unsigned, s = true, t
	}
	switch s {
	case "", "l", "L":
		return unsigned, len(s), true
	case "ll", "LL":
		return unsigned, 2, true
	}
	return false, 0, false
}

func (l *lexer) float(lo int, text string, hex bool) token {
	s := Span{lo, l.pos}
	lit := &FloatLit{node: node{span: s}}
	digits := text
	// In a hexadecimal constant f is a digit, but its exponent is decimal and required.
	switch text[len(text)-1] | 0x20 {
	case 'f':
		lit.Float, digits = true, text[:len(text)-1]
	case 'l':
		lit.Long, digits = true, text[:len(text)-1]
	}
	if hex && !strings.ContainsAny(text, "pP") {
		return l.errorAt(lo, l.pos, "write 0x1.8p0 for 1.5", "a hexadecimal floating constant needs an exponent")
	}
	bits := 64
	if lit.Float {
		bits = 32
	}
	// ParseFloat also accepts names, which cannot occur here, and underscores.
	v, err := strconv.ParseFloat(digits, bits)
	if err != nil && math.IsInf(v, 0) {
		return l.errorAt(lo, l.pos, "", "the constant %s is too large for its type", text)
	}
	if err != nil || strings.ContainsRune(digits, '_') {
		return l.errorAt(lo, l.pos, "", "%q is not a number", text)
	}
	lit.Value = v
	return token{kind: tokLit, span: s, lit: lit}
}
