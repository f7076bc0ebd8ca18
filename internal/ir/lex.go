package ir

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The lexical part of the parser: it takes words, numbers and punctuation off
// the front of the present line.

func (ps *parser) space() { ps.line = strings.TrimLeft(ps.line, " \t\r") }

// end reports whether only a comment is left.
func (ps *parser) end() bool {
	ps.space()
	return ps.line == "" || ps.line[0] == ';'
}

// finish holds that nothing follows on the line.
func (ps *parser) finish(err error) error {
	if err == nil && !ps.end() {
		return fmt.Errorf("unexpected %q", ps.line)
	}
	return err
}

func (ps *parser) want(what string) error {
	if ps.end() {
		return errors.New("expected " + what)
	}
	return fmt.Errorf("expected %s before %q", what, ps.line)
}

func (ps *parser) accept(s string) bool {
	ps.space()
	rest, ok := strings.CutPrefix(ps.line, s)
	if ok {
		ps.line = rest
	}
	return ok
}

// peekWord is the run of letters, digits, dots and underscores at the front.
func (ps *parser) peekWord() string {
	ps.space()
	n := 0
	for n < len(ps.line) && isWordByte(ps.line[n]) {
		n++
	}
	return ps.line[:n]
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_'
}

func (ps *parser) word() string {
	w := ps.peekWord()
	ps.line = ps.line[len(w):]
	return w
}

func (ps *parser) peekSign() bool {
	ps.space()
	return ps.line != "" && (ps.line[0] == '+' || ps.line[0] == '-')
}

// number reads a signed decimal or hexadecimal number.
func (ps *parser) number() (int64, error) {
	ps.space()
	n := 0
	if ps.peekSign() {
		n = 1
	}
	for n < len(ps.line) && isWordByte(ps.line[n]) {
		n++
	}
	v, err := strconv.ParseInt(ps.line[:n], 0, 64)
	if err != nil {
		return 0, ps.want("a number")
	}
	ps.line = ps.line[n:]
	return v, nil
}

func (ps *parser) quoted() (string, error) {
	ps.space()
	q, err := strconv.QuotedPrefix(ps.line)
	if err != nil || q[0] != '"' {
		return "", ps.want("a text in double quotes")
	}
	ps.line = ps.line[len(q):]
	s, err := strconv.Unquote(q)
	if err != nil {
		return "", fmt.Errorf("bad text %s", q)
	}
	return s, nil
}

// index reads a letter followed by a decimal number below limit.
func (ps *parser) index(letter, what string, limit int) (int, error) {
	word := ps.peekWord()
	digits, ok := strings.CutPrefix(word, letter)
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 || n >= limit {
		return 0, ps.want(what)
	}
	ps.word()
	return n, nil
}

func (ps *parser) blockID() (BlockID, error) {
	n, err := ps.index("b", "a block", maxParseBlock)
	return BlockID(n), err
}

// wide reads the name of a wide register.
func (ps *parser) wide() (int64, error) {
	word := ps.word()
	n, ok := WideNumber(word)
	if !ok {
		return 0, fmt.Errorf("unknown register %q", word)
	}
	return n, nil
}

func isValue(word string) bool {
	return len(word) > 1 && word[0] == 'v' && word[1] >= '0' && word[1] <= '9'
}

// value reads "v7".
func (ps *parser) value() (Value, error) {
	n, err := ps.index("v", "a value", maxParseValue)
	if err != nil {
		return None, err
	}
	for n >= len(ps.p.Classes) {
		ps.p.Classes = append(ps.p.Classes, I64)
	}
	return Value(n), nil
}

// define reads "v7" or "v7:f64" and notes the class.
func (ps *parser) define() (Value, error) {
	v, err := ps.value()
	if err != nil || !ps.accept(":") {
		return v, err
	}
	switch word := ps.word(); word {
	case "f64":
		ps.p.Classes[v] = F64
	case "f32":
		ps.p.Classes[v] = F32
	case "i64":
		ps.p.Classes[v] = I64
	default:
		return v, fmt.Errorf("unknown class %q", word)
	}
	return v, nil
}
