package agentexpr

import (
	"fmt"
	"strconv"
	"strings"
)

// piece is a part of a printf format: text, or one conversion.
type piece struct {
	text string // literal text; of a conversion: flags, width, precision, as Go's fmt takes them
	verb byte   // 0: text
	bits int    // of an integer
}

// parseFormat splits a format as gdbserver does: the conversions d i u o x X c s p
// %, with flags, width, precision and the sizes hh h l ll z j t. Escapes (\n, \t,
// \", \\, octal) are still in the text. What reads more than its argument (%n, %*)
// is refused, and floating point, which the bytecode has not.
func parseFormat(f string) ([]piece, error) {
	var list []piece
	for f != "" {
		at := strings.IndexByte(f, '%')
		if at < 0 {
			at = len(f)
		}
		if at > 0 {
			text, err := unescape(f[:at])
			if err != nil {
				return nil, err
			}
			list = append(list, piece{text: text})
			f = f[at:]
			continue
		}
		p, n, err := conversion(f)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
		f = f[n:]
	}
	return list, nil
}

// maxWidth bounds widths and precisions, so that a text stays of a sensible length.
const maxWidth = 4096

// conversion reads the conversion at the start of f and says how long it is.
func conversion(f string) (piece, int, error) {
	n := 1
	digits := func() error {
		from := n
		for n < len(f) && f[n] >= '0' && f[n] <= '9' {
			n++
		}
		if w, err := strconv.Atoi("0" + f[from:n]); err != nil || w > maxWidth {
			return fmt.Errorf("a width of %s", f[from:n])
		}
		return nil
	}
	for n < len(f) && strings.IndexByte("-+ #0", f[n]) >= 0 {
		n++
	}
	if err := digits(); err != nil {
		return piece{}, 0, err
	}
	if n < len(f) && f[n] == '.' {
		n++
		if err := digits(); err != nil {
			return piece{}, 0, err
		}
	}
	p := piece{text: f[1:n], bits: 32}
	for _, size := range []struct {
		name string
		bits int
	}{{"hh", 8}, {"h", 16}, {"ll", 64}, {"l", 64}, {"z", 64}, {"j", 64}, {"t", 64}} {
		if strings.HasPrefix(f[n:], size.name) {
			n += len(size.name)
			p.bits = size.bits
			break
		}
	}
	if n == len(f) {
		return piece{}, 0, fmt.Errorf("%q is cut off", f)
	}
	p.verb = f[n]
	n++
	if strings.IndexByte("diuoxXcsp%", p.verb) < 0 {
		return piece{}, 0, fmt.Errorf("%q is not supported", f[:n])
	}
	if p.verb == '%' && n != 2 {
		return piece{}, 0, fmt.Errorf("%q is not supported", f[:n])
	}
	return p, n, nil
}

var escapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'a': 7, 'b': 8, 'f': 12, 'v': 11, 'e': 27, '"': '"', '\\': '\\'}

func unescape(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		if i == len(s) {
			return "", fmt.Errorf("a backslash at the end of %q", s)
		}
		if c, ok := escapes[s[i]]; ok {
			b.WriteByte(c)
			continue
		}
		n := 0
		v := 0
		for n < 3 && i+n < len(s) && s[i+n] >= '0' && s[i+n] <= '7' {
			v = v*8 + int(s[i+n]-'0')
			n++
		}
		if n == 0 || v > 255 {
			return "", fmt.Errorf("unknown escape in %q", s)
		}
		b.WriteByte(byte(v))
		i += n - 1
	}
	return b.String(), nil
}

func countArgs(list []piece) int {
	n := 0
	for _, p := range list {
		if p.verb != 0 && p.verb != '%' {
			n++
		}
	}
	return n
}

// stringArgs says of each argument of a format whether it is printed as a string.
func stringArgs(format string) []bool {
	list, _ := parseFormat(format)
	var is []bool
	for _, p := range list {
		if p.verb != 0 && p.verb != '%' {
			is = append(is, p.verb == 's')
		}
	}
	return is
}

// Printed is what a printf operation was given at a hit.
type Printed struct {
	Format string
	Args   []uint64
	// Strings has, for each %s, what its argument pointed to, by number of the argument.
	Strings map[int]string
}

// String makes the text.
func (p *Printed) String() string {
	list, err := parseFormat(p.Format)
	if err != nil || countArgs(list) != len(p.Args) {
		return p.Format
	}
	var b strings.Builder
	n := 0
	for _, x := range list {
		switch x.verb {
		case 0:
			b.WriteString(x.text)
		case '%':
			b.WriteByte('%')
		default:
			b.WriteString(x.format(p, n))
			n++
		}
	}
	return b.String()
}

// format prints argument n.
func (x *piece) format(p *Printed, n int) string {
	v := p.Args[n]
	shift := 64 - x.bits
	switch x.verb {
	case 's':
		s, ok := p.Strings[n]
		switch {
		case v == 0:
			s = "(null)"
		case !ok:
			s = fmt.Sprintf("<unreadable address %#x>", v)
		}
		return x.pad(s)
	case 'c':
		return x.pad(string([]byte{byte(v)}))
	case 'p':
		return x.pad(fmt.Sprintf("%#x", v))
	case 'd', 'i':
		return fmt.Sprintf("%"+x.text+"d", int64(v)<<shift>>shift)
	case 'u':
		return fmt.Sprintf("%"+x.text+"d", v<<shift>>shift)
	}
	return fmt.Sprintf("%"+x.text+string(x.verb), v<<shift>>shift)
}

// pad prints a string; of the flags only the one to the left means something.
func (x *piece) pad(s string) string {
	left, digits := "", strings.TrimLeft(x.text, "-+ #0")
	if strings.Contains(x.text[:len(x.text)-len(digits)], "-") {
		left = "-"
	}
	return fmt.Sprintf("%"+left+digits+"s", s)
}
