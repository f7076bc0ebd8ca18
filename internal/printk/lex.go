package printk

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// maxTokens limits the size of a format. The kernel's largest has 2,000.
const maxTokens = 1 << 16

type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokIdent
	tokInt
	tokString
	tokPunct
)

type token struct {
	kind tokenKind
	text string // identifier, operator, or a string literal's bytes
	val  value  // of tokInt
	pos  int    // in the print format
}

// puncts are the operators, longest first.
var puncts = []string{
	"<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "->",
	"+", "-", "*", "/", "%", "&", "|", "^", "~", "!", "<", ">", "=", "?", ":", ";", ",", ".", "(", ")", "[", "]", "{", "}",
}

// lex splits a print format into tokens. Adjacent string literals are joined.
func lex(s string) ([]token, error) {
	var out []token
	for i := 0; ; {
		i = skipSpace(s, i)
		if i == len(s) {
			return append(out, token{kind: tokEnd, pos: i}), nil
		}
		if len(out) == maxTokens {
			return nil, fmt.Errorf("more than %d tokens", maxTokens)
		}
		t, n, err := next(s[i:])
		if err != nil {
			return nil, fmt.Errorf("at offset %d: %w", i, err)
		}
		t.pos = i
		i += n
		if last := len(out) - 1; t.kind == tokString && last >= 0 && out[last].kind == tokString {
			out[last].text += t.text
			continue
		}
		out = append(out, t)
	}
}

func skipSpace(s string, i int) int {
	for i < len(s) && strings.IndexByte(" \t\r\n", s[i]) >= 0 {
		i++
	}
	return i
}

// next reads the token at the start of s and returns its length.
func next(s string) (token, int, error) {
	c := s[0]
	switch {
	case c == '"' || c == '\'':
		return quoted(s)
	case isDigit(c):
		return numeral(s)
	case isWord(c):
		n := wordLen(s)
		return token{kind: tokIdent, text: s[:n]}, n, nil
	}
	for _, p := range puncts {
		if strings.HasPrefix(s, p) {
			return token{kind: tokPunct, text: p}, len(p), nil
		}
	}
	return token{}, 0, fmt.Errorf("unexpected %q", c)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isWord(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c)
}

func wordLen(s string) int {
	n := 0
	for n < len(s) && isWord(s[n]) {
		n++
	}
	return n
}

// numeral reads an integer constant and determines its type as in C.
func numeral(s string) (token, int, error) {
	n := wordLen(s)
	digits := strings.TrimRight(s[:n], "uUlL")
	suffix := strings.ToLower(s[len(digits):n])
	val, err := strconv.ParseUint(digits, 0, 64)
	if err != nil || strings.Contains(digits, "_") {
		return token{}, 0, fmt.Errorf("%q is not a number", s[:n])
	}
	unsigned := strings.Contains(suffix, "u")
	size := int64(4)
	if strings.Contains(suffix, "l") || val > 1<<32-1 {
		size = 8
	}
	// A decimal constant without u is signed; others have the first type that is large enough.
	if top := uint64(1) << (size*8 - 1); val >= top && !unsigned {
		switch {
		case digits[0] == '0' || size == 8:
			unsigned = true
		default:
			size = 8
		}
	}
	return token{kind: tokInt, val: integer(intType(size, !unsigned), val)}, n, nil
}

// escapes are C's one-letter escapes.
var escapes = map[byte]byte{
	'n': '\n', 't': '\t', 'r': '\r', 'a': 7, 'b': 8, 'f': 12, 'v': 11, 'e': 27,
	'\\': '\\', '"': '"', '\'': '\'', '?': '?',
}

// quoted reads a string literal, which may contain newlines, or a character constant.
func quoted(s string) (token, int, error) {
	var b []byte
	for i := 1; i < len(s); {
		switch c := s[i]; {
		case c == s[0]:
			if c == '"' {
				return token{kind: tokString, text: string(b)}, i + 1, nil
			}
			if len(b) != 1 {
				return token{}, 0, fmt.Errorf("a character constant of %d characters", len(b))
			}
			return token{kind: tokInt, val: integer(ctype.IntT, uint64(b[0]))}, i + 1, nil
		case c == '\\' && i+1 < len(s):
			e, n := escape(s[i+1:])
			b = append(b, e)
			i += 1 + n
		default:
			b = append(b, c)
			i++
		}
	}
	return token{}, 0, fmt.Errorf("unterminated %c", s[0])
}

// escape reads an escape sequence after its backslash: a letter, \xHH or up to three octal digits.
func escape(s string) (byte, int) {
	if e, ok := escapes[s[0]]; ok {
		return e, 1
	}
	base, from, max := 8, 0, 3
	if s[0] == 'x' {
		base, from, max = 16, 1, 2
	}
	n := 0
	for n < max && from+n < len(s) {
		if _, err := strconv.ParseUint(s[from+n:from+n+1], base, 8); err != nil {
			break
		}
		n++
	}
	if n == 0 {
		return s[0], 1
	}
	v, _ := strconv.ParseUint(s[from:from+n], base, 16)
	return byte(v), from + n
}
