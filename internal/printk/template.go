package printk

import "strings"

// maxWidth limits field width and precision; it is longer than any line of the kernel.
const maxWidth = 1 << 13

// spec is the format of a value: the part between % and the letter.
type spec struct {
	left, plus, space, alt, zero bool
	width                        int // -1: none
	prec                         int // -1: none
	upper                        bool
}

// directive is a part of a format string: text or a conversion.
type directive struct {
	text string // printed unchanged if conv is 0
	conv byte   // the letter: d i u x X o c s p %
	size int    // bytes of an integer argument
	ext  string // the letters after %p
	spec
	starWidth, starPrec bool // given by arguments
}

// sizes are the length modifiers and their bytes.
var sizes = []struct {
	mod  string
	size int
}{{"hh", 1}, {"h", 2}, {"ll", 8}, {"l", 8}, {"L", 8}, {"z", 8}, {"Z", 8}, {"t", 8}, {"", 4}}

// parseTemplate splits a format string. Conversions that the kernel's vsprintf does not know are printed
// unchanged.
func parseTemplate(s string) []directive {
	var out []directive
	text := func(t string) {
		if t == "" {
			return
		}
		if n := len(out); n > 0 && out[n-1].conv == 0 {
			out[n-1].text += t
			return
		}
		out = append(out, directive{text: t})
	}
	for {
		i := strings.IndexByte(s, '%')
		if i < 0 {
			text(s)
			return out
		}
		text(s[:i])
		d, n := parseDirective(s[i:])
		switch d.conv {
		case 0:
			text(s[i : i+n])
		case '%':
			text("%")
		default:
			out = append(out, d)
		}
		s = s[i+n:]
	}
}

// parseDirective parses the conversion that begins with the % at s[0]; n is its length. conv is 0 if it is not
// a conversion.
func parseDirective(s string) (d directive, n int) {
	d.width, d.prec = -1, -1
	i := 1
	for i < len(s) && d.flag(s[i]) {
		i++
	}
	if i < len(s) && s[i] == '*' {
		d.starWidth = true
		i++
	} else {
		i = decimal(s, i, &d.width)
	}
	if i < len(s) && s[i] == '.' {
		i++
		if i < len(s) && s[i] == '*' {
			d.starPrec = true
			i++
		} else {
			i = decimal(s, i, &d.prec)
		}
	}
	for _, m := range sizes {
		if strings.HasPrefix(s[i:], m.mod) {
			d.size = m.size
			i += len(m.mod)
			break
		}
	}
	if i == len(s) {
		return directive{}, i
	}
	c := s[i]
	i++
	switch c {
	case 'd', 'i', 'u', 'x', 'o', 'c', 's', '%':
		d.conv = c
	case 'X':
		d.conv, d.upper = 'x', true
	case 'p':
		d.conv = c
		// The kernel skips all letters and digits after %p.
		start := i
		for i < len(s) && isWord(s[i]) && s[i] != '_' {
			i++
		}
		d.ext = s[start:i]
	default:
		return directive{}, i
	}
	return d, i
}

func (s *spec) flag(c byte) bool {
	switch c {
	case '-':
		s.left = true
	case '+':
		s.plus = true
	case ' ':
		s.space = true
	case '#':
		s.alt = true
	case '0':
		s.zero = true
	default:
		return false
	}
	return true
}

// decimal reads a number at s[i:] into n, if there is one.
func decimal(s string, i int, n *int) int {
	for i < len(s) && isDigit(s[i]) {
		*n = min(max(*n, 0)*10+int(s[i]-'0'), maxWidth)
		i++
	}
	return i
}

// setWidth takes a width from an argument; a negative one means left-adjusted.
func (s *spec) setWidth(n int32) {
	w := int64(n)
	if w < 0 {
		s.left, w = true, -w
	}
	s.width = int(min(w, maxWidth))
}
