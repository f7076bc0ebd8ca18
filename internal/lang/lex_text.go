package lang

import (
	"strings"
	"unicode/utf8"
)

// quoted reads a character constant, or, if "::" follows, a quoted name of a file or function.
func (l *lexer) quoted() token {
	lo := l.pos
	close := closingQuote(l.src[lo:l.end])
	if close < 0 {
		return l.errorAt(lo, lo+1, "", "unterminated quote")
	}
	inside := l.src[lo+1 : lo+close]
	l.pos = lo + close + 1
	s := Span{lo, l.pos}
	if inside == "" {
		return l.errorAt(lo, l.pos, `the character NUL is '\0'`, "empty character constant")
	}
	if l.scopeFollows() {
		return token{kind: tokScope, span: s, text: inside}
	}
	if packageName(inside) {
		return token{kind: tokIdent, span: s, text: inside}
	}
	bytes, bad := l.unescape(lo+1, lo+close)
	if bad != nil {
		return *bad
	}
	if len(bytes) != 1 {
		hint := `put "::" after a quoted file or function; use double quotes for a string`
		if utf8.RuneCountInString(inside) == 1 {
			hint = "characters are bytes; compare a string, or write the bytes as numbers"
		}
		return l.errorAt(lo, l.pos, hint, "%s is not one byte", l.src[lo:l.pos])
	}
	lit := &CharLit{node: node{span: s}, Value: int64(int8(bytes[0]))}
	return token{kind: tokLit, span: s, lit: lit}
}

// packageName reports whether quoted text is the name of a Go package variable, 'example.com/prog/sub.Count'.
func packageName(s string) bool {
	dot := strings.LastIndexByte(s, '.')
	return dot > 0 && dot < len(s)-1 && !strings.ContainsAny(s, "\\ '\"") && strings.LastIndexByte(s, '/') < dot
}

// scopeFollows reports whether "::" follows, after optional blanks.
func (l *lexer) scopeFollows() bool {
	ahead := *l
	if _, ok := ahead.skipBlanks(); !ok {
		return false
	}
	return strings.HasPrefix(ahead.rest(), "::")
}

// strings reads a string literal and the literals directly after it.
func (l *lexer) strings() token {
	var value []byte
	s := Span{l.pos, l.pos}
	for {
		lo := l.pos
		close := closingQuote(l.src[lo:l.end])
		if close < 0 {
			return l.errorAt(lo, lo+1, "", "unterminated string")
		}
		bytes, bad := l.unescape(lo+1, lo+close)
		if bad != nil {
			return *bad
		}
		value = append(value, bytes...)
		l.pos = lo + close + 1
		s.Hi = l.pos
		if t, ok := l.skipBlanks(); !ok {
			return t
		}
		if l.peek(0) != '"' {
			break
		}
	}
	lit := &StringLit{node: node{span: s}, Value: string(value)}
	return token{kind: tokLit, span: s, lit: lit}
}

// closingQuote returns the index of the quote that closes the one at the start of s; -1 if the line ends first.
func closingQuote(s string) int {
	for i := 1; i < len(s) && s[i] != '\n'; i++ {
		switch s[i] {
		case '\\':
			i++
			if i < len(s) && s[i] == '\n' {
				return -1
			}
		case s[0]:
			return i
		}
	}
	return -1
}

// simpleEscapes are those of C, and GNU's \e.
var simpleEscapes = map[byte]byte{
	'a': '\a', 'b': '\b', 'e': 0x1b, 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v',
	'\\': '\\', '\'': '\'', '"': '"', '?': '?',
}

// unescape returns the bytes of src[lo:hi], the text inside quotes.
func (l *lexer) unescape(lo, hi int) ([]byte, *token) {
	var out []byte
	for i := lo; i < hi; {
		if l.src[i] != '\\' {
			out = append(out, l.src[i])
			i++
			continue
		}
		bytes, n, bad := l.escape(i, hi)
		if bad != nil {
			return nil, bad
		}
		out = append(out, bytes...)
		i += n
	}
	return out, nil
}

// escape reads the escape sequence at src[lo], n bytes long. The closing quote
// follows at hi, so the backslash has a successor before it.
func (l *lexer) escape(lo, hi int) (bytes []byte, n int, bad *token) {
	c := l.src[lo+1]
	if v, ok := simpleEscapes[c]; ok {
		return []byte{v}, 2, nil
	}
	e, ok := numericEscapes[c]
	if !ok {
		_, size := utf8.DecodeRuneInString(l.src[lo+1 : hi])
		end := lo + 1 + size
		t := l.errorAt(lo, end, `write "\\" for a backslash`, "%s is not a C escape sequence", l.src[lo:end])
		return nil, 0, &t
	}
	digits := lo + e.skip
	v, count := digitsValue(l.src[digits:hi], e.base, e.most)
	n = e.skip + count
	valid := count >= e.least && v <= e.max
	switch {
	case valid && !e.unicode:
		return []byte{byte(v)}, n, nil
	case valid && utf8.ValidRune(rune(v)):
		return utf8.AppendRune(nil, rune(v)), n, nil
	}
	t := l.errorAt(lo, lo+n, e.rule, "%s is out of range", l.src[lo:lo+n])
	if count < e.least {
		t.err.Msg = l.src[lo:lo+n] + " has too few digits"
	}
	return nil, 0, &t
}

// numericEscape describes the syntax of an escape sequence with a number.
type numericEscape struct {
	skip        int // bytes before the digits
	base        int
	least, most int // digits
	max         uint64
	unicode     bool // the number is a Unicode character, stored as UTF-8
	rule        string
}

// numericEscapes by the character after the backslash.
var numericEscapes = func() map[byte]numericEscape {
	m := map[byte]numericEscape{
		'x': {skip: 2, base: 16, least: 1, most: 1 << 20, max: 0xff, rule: `the largest byte is \xff; as in C, all following hexadecimal digits belong to the sequence`},
		'u': {skip: 2, base: 16, least: 4, most: 4, max: utf8.MaxRune, unicode: true, rule: `\u takes the 4 digits of a Unicode character`},
		'U': {skip: 2, base: 16, least: 8, most: 8, max: utf8.MaxRune, unicode: true, rule: `\U takes the 8 digits of a Unicode character`},
	}
	for c := byte('0'); c <= '7'; c++ {
		m[c] = numericEscape{skip: 1, base: 8, least: 1, most: 3, max: 0xff, rule: `the largest byte is \377`}
	}
	return m
}()

// digitsValue reads at most most digits; the value saturates.
func digitsValue(s string, base, most int) (v uint64, n int) {
	for n < len(s) && n < most {
		d := digitValue(s[n])
		if d >= base {
			break
		}
		if v < 1<<40 {
			v = v*uint64(base) + uint64(d)
		}
		n++
	}
	return v, n
}
