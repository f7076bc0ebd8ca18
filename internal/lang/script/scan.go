package script

import (
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/lang"
)

// scanner reads the text byte by byte: what a character means depends on the place in bpftrace's grammar
// (attach points contain slashes, types follow parentheses), so there is no stream of tokens.
//
// After an error, bad is set and the text seems to end at the current position. All loops then end by
// themselves; the parser clears bad when it resumes at a later statement.
type scanner struct {
	file *File
	src  string
	pos  int
	hi   int // the end of the last token
	bad  bool
	errs lang.Diagnostics
}

func (s *scanner) errorAt(span lang.Span, hint, format string, args ...any) {
	if !s.bad {
		s.errs = s.errs.Add(s.file.At(span, fmt.Sprintf(format, args...), hint))
	}
	s.bad = true
}

// report is errorAt for mistakes after which the parser can go on.
func (s *scanner) report(span lang.Span, hint, format string, args ...any) {
	if !s.bad {
		s.errs = s.errs.Add(s.file.At(span, fmt.Sprintf(format, args...), hint))
	}
}

// unexpected is the error for the next token.
func (s *scanner) unexpected(format string, args ...any) {
	if !s.bad {
		s.errorAt(s.next(), "", format, args...)
	}
}

// next is the span of the next token, for diagnostics.
func (s *scanner) next() lang.Span {
	s.layout()
	lo := s.pos
	c := s.peek(0)
	switch {
	case c == 0:
		return lang.Span{Lo: lo, Hi: lo}
	case isWord(c):
		return lang.Span{Lo: lo, Hi: s.wordEnd(lo)}
	case c == '$' || c == '@':
		return lang.Span{Lo: lo, Hi: s.wordEnd(lo + 1)}
	}
	return lang.Span{Lo: lo, Hi: lo + 1}
}

// peek returns the byte at distance n, or 0 after the end.
func (s *scanner) peek(n int) byte { return s.at(s.pos + n) }

// at returns the byte at an offset, or 0 after the end.
func (s *scanner) at(i int) byte {
	if s.bad || i >= len(s.src) {
		return 0
	}
	return s.src[i]
}

// take consumes n bytes of a token.
func (s *scanner) take(n int) {
	s.pos = min(s.pos+n, len(s.src))
	s.hi = s.pos
}

// layout skips blanks and comments.
func (s *scanner) layout() {
	if !s.bad {
		s.pos = s.afterLayout(s.pos)
	}
}

// afterLayout returns the offset of the first byte from i on that is neither blank nor in a comment.
func (s *scanner) afterLayout(i int) int {
	for i < len(s.src) {
		switch c := s.src[i]; {
		case isBlank(c):
			i++
		case c == '/' && i+1 < len(s.src) && s.src[i+1] == '/':
			n := strings.IndexByte(s.src[i:], '\n')
			if n < 0 {
				return len(s.src)
			}
			i += n
		case c == '/' && i+1 < len(s.src) && s.src[i+1] == '*':
			n := strings.Index(s.src[i+2:], "*/")
			if n < 0 {
				return len(s.src)
			}
			i += n + 4
		default:
			return i
		}
	}
	return i
}

// word returns the keyword or name at the next token without consuming it, "" if there is none.
func (s *scanner) word() string {
	s.layout()
	if !isWordStart(s.peek(0)) {
		return ""
	}
	return s.src[s.pos:s.wordEnd(s.pos)]
}

func (s *scanner) wordEnd(i int) int {
	for i < len(s.src) && isWord(s.src[i]) {
		i++
	}
	return i
}

// maxLookahead bounds the search for the bracket that closes a type's.
const maxLookahead = 4096

// balanced returns the offset after the bracket that closes the one at i, or -1. It looks no farther than the
// statement.
func (s *scanner) balanced(i int, open, shut byte) int {
	for depth, end := 0, min(len(s.src), i+maxLookahead); i < end; i++ {
		switch s.src[i] {
		case ';', '{', '}':
			return -1
		case open:
			depth++
		case shut:
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// accept consumes the character if it is next.
func (s *scanner) accept(c byte) bool {
	s.layout()
	if s.peek(0) == c && !s.bad {
		s.take(1)
		return true
	}
	return false
}

// acceptWord consumes the keyword if it is next.
func (s *scanner) acceptWord(w string) bool {
	if s.word() == w && w != "" {
		s.take(len(w))
		return true
	}
	return false
}

// expect consumes the character, or reports that it is missing.
func (s *scanner) expect(c byte) bool {
	if s.accept(c) {
		return true
	}
	s.unexpected("expected %q %s", string(c), s.found())
	return false
}

// list consumes what is between parentheses, and the closing one: nothing, or items with commas between them.
func (s *scanner) list(item func()) {
	if s.accept(')') {
		return
	}
	for !s.bad {
		item()
		if !s.accept(',') {
			s.expect(')')
			return
		}
	}
}

// found describes the next token for a message.
func (s *scanner) found() string {
	span := s.next()
	if span.Lo >= len(s.src) {
		return "before the end"
	}
	return fmt.Sprintf("before %q", s.src[span.Lo:span.Hi])
}

// name consumes an identifier; what describes it for the error.
func (s *scanner) name(what string) string {
	w := s.word()
	if w == "" {
		s.unexpected("expected %s %s", what, s.found())
		return ""
	}
	s.take(len(w))
	return w
}

// sigil consumes $name or @name. bare permits the sigil without a name.
func (s *scanner) sigil(bare bool) string {
	lo := s.pos
	if !isWordStart(s.peek(1)) {
		if !bare {
			s.errorAt(lang.Span{Lo: lo, Hi: min(lo+2, len(s.src))}, "", "expected a name after %q", s.src[lo:lo+1])
		}
		s.take(1)
		return s.src[lo:s.pos]
	}
	s.take(s.wordEnd(lo+1) - lo)
	return s.src[lo:s.pos]
}

func isBlank(c byte) bool     { return c == ' ' || c >= '\t' && c <= '\r' }
func isDigit(c byte) bool     { return c >= '0' && c <= '9' }
func isWordStart(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }
func isWord(c byte) bool      { return isWordStart(c) || isDigit(c) }
