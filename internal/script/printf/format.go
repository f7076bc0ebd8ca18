package printf

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/script/types"
)

// Format is a parsed format: texts with a conversion after each but the last.
type Format struct {
	texts []string
	convs []conv
}

// conv is one conversion.
type conv struct {
	left, plus, space, alt, zero bool
	width, prec                  int  // prec -1 for none
	starWidth, starPrec          bool // given by arguments before the value
	length                       string
	verb                         string
}

// maxWidth bounds width and precision, so that a format cannot exhaust memory.
const maxWidth = 1 << 16

// verbs are the conversions, longer ones before those that they begin with.
var verbs = []string{"gr", "rh", "rx", "r", "d", "i", "u", "o", "x", "X", "c", "p", "s", "f", "F", "e", "E", "g", "G", "a", "A"}

// Parse parses a format.
func Parse(s string) (*Format, error) {
	f := &Format{}
	var text strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '%' {
			text.WriteByte(s[i])
			i++
			continue
		}
		if strings.HasPrefix(s[i:], "%%") {
			text.WriteByte('%')
			i += 2
			continue
		}
		c, n, err := parseConv(s[i:])
		if err != nil {
			return nil, err
		}
		f.texts, f.convs = append(f.texts, text.String()), append(f.convs, c)
		text.Reset()
		i += n
	}
	f.texts = append(f.texts, text.String())
	return f, nil
}

// parseConv parses the conversion at the start of s and returns its length.
func parseConv(s string) (conv, int, error) {
	c := conv{prec: -1}
	i := 1
	for flags := map[byte]*bool{'-': &c.left, '+': &c.plus, ' ': &c.space, '#': &c.alt, '0': &c.zero}; i < len(s) && flags[s[i]] != nil; i++ {
		*flags[s[i]] = true
	}
	var err error
	if c.width, c.starWidth, i, err = number(s, i); err != nil {
		return c, 0, err
	}
	if i < len(s) && s[i] == '.' {
		if c.prec, c.starPrec, i, err = number(s, i+1); err != nil {
			return c, 0, err
		}
	}
	start := i
	for i < len(s) && strings.IndexByte("hlLjzt", s[i]) >= 0 {
		i++
	}
	c.length = s[start:i]
	for _, v := range verbs {
		if strings.HasPrefix(s[i:], v) {
			c.verb = v
			return c, i + len(v), nil
		}
	}
	return c, 0, fmt.Errorf("%q is not a conversion of a format; a percent sign is written %%%%", s[:min(i+1, len(s))])
}

// number parses a width or precision at i.
func number(s string, i int) (n int, star bool, end int, err error) {
	if i < len(s) && s[i] == '*' {
		return 0, true, i + 1, nil
	}
	end = i
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	if end == i {
		return 0, false, end, nil
	}
	n, err = strconv.Atoi(s[i:end])
	if err != nil || n > maxWidth {
		return 0, false, end, fmt.Errorf("the width or precision %s is more than %d", s[i:end], maxWidth)
	}
	return n, false, end, nil
}

// args is the number of arguments that a conversion takes.
func (c *conv) args() int {
	n := 1
	if c.starWidth {
		n++
	}
	if c.starPrec {
		n++
	}
	return n
}

// Check compares a format with the types of its arguments. The error is about argument i, or all of them if it
// is -1.
func (f *Format) Check(args []*types.Type) (i int, err error) {
	want := 0
	for j := range f.convs {
		want += f.convs[j].args()
	}
	if want != len(args) {
		return -1, fmt.Errorf("the format has conversions for %d arguments, not %d", want, len(args))
	}
	for j := range f.convs {
		c := &f.convs[j]
		for range c.args() - 1 {
			if args[i].Kind != types.Int {
				return i, fmt.Errorf("a width or precision is an integer, not %s", args[i])
			}
			i++
		}
		if !c.fits(args[i]) {
			return i, fmt.Errorf("%%%s cannot show a value of type %s", c.verb, args[i])
		}
		i++
	}
	return 0, nil
}

// fits reports whether a conversion can show values of a type.
func (c *conv) fits(t *types.Type) bool {
	if t.Is(types.None, types.Void, types.ClockMode) || t.ManyValued() {
		return false
	}
	switch c.verb {
	case "s":
		return true
	case "r", "rx", "rh":
		return t.Kind == types.Buffer
	case "f", "F", "e", "E", "g", "G", "a", "A":
		return t.Is(types.Float, types.Int, types.Bool) || t.Castable()
	}
	return t.Is(types.Int, types.Bool, types.Pointer) || t.Castable()
}

// Format writes values. Values that do not fit are shown as !{...}: Check finds them before.
func (f *Format) Format(args []Value) string {
	var b strings.Builder
	for i := range f.convs {
		b.WriteString(f.texts[i])
		c := f.convs[i]
		if c.args() > len(args) {
			b.WriteString("!{missing}")
			args = nil
			continue
		}
		if c.starWidth {
			n, _, _ := args[0].Number()
			if c.width = clamp(int64(n)); c.width < 0 {
				c.left, c.width = true, -c.width
			}
			args = args[1:]
		}
		if c.starPrec {
			n, _, _ := args[0].Number()
			c.prec = max(clamp(int64(n)), -1)
			args = args[1:]
		}
		b.WriteString(c.format(args[0]))
		args = args[1:]
	}
	b.WriteString(f.texts[len(f.texts)-1])
	return b.String()
}

