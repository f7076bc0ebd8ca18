package usdt

import (
	"fmt"
	"strconv"
	"strings"
)

// number is a constant expression of the assembler: at most one symbol, with an
// optional relocation operator (x@tpoff), and a sum.
type number struct {
	sym string
	rel string // lower case, "" for none
	val int64
}

// parser reads one operand from the left.
type parser struct {
	s         string
	i         int
	registers map[string]register
}

func (p *parser) peek() byte {
	if p.i < len(p.s) {
		return p.s[p.i]
	}
	return 0
}

func (p *parser) take(c byte) bool {
	if p.peek() == c && p.i < len(p.s) {
		p.i++
		return true
	}
	return false
}

func (p *parser) blanks() {
	for p.peek() == ' ' || p.peek() == '\t' {
		p.i++
	}
}

// while consumes bytes as long as they satisfy the condition.
func (p *parser) while(want func(c byte) bool) string {
	from := p.i
	for p.i < len(p.s) && want(p.s[p.i]) {
		p.i++
	}
	return p.s[from:p.i]
}

func alnum(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' }

// symbolByte: bytes above 127 are UTF-8, which identifiers may have.
func symbolByte(c byte) bool { return alnum(c) || c == '_' || c == '.' || c == '$' || c >= 0x80 }

// maxNesting limits nested parentheses in expressions.
const maxNesting = 32

// expr reads a sum of products.
func (p *parser) expr(depth int) (number, error) {
	sum, err := p.product(depth)
	for err == nil {
		p.blanks()
		c := p.peek()
		if c != '+' && c != '-' {
			return sum, nil
		}
		p.i++
		var n number
		if n, err = p.product(depth); err != nil {
			break
		}
		switch {
		case n.sym != "" && (sum.sym != "" || c == '-'):
			return sum, fmt.Errorf("a difference or sum of symbols")
		case n.sym != "":
			sum.sym, sum.rel = n.sym, n.rel
		}
		if c == '-' {
			n.val = -n.val
		}
		sum.val += n.val
	}
	return sum, err
}

func (p *parser) product(depth int) (number, error) {
	n, err := p.primary(depth)
	for err == nil {
		p.blanks()
		if !p.take('*') {
			return n, nil
		}
		var m number
		if m, err = p.primary(depth); err != nil {
			break
		}
		if n.sym != "" || m.sym != "" {
			return n, fmt.Errorf("a product with a symbol")
		}
		n.val *= m.val
	}
	return n, err
}

// primary reads a literal, a symbol, a parenthesis, or one with a sign.
func (p *parser) primary(depth int) (number, error) {
	if depth > maxNesting {
		return number{}, fmt.Errorf("parentheses are nested too deeply")
	}
	p.blanks()
	switch c := p.peek(); {
	case c == '(':
		p.i++
		n, err := p.expr(depth + 1)
		if p.blanks(); err == nil && !p.take(')') {
			err = fmt.Errorf("unclosed parenthesis")
		}
		return n, err
	case c == '-' || c == '~' || c == '+':
		p.i++
		n, err := p.primary(depth + 1)
		return n.signed(c, err)
	case c >= '0' && c <= '9':
		return p.literal()
	case symbolByte(c):
		n := number{sym: p.while(symbolByte)}
		if p.take('@') {
			n.rel = strings.ToLower(p.while(alnum))
		}
		return n, nil
	case c == '"': // names that are not identifiers are quoted
		if name, rest, ok := strings.Cut(p.s[p.i+1:], `"`); ok && name != "" {
			p.i = len(p.s) - len(rest)
			return number{sym: name}, nil
		}
	}
	if p.i == len(p.s) {
		return number{}, fmt.Errorf("unexpected end")
	}
	return number{}, fmt.Errorf("%q is not a number", p.s[p.i:])
}

// signed applies a prefix operator.
func (n number) signed(op byte, err error) (number, error) {
	if err != nil || op == '+' {
		return n, err
	}
	if n.sym != "" {
		return n, fmt.Errorf("a symbol with a sign")
	}
	if n.val = -n.val; op == '~' {
		n.val--
	}
	return n, nil
}

// literal reads decimal, 0x, 0b and octal numbers of 64 bits.
func (p *parser) literal() (number, error) {
	t := p.while(alnum)
	if strings.HasPrefix(t, "0o") || strings.HasPrefix(t, "0O") {
		return number{}, fmt.Errorf("%q is not a number", t)
	}
	v, err := strconv.ParseUint(t, 0, 64)
	if err != nil {
		return number{}, fmt.Errorf("%q is not a number", t)
	}
	return number{val: int64(v)}, nil
}
