package lang

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

type tokenKind uint8

const (
	tokEOF   tokenKind = iota
	tokIdent           // text is the name; keywords too
	tokReg             // text is the name without its dollar
	tokLit             // lit is the literal
	tokScope           // a quoted name before "::"; text is what the quotes hold
	tokOp              // text is the operator or bracket
	tokError           // err describes the problem in the text here
)

type token struct {
	kind tokenKind
	span Span
	text string
	lit  Expr
	err  *Diagnostic
}

// operators are tried in this order: a longer one precedes its prefixes.
var operators = []string{
	"<<=", ">>=", "...",
	"->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "::",
	"+=", "-=", "*=", "/=", "%=", "&=", "^=", "|=",
	"+", "-", "*", "/", "%", "&", "|", "^", "~", "!", "<", ">", "=", "?", ":",
	",", ".", "(", ")", "[", "]", "{", "}", "@", ";",
}

// lexer splits the part of src before end into tokens.
type lexer struct {
	source string // for diagnostics
	src    string
	pos    int
	end    int
	last   token // the one before
}

// tokens reads all tokens; the last is tokEOF or tokError.
func (l *lexer) tokens() []token {
	var all []token
	for {
		t := l.next()
		all, l.last = append(all, t), t
		if t.kind == tokEOF || t.kind == tokError {
			return all
		}
	}
}

func (l *lexer) rest() string { return l.src[l.pos:l.end] }

// peek returns the byte at distance n, or 0 after the end.
func (l *lexer) peek(n int) byte {
	if l.pos+n < l.end {
		return l.src[l.pos+n]
	}
	return 0
}

func (l *lexer) errorAt(lo, hi int, hint, format string, args ...any) token {
	s := Span{lo, hi}
	return token{kind: tokError, span: s, err: At(l.source, l.src, s, fmt.Sprintf(format, args...), hint)}
}

func (l *lexer) next() token {
	if t, ok := l.skipBlanks(); !ok {
		return t
	}
	lo := l.pos
	c := l.peek(0)
	switch {
	case lo >= l.end:
		return token{kind: tokEOF, span: Span{lo, lo}}
	case c == '.' && isDigit(l.peek(1)) && l.behindOperand():
		l.pos++
		return token{kind: tokOp, span: Span{lo, l.pos}, text: "."}
	case isDigit(c) && l.last.is(".") && l.last.span.Hi == lo:
		return l.tupleMember()
	case isDigit(c) || c == '.' && isDigit(l.peek(1)):
		return l.number()
	case c == '\'':
		return l.quoted()
	case c == '"':
		return l.strings()
	case c == '$':
		return l.register()
	}
	if n := identLen(l.rest()); n > 0 {
		l.pos += n
		name := l.src[lo:l.pos]
		if (l.peek(0) == '\'' || l.peek(0) == '"') && isWidePrefix(name) {
			return l.errorAt(lo, l.pos+1, "jalon treats a program's strings and characters as bytes: omit the "+name+" out",
				"wide and prefixed literals (%s%c) are not supported", name, l.peek(0))
		}
		return token{kind: tokIdent, span: Span{lo, l.pos}, text: name}
	}
	for _, op := range operators {
		if strings.HasPrefix(l.rest(), op) {
			l.pos += len(op)
			return token{kind: tokOp, span: Span{lo, l.pos}, text: op}
		}
	}
	r, n := utf8.DecodeRuneInString(l.rest())
	if r == utf8.RuneError && n == 1 {
		return l.errorAt(lo, lo+1, "the text must be UTF-8", "the byte 0x%02x is not a character", c)
	}
	return l.errorAt(lo, lo+n, "", "the character %q has no meaning in an expression", r)
}

// behindOperand reports whether the text before is a name or an element, without a blank between. A constant such
// as .5 cannot follow there: p.0 is a member of a tuple of Rust. (int).5 and sizeof.5 are C.
func (l *lexer) behindOperand() bool {
	return l.last.span.Hi == l.pos && (l.last.kind == tokIdent && l.last.text != "sizeof" || l.last.is("]"))
}

// tupleMember reads the number of a tuple's member; compilers of Rust call the members __0, __1, ...
func (l *lexer) tupleMember() token {
	lo := l.pos
	for isDigit(l.peek(0)) {
		l.pos++
	}
	if n := identLen(l.rest()); n > 0 {
		return l.errorAt(lo, l.pos+n, "", "%q is not the name of a member", l.src[lo:l.pos+n])
	}
	return token{kind: tokIdent, span: Span{lo, l.pos}, text: "__" + l.src[lo:l.pos]}
}

// skipBlanks skips blanks, continued lines and C comments. It returns an error token for an unterminated
// comment.
func (l *lexer) skipBlanks() (token, bool) {
	for l.pos < l.end {
		n := blankLen(l.rest())
		if n < 0 {
			return l.errorAt(l.pos, l.pos+2, `to divide by *p, write "/ *p"`,
				"unterminated comment"), false
		}
		if n == 0 {
			break
		}
		l.pos += n
	}
	return token{}, true
}

// blankLen returns the length of the blank, continued line or comment at the start of s; -1 for an unterminated
// comment.
func blankLen(s string) int {
	if strings.HasPrefix(s, "/*") {
		if n := strings.Index(s[2:], "*/"); n >= 0 {
			return n + 4
		}
		return -1
	}
	return spaceLen(s)
}

// spaceLen is blankLen without comments, for places: /usr/*/lib.
func spaceLen(s string) int {
	switch {
	case s == "":
		return 0
	case isBlank(s[0]):
		return 1
	case strings.HasPrefix(s, "\\\n"):
		return 2
	case strings.HasPrefix(s, "\\\r\n"):
		return 3
	}
	return 0
}

func (l *lexer) register() token {
	lo := l.pos
	l.pos++
	for l.pos < l.end {
		r, n := utf8.DecodeRuneInString(l.rest())
		if !isIdentRune(r) {
			break
		}
		l.pos += n
	}
	name := l.src[lo+1 : l.pos]
	if name == "" || isDigit(name[0]) || name[0] == '$' {
		return l.errorAt(lo, l.pos, "a name follows the dollar: $rip, $args, $locals, $regs, ...",
			"%q is GDB's value history, which jalon does not support", "$"+name)
	}
	return token{kind: tokReg, span: Span{lo, l.pos}, text: name}
}

// identLen returns the length of the C identifier at the start of s. As in GNU C it may contain dollars;
// letters of any script are allowed.
func identLen(s string) int {
	for i, r := range s {
		if isIdentRune(r) && (i > 0 || r != '$' && !unicode.IsDigit(r)) {
			continue
		}
		return i
	}
	return len(s)
}

func isIdentRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '_' || r == '$' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z'
	}
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r))
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isBlank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func isWidePrefix(name string) bool {
	switch name {
	case "L", "u", "U", "u8", "R", "LR", "uR", "UR", "u8R":
		return true
	}
	return false
}