func clamp(n int64) int { return int(min(max(n, -maxWidth), maxWidth)) }

// format writes one value.
func (c *conv) format(v Value) string {
	switch c.verb {
	case "s":
		s := v.String()
		if c.prec >= 0 && c.prec < len(s) {
			s = s[:c.prec]
		}
		return c.pad(s)
	case "r":
		return c.pad(v.String())
	case "rx":
		return c.pad(hexBytes(v.str, false, true))
	case "rh":
		return c.pad(hexBytes(v.str, false, false))
	}
	n, _, ok := v.Number()
	if !ok {
		return "!{not a number: " + v.String() + "}"
	}
	switch c.verb {
	case "d", "i":
		return c.signed(c.narrow(n, true))
	case "u", "o", "x", "X":
		return c.unsigned(c.narrow(n, false))
	case "c":
		return c.pad(string([]byte{byte(n)}))
	case "p":
		return c.pad("0x" + strconv.FormatUint(n, 16))
	case "gr":
		return c.pad(gfpFlags(n))
	}
	return c.float(v.Real())
}

// narrow cuts an integer to the size that the length modifier gives, as C does; without one to an int.
func (c *conv) narrow(n uint64, signed bool) uint64 {
	switch c.length {
	case "hh":
		if signed {
			return uint64(int8(n))
		}
		return uint64(uint8(n))
	case "h":
		if signed {
			return uint64(int16(n))
		}
		return uint64(uint16(n))
	case "":
		if signed {
			return uint64(int32(n))
		}
		return uint64(uint32(n))
	}
	return n
}

func (c *conv) signed(n uint64) string {
	sign, mag := "", n
	switch {
	case int64(n) < 0:
		sign, mag = "-", -n
	case c.plus:
		sign = "+"
	case c.space:
		sign = " "
	}
	return c.number(sign, strconv.FormatUint(mag, 10))
}

func (c *conv) unsigned(n uint64) string {
	switch c.verb {
	case "u":
		return c.number("", strconv.FormatUint(n, 10))
	case "o":
		s := strconv.FormatUint(n, 8)
		if c.alt && n != 0 {
			s = "0" + s
		}
		return c.number("", s)
	}
	s, prefix := strconv.FormatUint(n, 16), ""
	if c.alt && n != 0 {
		prefix = "0x"
	}
	if c.verb == "X" {
		s, prefix = strings.ToUpper(s), strings.ToUpper(prefix)
	}
	return c.number(prefix, s)
}

// number pads digits to the precision, then prefix and digits to the width.
func (c *conv) number(prefix, digits string) string {
	if c.prec >= 0 {
		if c.prec == 0 && digits == "0" {
			digits = ""
		}
		digits = strings.Repeat("0", max(c.prec-len(digits), 0)) + digits
	} else if c.zero && !c.left {
		digits = strings.Repeat("0", max(c.width-len(prefix)-len(digits), 0)) + digits
	}
	return c.pad(prefix + digits)
}

func (c *conv) float(x float64) string {
	verb, prec := c.verb[0], c.prec
	if prec < 0 {
		prec = 6
	}
	var s string
	switch verb | 0x20 {
	case 'f':
		s = strconv.FormatFloat(x, 'f', prec, 64)
	case 'e':
		s = strconv.FormatFloat(x, 'e', prec, 64)
	case 'g':
		s = strconv.FormatFloat(x, 'g', max(prec, 1), 64)
	default: // Go writes the exponent with two digits at least, C with as many as it has
		s = strconv.FormatFloat(x, 'x', c.prec, 64)
		if p := strings.IndexByte(s, 'p'); p >= 0 && s[p+2] == '0' {
			s = s[:p+2] + s[p+3:]
		}
	}
	d := *c
	d.prec = -1
	if math.IsInf(x, 0) || math.IsNaN(x) { // Go writes +Inf and NaN
		s, d.zero = strings.ToLower(strings.TrimPrefix(s, "+")), false
	}
	if verb < 'a' {
		s = strings.ToUpper(s)
	}
	sign := ""
	switch {
	case s[0] == '-':
		sign, s = "-", s[1:]
	case c.plus:
		sign = "+"
	case c.space:
		sign = " "
	}
	if verb|0x20 == 'a' && len(s) > 2 && s[1]|0x20 == 'x' {
		sign, s = sign+s[:2], s[2:]
	}
	return d.number(sign, s)
}

func (c *conv) pad(s string) string {
	n := max(c.width-len(s), 0)
	if c.left {
		return s + strings.Repeat(" ", n)
	}
	return strings.Repeat(" ", n) + s
}
