package lang

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseCollect parses a list of expressions separated by commas. The error is a *Diagnostic or
// Diagnostics (one for each bad item) with the Source "collect". An item may have one format,
// GDB's /FMT, before or after the expression:
//
//	/x flags      flags/x      req->path/s      buf/16xb
//
// A format after the expression is [count]letter[size], without a blank after the slash, at the end of the
// item. To divide by a variable named like a format, write a blank or parentheses: total / s, total/(s). Two
// forms that are useless in GDB's print remain divisions: only a size (a/b, a/w) and only /i (sum/i). A C
// constant remains a constant: n/10u divides.
func ParseCollect(src string) ([]Collect, error) { return TextOf("collect", src).ParseCollect() }

// ParseCollect parses a collect list that is part of a larger text; see the function ParseCollect.
func (t Text) ParseCollect() ([]Collect, error) {
	var items []Collect
	var bad Diagnostics
	for _, s := range splitList(t.String()) {
		c, err := t.item(Span{s.Lo + t.Span.Lo, s.Hi + t.Span.Lo})
		switch d := err.(type) {
		case nil:
			items = append(items, c)
		case *Diagnostic:
			bad = bad.Add(d)
		default:
			panic(fmt.Sprintf("BUG: the parser gave a %T", err))
		}
	}
	if len(bad) > 0 {
		return nil, bad.Err()
	}
	return items, nil
}

func (t Text) item(item Span) (Collect, error) {
	src := t.Whole
	lo, f, err := t.leadingFormat(item)
	if err != nil {
		return Collect{}, err
	}
	s := trim(src, Span{lo, item.Hi})
	if behind, hi, ok := trailingFormat(src, s); ok {
		if f != (Format{}) {
			return Collect{}, t.At(Span{hi, s.Hi}, "this item has two formats", "write one, before or after the expression")
		}
		f = behind
		s = trim(src, Span{s.Lo, hi})
	}
	x, err := parsePart(Text{t.Source, src, s}, precAssign)
	if err != nil {
		return Collect{}, err
	}
	return Collect{X: x, Format: f, Text: src[s.Lo:s.Hi], Span: item, From: t}, nil
}

const (
	formatLetters = "xduotcafszi"
	sizeLetters   = "bhwg"
)

// scanFormat reads [count][letter][size]; n is its length in s.
func scanFormat(s string) (f Format, n int) {
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	if n > 0 {
		count, err := strconv.Atoi(s[:n])
		if err != nil || count > 1<<30 {
			return Format{}, 0
		}
		f.Count = count
	}
	if n < len(s) && strings.IndexByte(formatLetters, s[n]) >= 0 {
		f.Letter = s[n]
		n++
	}
	if n < len(s) && strings.IndexByte(sizeLetters, s[n]) >= 0 {
		f.Size = s[n]
		n++
	}
	return f, n
}

// leadingFormat reads "/FMT" at the start of an item; lo is where the expression starts.
func (t Text) leadingFormat(s Span) (lo int, f Format, err error) {
	src := t.Whole
	if s.Lo == s.Hi || src[s.Lo] != '/' || strings.HasPrefix(src[s.Lo:s.Hi], "/*") {
		return s.Lo, Format{}, nil
	}
	word := src[s.Lo+1 : s.Hi]
	end := len(word)
	for i, r := range word {
		if !isIdentRune(r) {
			end = i
			break
		}
	}
	f, n := scanFormat(word[:end])
	if n != end || n == 0 {
		return 0, f, t.At(Span{s.Lo, s.Lo + 1 + end}, fmt.Sprintf("%q is not a format", src[s.Lo:s.Lo+1+end]),
			"a format is a slash, a count, one of x d u o t c a f s z i and a size b h w g: /x, /s, /16xb")
	}
	return s.Lo + 1 + n, f, nil
}

// trailingFormat finds "/FMT" at the end of an item; hi is where the expression ends.
func trailingFormat(src string, s Span) (f Format, hi int, ok bool) {
	slash := strings.LastIndexByte(src[s.Lo:s.Hi], '/')
	if slash <= 0 {
		return Format{}, 0, false
	}
	word := src[s.Lo+slash+1 : s.Hi]
	f, n := scanFormat(word)
	if n != len(word) || f.Letter == 0 || word == "i" || isIntConstant(word) {
		return Format{}, 0, false
	}
	return f, s.Lo + slash, true
}

// isIntConstant reports whether a whole word is a C constant, such as 10u.
func isIntConstant(word string) bool {
	l := &lexer{src: word, end: len(word)}
	return isDigit(word[0]) && l.number().kind == tokLit
}

// templateLen is the length of template arguments at the start of s, if "::" follows: a<b, c>::d is always a path, as in
// nameWithArgs. 0: there are none.
func templateLen(s string) int {
	angle := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '<':
			angle++
		case c == '>':
			if angle--; angle == 0 {
				if rest := s[i+1:]; strings.HasPrefix(rest[blankLen(rest):], "::") {
					return i + 1
				}
				return 0
			}
		case !isIdentRune(rune(c)) && strings.IndexByte(" ,:*&()[].-", c) < 0:
			return 0
		}
	}
	return 0
}

// splitList splits a list at the commas outside brackets, quotes and comments, and trims blanks. It returns at
// least one item.
func splitList(src string) []Span {
	var items []Span
	depth, lo := 0, 0
	for i := 0; i < len(src); {
		n := 1
		switch c := src[i]; {
		case c == '\'' || c == '"':
			if end := closingQuote(src[i:]); end > 0 {
				n = end + 1
			}
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth = max(depth-1, 0)
		case c == '<':
			n = max(templateLen(src[i:]), 1)
		case c == ',' && depth == 0:
			items = append(items, trim(src, Span{lo, i}))
			lo = i + 1
		default:
			n = max(blankLen(src[i:]), 1)
		}
		i += n
	}
	return append(items, trim(src, Span{lo, len(src)}))
}

// trim removes blanks and continued lines at both ends.
func trim(src string, s Span) Span {
	for n := spaceLen(src[s.Lo:s.Hi]); n > 0; n = spaceLen(src[s.Lo:s.Hi]) {
		s.Lo += n
	}
	for s.Lo < s.Hi && isBlank(src[s.Hi-1]) {
		if line := strings.TrimSuffix(src[s.Lo:s.Hi-1], "\r"); src[s.Hi-1] == '\n' && strings.HasSuffix(line, "\\") {
			s.Hi = s.Lo + len(line) - 1
			continue
		}
		s.Hi--
	}
	return s
}
